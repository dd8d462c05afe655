"""`tile` prefetches cache lines where a kernel's inputs come from memory."""

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

import tilefuse as hl
from tilefuse.dialects.img.ops import SINGLE_WAVE, GroupOp
from tilefuse.execution.warp_tile.attribute import WarpSchedule
from tilefuse.passes.pipeline import lowering_passes, new_context, run_passes, standard_passes
from tilefuse.passes.tile import Tile


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


def schedules(target="h200", strides="", **options):
    text = str(blur().to_module()).replace('img.input "image"', f'img.input "image"{strides}')
    module = run_passes(Parser(new_context(), text).parse_module(), standard_passes(target, **options))
    return [op.schedule for op in module.walk() if isinstance(op, GroupOp)]


def test_blocks_of_a_single_wave_lie_evenly():
    """A multiprocessor has room for as many as it gets, which stands in the schedule; not where there are more."""
    for extent, even in (((1536, 2560), True), ((8192, 8192), False)):
        module = run_passes(blur().to_module(), standard_passes("h200", extent=extent))
        (group,) = (op for op in module.walk() if isinstance(op, GroupOp))
        assert (SINGLE_WAVE in group.attributes) == even
        (width, height), threads = group.schedule.tile_sizes, group.schedule.thread_counts
        blocks = -(-extent[0] // width) * -(-extent[1] // height)
        each = group.schedule.resident_blocks
        assert (each == -(-blocks // 132)) == even
        if even:
            registers = 65536 // (each * threads[0] * threads[1]) // 8 * 8
            assert 65536 // (registers * threads[0] * threads[1]) == each


def test_a_kernel_by_itself():
    (schedule,) = schedules()
    at_once = schedule.resident_blocks * 132 / -(-1536 // schedule.tile_sizes[0])
    assert at_once <= schedule.prefetch_rows < at_once + 1


def test_what_other_kernels_give_is_in_the_cache():
    found = schedules(algorithm="none")
    assert len(found) == 2
    assert not any(s.few_waves for s in found)


def test_large_pictures_and_cpus():
    assert not any(s.few_waves for s in (*schedules(extent=(8192, 8192)), *schedules("cpu")))


def test_gpus_whose_kernels_do_not_overlap():
    assert not any(s.few_waves for s in schedules("a100"))


def test_rows_that_are_not_contiguous():
    assert not any(s.few_waves for s in schedules(strides=" layout strided<[?, 3]>"))


def test_a_copy_forgets_it_where_other_blocks_run_at_once():
    schedule = WarpSchedule(tile=(56, 32), threads=(32, 4), vector=2, blocks=8, prefetch_rows=38)
    assert schedule.changed().prefetch_rows == 38
    assert schedule.changed(blocks=4).prefetch_rows == 0
    assert schedule.changed(tile=(56, 16)).prefetch_rows == 0
    assert schedule.changed(blocks=4, prefetch_rows=19).prefetch_rows == 19


@pytest.mark.parametrize(("prefetch_rows", "kernels"), [(0, 1), (2, 2)])
def test_a_kernel_that_asks_serves_no_group_that_reads_what_others_give(prefetch_rows, kernels):
    x, y, current = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    for i in range(4):
        step = hl.Func(f"step_{i}")
        around = hl.BoundaryConditions.constant_exterior(current, 0, [(0, 600), (0, 600)])
        step[x, y] = around[x - 1, y] + around[x + 1, y]
        current = step
    tile = Tile(
        "h200",
        shape="warp_tile",
        sizes=(120, 0),
        threads=(32, 4),
        vector=4,
        more=f"rows = 4, prefetch_rows = {prefetch_rows}",
    )
    passes = [tile if isinstance(p, Tile) else p for p in standard_passes("h200", algorithm="none")]
    passes = [p for p in passes if p.name != "inline-stages"]
    module = run_passes(hl.Pipeline(current).to_module(), [*passes, *lowering_passes(warps=True)])
    made = [op for op in module.walk() if isinstance(op, FuncOp) and "kernel.threads" in op.attributes]
    assert len(made) == kernels
