"""`inline-stages` counts points, not places: what costs more to recompute at each point of a reader is stored."""

from __future__ import annotations

import itertools

import pytest

import tilefuse as hl
from tilefuse.dialects.img.attrs import Level, Memory
from tilefuse.dialects.img.ops import GroupOp, StageOp
from tilefuse.passes.inline_stages import InlineStages
from tilefuse.passes.pipeline import new_context, run_passes, standard_passes

x, y, c, i = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Var("i")


def dear(value):
    return hl.pow(hl.cast(hl.Float(32), value) + 1.5, 2.2)


def image(type=None, rank=2):
    return hl.ImageParam(type or hl.Float(32), rank, "image")


def funcs(*names):
    return [hl.Func(name) for name in names]


def by_type():
    t, g = funcs("t", "g")
    t[i] = dear(i)
    g[x, y] = t[hl.cast(hl.Int(32), image(hl.UInt(8))[x, y])]
    return g


def by_clamp():
    t, g = funcs("t", "g")
    t[i] = dear(i)
    g[x, y] = t[hl.clamp(image(hl.Int(32))[x, y], -20, 500)]
    return g


def by_size_of_the_table():
    t, g, values = *funcs("t", "g"), hl.ImageParam(hl.Float(32), 1, "values")
    t[i] = dear(values[i])
    g[x, y] = t[hl.clamp(image(hl.Int(32))[x, y], 0, values.width() - 1)]
    return g


def table_of_two_dimensions():
    t, g = funcs("t", "g")
    t[i, c] = dear(i + 3 * c)
    at = hl.cast(hl.Int(32), image(hl.UInt(8))[x, y])
    g[x, y] = t[at / 16, at % 16]
    return g


def row():
    t, g = funcs("t", "g")
    t[x] = dear(x)
    g[x, y] = t[x] * image()[x, y]
    return g


def column():
    t, g = funcs("t", "g")
    t[y] = dear(y)
    g[x, y] = t[y] * image()[x, y]
    return g


def row_by_constant():
    t, g = funcs("t", "g")
    picture = image()
    t[x, y] = dear(picture[x, y])
    g[x, y] = t[x, 3] + picture[x, y]
    return g


def one_point():
    t, g = funcs("t", "g")
    picture = image()
    t[x, y] = dear(picture[x, y])
    g[x, y] = t[2, 3] + picture[x, y]
    return g


def factor_per_channel():
    t, g = funcs("t", "g")
    t[c] = dear(c)
    g[x, y, c] = t[c] * image(rank=3)[x, y, c]
    return g.bound(c, 0, 3)


def upsampled():
    t, g = funcs("t", "g")
    t[x, y] = dear(image()[x, y])
    g[x, y] = t[x / 2, y / 2]
    return g


def a_few_small_steps():
    """Each is cheap to compute anew; all together are not."""
    steps, g = funcs(*(f"t{n}" for n in range(8))), hl.Func("g")
    steps[0][i] = hl.sqrt(hl.cast(hl.Float(32), i))
    for before, step in itertools.pairwise(steps):
        step[i] = hl.sqrt(before[i] + 0.5)
    g[x, y] = steps[-1][hl.cast(hl.Int(32), image(hl.UInt(8))[x, y])]
    return g


def read_by_what_is_read_everywhere():
    """`copy` is inlined at both of its places, and the stage that it reads at one place is then read at two."""
    t, copy, g = funcs("t", "copy", "g")
    t[i] = dear(i)
    copy[i] = t[i] * 2.0
    at = hl.cast(hl.Int(32), image(hl.UInt(8))[x, y])
    g[x, y] = copy[at] + copy[255 - at]
    return g


def many_cheap_steps():
    steps, g = funcs(*(f"t{n}" for n in range(30))), hl.Func("g")
    steps[0][i] = i * 3
    for n, (before, step) in enumerate(itertools.pairwise(steps)):
        step[i] = before[i] ^ (before[i] + n)
    at = hl.cast(hl.Int(32), image(hl.UInt(8))[x, y])
    g[x, y] = steps[-1][at] + steps[-1][255 - at]
    return g


def below_a_boundary():
    t, g, h = funcs("t", "g", "h")
    t[x] = dear(x)
    g[x, y] = t[x] * image()[x, y]
    edge = hl.BoundaryConditions.repeat_edge(g, [(0, 1536), (0, 2560)])
    h[x, y] = edge[x - 1, y] + edge[x + 1, y]
    return h


STORED = [
    by_type, by_clamp, by_size_of_the_table, table_of_two_dimensions, row, column, row_by_constant, one_point,
    factor_per_channel, upsampled, a_few_small_steps, many_cheap_steps, read_by_what_is_read_everywhere,
    below_a_boundary,
]  # fmt: skip


def stages(output, target, extent=(1536, 2560)):
    module = run_passes(hl.Pipeline(output).to_module(), [InlineStages(target=target, extent=extent)])
    return [op.sym_name.data for op in module.walk() if isinstance(op, StageOp)]


@pytest.mark.parametrize("target", ["h200", "cpu"])
@pytest.mark.parametrize("build", STORED)
def test_dear_stages_of_fewer_points_are_stored(build, target):
    found = stages(build(), target)
    assert len([name for name in found if name.startswith("t")]) == 1, found


