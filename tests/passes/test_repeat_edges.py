"""Functions that repeat their edges are computed no further than they change, and give the same everywhere."""

import shutil

import numpy as np
import pytest
from emulated_cuda import emulate

import tilefuse as hl
from tilefuse.analysis.points import needed_extents
from tilefuse.dialects.img.ops import BoundaryOp, GroupOp, PipelineOp
from tilefuse.passes.pipeline import run_passes, standard_passes
from tilefuse.runtime.program import compile_pipeline

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
EXTENT = (40, 30)
BOX = {"mins": {"wide_0": (-5, 3)}, "sizes": (60, 33)}


def halved(f, name, reach=2):
    """Half as large, from `reach` points on either side."""
    small = hl.Func(name)
    across = f[2 * x - reach, 2 * y] + f[2 * x + reach + 1, 2 * y] + f[2 * x, 2 * y - 1]
    small[x, y] = across * hl.f32(0.3) + f[2 * x, 2 * y + 3] / 7.0
    return small


def pyramid(kind="repeat_edge", levels=4, value=None):
    """Levels that are halved, and doubled again with points beside their own; each is stored."""
    image = hl.ImageParam(hl.Float(32), 2, "image")
    f = getattr(hl.BoundaryConditions, kind)(image, *(() if value is None else (value,)))
    found = [f]
    for level in range(levels):
        found.append(halved(found[-1], f"small_{level}"))
    up = found[-1]
    for level in reversed(range(levels)):
        wide, finer = hl.Func(f"wide_{level}"), found[level]
        wide[x, y] = up[x // 2 - 1, y // 2] * up[x // 2 + 2, y // 2 + 1] + finer[x, y]
        up = wide
    return hl.Pipeline(up)


def limits(pipeline, extent=EXTENT, passes=None):
    """The boundaries over results of groups, and the module."""
    module = run_passes(pipeline.to_module(), passes or kernels(extent))
    (op,) = (o for o in module.body.block.ops if isinstance(o, PipelineOp))
    return [o for o in op.body.block.ops if isinstance(o, BoundaryOp) and isinstance(o.source.owner, GroupOp)], module


def kernels(extent=EXTENT, algorithm="none", target="h200"):
    """The standard passes, with a kernel for each stage."""
    return standard_passes(target, extent=extent, algorithm=algorithm)


def values(shape, seed=0):
    return np.random.default_rng(seed).random(shape, dtype=np.float32)


@pytest.mark.parametrize("target", ["h200", "cpu"])
@pytest.mark.parametrize(("kind", "value"), [("repeat_edge", None), ("constant_exterior", 0.5)])
def test_coarse_levels_ask_for_no_more_than_the_picture(kind, value, target):
    pipeline, passes = pyramid(kind, value=value), kernels(target=target)
    found, module = limits(pipeline, passes=passes)
    assert found
    (with_edges,) = (o for o in module.body.block.ops if isinstance(o, PipelineOp))
    without, _ = run_passes(pipeline.to_module(), [p for p in passes if p.name != "repeat-edges"]), None
    (plain,) = (o for o in without.body.block.ops if isinstance(o, PipelineOp))

    def points(op):
        needed = needed_extents(op, EXTENT)
        groups = [g for g in op.body.block.ops if isinstance(g, GroupOp)]
        return sum(int(np.prod(needed[g.funcs[0]])) for g in groups)

    assert points(with_edges) < 0.8 * points(plain)


@pytest.mark.parametrize(("kind", "value"), [("repeat_edge", None), ("constant_exterior", 0.5)])
@pytest.mark.parametrize("algorithm", ["none", "both"])
def test_the_same_at_any_size_and_place(kind, value, algorithm):
    pipeline = pyramid(kind, value=value)
    before = compile_pipeline(pipeline.to_module(), "reference", passes=[])
    after = compile_pipeline(limits(pipeline, passes=kernels(algorithm=algorithm))[1], "reference", passes=[])
    for shape, at, size in [((30, 40), (0, 0), (40, 30)), ((1, 1), (-9, 7), (5, 4)), ((5, 70), (-33, -2), (120, 9))]:
        image = values(shape)
        box = {"mins": {"wide_0": at}, "sizes": size}
        assert np.array_equal(before(image, **box), after(image, **box))


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
def test_kernels_compute_the_same(monkeypatch, tmp_path):
    pipeline, image = pyramid(levels=3), values((29, 43))
    expected = compile_pipeline(pipeline.to_module(), "reference")(image, **BOX)
    misaligned = emulate(monkeypatch, tmp_path)
    program = compile_pipeline(pipeline.to_module(), "cpu", strict_float=True, passes=kernels())
    assert "repeat_edge %small" in program.ir()
    assert np.array_equal(program(image, **BOX), expected)
    assert not any(misaligned)


def spread():
    """A picture, twice and three times as large, read far outside."""
    image = hl.ImageParam(hl.Float(32), 2, "image")
    edges = hl.BoundaryConditions.repeat_edge(image)
    wide, wider, out = hl.Func("wide"), hl.Func("wider"), hl.Func("wide_0")
    wide[x, y] = hl.sqrt(edges[x // 2, y // 2])
    wider[x, y] = wide[(x + 1) // 3, y // 3] + 1.0
    out[x, y] = wider[x - 150, y - 130] * wider[x + 90, y + 170]
    return hl.Pipeline(out)


@pytest.mark.parametrize("build", [spread, pyramid])
@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (3, 1), (2, 2)])
def test_pictures_of_a_point_or_two(build, shape):
    assert limits(build())[0]
    image = values(shape)
    before = compile_pipeline(build().to_module(), "reference", passes=[])
    after = compile_pipeline(limits(build())[1], "reference", passes=[])
    for at in ((0, 0), (-200, 90), (300, -170)):
        box = {"mins": {"wide_0": at}, "sizes": (9, 7)}
        assert np.array_equal(before(image, **box), after(image, **box))


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
def test_kernels_compute_points(monkeypatch, tmp_path):
    box = {"mins": {"wide_0": (-200, 90)}, "sizes": (40, 7)}
    expected = compile_pipeline(spread().to_module(), "reference")(values((1, 1)), **box)
    emulate(monkeypatch, tmp_path)
    program = compile_pipeline(spread().to_module(), "cpu", strict_float=True, passes=kernels())
    assert "repeat_edge %wide" in program.ir()
    assert np.array_equal(program(values((1, 1)), **box), expected)


def test_what_follows_its_coordinate_otherwise_stays():
    image = hl.ImageParam(hl.Float(32), 2, "image")
    edges = hl.BoundaryConditions.repeat_edge(image)
    counted, mirrored, out = hl.Func("counted"), hl.Func("mirrored"), hl.Func("out")
    counted[x, y] = edges[x, y] + hl.f32(x) * hl.f32(y)
    mirrored[x, y] = edges[-x, y % 5]
    out[x, y] = counted[x - 40, y - 50] + mirrored[x + 90, y + 60]
    assert not limits(hl.Pipeline(out))[0]


def test_only_the_dimension_that_repeats():
    image = hl.ImageParam(hl.Float(32), 2, "image")
    edges = hl.BoundaryConditions.repeat_edge(image)
    counted, out = hl.Func("counted"), hl.Func("out")
    counted[x, y] = hl.sqrt(edges[x // 3, y + 1]) + hl.f32(y)
    out[x, y] = counted[x - 40, y - 50] + counted[x + 140, y]
    found, module = limits(hl.Pipeline(out))
    assert [b.dimensions for b in found] == [(0,)]
    image = values((7, 9))
    expected = compile_pipeline(hl.Pipeline(out).to_module(), "reference", passes=[])(image, sizes=(200, 60))
    assert np.array_equal(compile_pipeline(module, "reference", passes=[])(image, sizes=(200, 60)), expected)


def test_little_saved_is_left():
    assert not limits(pyramid(levels=1), (1536, 2560))[0]


def chain(stages):
    """A chain of stencils of two pictures, all of whose stages are read twice."""
    images = [hl.ImageParam(hl.Float(32), 2, name) for name in ("left", "right")]
    found = [hl.BoundaryConditions.repeat_edge(image) for image in images]
    for i in range(stages):
        stage, (*_, earlier, last) = hl.Func(f"stage_{i}"), found
        stage[x, y] = last[x - 2, y] + earlier[x + i % 3, y + 1] * last[x, y - 1]
        found.append(stage)
    out = hl.Func("out")
    out[x, y] = found[-1][x - 90, y] + found[-1][x + 90, y + 80]
    return hl.Pipeline(out)


def test_ends_of_long_chains_are_few_operations():
    found, module = limits(chain(40))
    assert len(found) > 20
    (op,) = (o for o in module.body.block.ops if isinstance(o, PipelineOp))
    # no more for a late stage than for an early one: those of two pictures' edges along x and y
    assert len(list(op.body.block.ops)) < 60 * len(found)
