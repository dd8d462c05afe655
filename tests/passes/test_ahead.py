"""`tile` asks for lines ahead of time where a kernel's inputs come from memory."""

import tilefuse as hl
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.passes.pipeline import run_passes, standard_passes


def blur():
    """A 5-tap blur of bytes: little memory, and one wave of blocks at 1536 x 2560."""
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.UInt(8), 2, "image")
    wide = hl.BoundaryConditions.repeat_edge(image)

    def taps(f):
        return f(-2) + f(2) + 4 * (f(-1) + f(1)) + 6 * f(0)

    down, across = hl.Func("down"), hl.Func("across")
    down[x, y] = taps(lambda i: hl.u16(wide[x, y + i]))
    across[x, y] = hl.u8((taps(lambda i: down[x + i, y]) + 128) >> 8)
    return hl.Pipeline(across)


def schedules(target="h200", **options):
    module = run_passes(blur().to_module(), standard_passes(target, **options))
    return [op.schedule for op in module.walk() if isinstance(op, GroupOp)]


def test_a_kernel_by_itself():
    (schedule,) = schedules()
    at_once = schedule.resident_blocks * 132 / -(-1536 // schedule.tile_sizes[0])
    assert at_once <= schedule.rows_ahead < at_once + 1


def test_what_other_kernels_give_is_in_the_cache():
    found = schedules(algorithm="none")
    assert len(found) == 2
    assert not any(s.rows_ahead for s in found)


def test_large_pictures_and_cpus():
    assert not any(s.rows_ahead for s in (*schedules(extent=(8192, 8192)), *schedules("cpu")))