def cheap_table():
    t, g = funcs("t", "g")
    t[i] = i * 2
    g[x, y] = t[hl.cast(hl.Int(32), image(hl.UInt(8))[x, y])]
    return g


def cheap_row():
    t, g = funcs("t", "g")
    t[x] = hl.cast(hl.Float(32), x) * 0.5 + 1.0
    g[x, y] = t[x] * image()[x, y]
    return g


def as_many_points():
    t, g = funcs("t", "g")
    t[x, y] = dear(image()[x, y])
    g[x, y] = t[x - 3, y + 1] * 0.5
    return g


def transposed():
    t, g = funcs("t", "g")
    t[x, y] = dear(image()[x, y])
    g[x, y] = t[y, x] * 0.5
    return g


def fewer_points():
    t, g = funcs("t", "g")
    t[x, y] = dear(image()[x, y])
    g[x, y] = t[2 * x, y]
    return g


def a_table_of_a_table():
    t, u, g = funcs("t", "u", "g")
    t[i] = dear(i)
    u[i] = hl.exp(t[i])
    g[x, y] = u[hl.cast(hl.Int(32), image(hl.UInt(8))[x, y])]
    return g


def unbounded():
    """Nothing says how large the table would be."""
    t, g = funcs("t", "g")
    t[i] = dear(i)
    g[x, y] = t[image(hl.Int(32))[x, y]]
    return g


INLINED = [cheap_table, cheap_row, as_many_points, transposed, fewer_points, a_table_of_a_table, unbounded]


@pytest.mark.parametrize("target", ["h200", "cpu"])
@pytest.mark.parametrize("build", INLINED)
def test_what_costs_nothing_is_inlined(build, target):
    assert "t" not in stages(build(), target)


def test_small_pictures_do_not_pay_for_a_kernel():
    assert stages(row(), "h200", extent=(64, 2)) == ["g"]
    assert stages(row(), "h200", extent=(4096, 4096)) == ["t", "g"]


def test_a_thread_computes_once_what_its_channels_share():
    """Of a small dimension a thread of a GPU has all points."""
    t, g = funcs("t", "g")
    t[x, y] = dear(image()[x, y])
    g[x, y, c] = t[x, y] * hl.cast(hl.Float(32), c)
    assert stages(g.bound(c, 0, 3), "h200") == ["g"]


@pytest.mark.parametrize(
    ("planes", "own", "found"),
    [
        (3, lambda value: value, ["g"]),
        (5, lambda value: value, ["t", "g"]),
        (3, lambda value: dear(dear(dear(value))), ["t", "g"]),
    ],
)
def test_a_loop_of_a_cpu_computes_once_what_its_few_planes_share(planes, own, found):
    """If it is most of their work: `execution/row_strip/rows.py` then computes all planes in one loop."""
    t, g = funcs("t", "g")
    t[x, y] = dear(dear(image()[x, y]))
    g[x, y, c] = own(t[x, y] * hl.cast(hl.Float(32), c))
    assert stages(g.bound(c, 0, planes), "zen3") == found
    if found == ["g"]:
        source = hl.Pipeline(g).compile("cpu").source()
        assert "for (idx z_" not in source.split("} else {")[0], "a loop over planes comes only where some are missing"


@pytest.mark.parametrize("target", ["h200", "sm_80", "cpu"])
@pytest.mark.parametrize("build", STORED)
def test_no_kernel_computes_it_for_each_point_either(build, target):
    """In a group of its reader it is computed once for a block, or for several points of a thread; else by itself."""
    module = run_passes(hl.Pipeline(build()).to_module(), standard_passes(target))
    for group in (op for op in module.walk() if isinstance(op, GroupOp)):
        for stage in group.stages:
            if stage.sym_name.data.startswith("t") and len(group.stages) > 1:
                assert stage.place is not None
                if stage.place.where != (Level.Block, Memory.Shared):
                    assert stage.place.where == (Level.Thread, Memory.Register), str(group.schedule)
                    sizes, threads = group.schedule.tile_sizes, group.schedule.thread_counts
                    # of a row or a column, which several points of each thread share
                    assert stage.rank < len(sizes), str(group.schedule)
                    assert all(n > t for n, t in zip(sizes, threads, strict=True)), str(group.schedule)


@pytest.mark.parametrize("option", ["extent=0,4", "target=nothing"])
def test_options_are_checked(option):
    from tilefuse.dialects.diagnostics import PipelineError

    name, value = option.split("=")
    given = {name: tuple(map(int, value.split(","))) if name == "extent" else value}
    with pytest.raises(PipelineError, match="inline-stages"):
        InlineStages(**given).apply(new_context(), hl.Pipeline(row()).to_module())


@pytest.mark.parametrize("target", ["cpu", "h200"])
def test_what_is_read_of_a_table_of_each_pixel_is_computed_there(target):
    t, g, photo = *funcs("t", "g"), image()
    t[x, y, i] = dear(photo[x, y] * hl.cast(hl.Float(32), i))
    at = hl.clamp(hl.cast(hl.Int(32), photo[x, y]), 0, 30)
    g[x, y] = t[x, y, at] + t[x, y, at + 1]
    assert stages(g, target) == ["g"]
