"""Recomputation of stages that are stored for others, and bounds of planes that calls need alike."""

import shutil

import numpy as np
import pytest
from emulated_cuda import emulate

import tilefuse as hl
from tilefuse.analysis.small_dimensions import inferred_bounds
from tilefuse.dialects.img.ops import GroupOp, PipelineOp, StageOp
from tilefuse.passes.group_stages import GroupStages
from tilefuse.passes.pipeline import run_passes, standard_passes

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")


def two_readers():
    """A root that two kernels need, of which one needs it at every point only."""
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    edges = hl.BoundaryConditions.repeat_edge(image)
    root, half, far, out = (hl.Func(name) for name in ("root", "half", "far", "out"))
    root[x, y] = hl.sqrt(hl.f32(edges[x, y]))
    half[x, y] = root[2 * x - 1, 2 * y] + root[2 * x, 2 * y + 1] + root[2 * x + 2, 2 * y]
    far[x, y] = hl.BoundaryConditions.repeat_edge(half, [(0, 20), (0, 20)])[x // 2 + 9, y // 2]
    out[x, y] = far[x, y] * root[x, y]
    return hl.Pipeline(out)


def weighted():
    """Four planes that sum what they share: weights that are dear, at every step another."""
    image, r = hl.ImageParam(hl.Float(32), 2, "image"), hl.RDom([(0, 64)])
    edges = hl.BoundaryConditions.repeat_edge(image)
    weight, total, out = hl.Func("weight"), hl.Func("total"), hl.Func("out")
    weight[x, y, c] = hl.sqrt(hl.abs(edges[x, y]) + c) / hl.sqrt(edges[x + 1, y] + c + 1.0)
    total[x, y, c] = hl.f32(0)
    total[x, y, c] += weight[x, y, r] * edges[x + r, y + c]
    out[x, y, c] = total[x, y, c] / total[x, y, 3]
    out.bound(c, 0, 3)
    return hl.Pipeline(out)


def combined_planes(far=0):
    """The sum of three planes, which are made of an image alone."""
    image = hl.ImageParam(hl.UInt(8), 3, "image")
    edges = hl.BoundaryConditions.repeat_edge(image)
    plane, out = hl.Func("plane"), hl.Func("out")
    plane[x, y, c] = hl.absd(edges[x, y, c], edges[x + 3, y, c])
    out[x, y] = hl.u16(plane[x, y, 0]) + hl.u16(plane[x, y, 1]) * 3 + hl.u16(plane[x + far, y, 2])
    return hl.Pipeline(out)


def planes():
    """Three planes that share a root, chosen from by readers."""
    image = hl.ImageParam(hl.Float(32), 2, "image")
    edges = hl.BoundaryConditions.repeat_edge(image)
    root, plane, out = hl.Func("root"), hl.Func("plane"), hl.Func("out")
    root[x, y] = hl.sqrt(hl.abs(edges[x - 1, y] + edges[x + 1, y]))
    plane[x, y, c] = hl.select(c == 0, root[x, y], c == 1, root[x, y - 1] + root[x, y + 1], root[x, y] * 3.0)
    out[x, y, c] = plane[x, y - 1, c] + plane[x, y + 1, (c + 1) % 3]
    out.bound(c, 0, 3)
    return hl.Pipeline(out)


def grouped(pipeline, **options):
    passes = standard_passes("h200")
    last = next(i for i, p in enumerate(passes) if isinstance(p, GroupStages))
    (op,) = run_passes(pipeline.to_module(), [*passes[:last], GroupStages(**options)]).ops
    return [[s.sym_name.data for s in g.stages] for g in op.walk() if isinstance(g, GroupOp)]


def test_what_two_kernels_read_is_computed_by_each():
    assert grouped(two_readers(), recompute=False) == [["root"], ["half"], ["out"]]
    assert grouped(two_readers()) == [["half"], ["out"]]


def pyramid():
    """Planes weighted by the last of them, which the level above needs as well as the output, at every point."""
    image = hl.ImageParam(hl.Float(32), 3, "image")
    image.dim(2).set_bounds(0, 4)
    edges = hl.BoundaryConditions.repeat_edge(image)
    base, down, half, filled, out = (hl.Func(name) for name in ("base", "down", "half", "filled", "out"))
    base[x, y, c] = hl.select(c < 3, edges[x, y, c] * edges[x, y, 3], hl.Expr(edges[x, y, 3]))
    down[x, y, c] = base[2 * x - 1, y, c] + 2.0 * base[2 * x, y, c] + base[2 * x + 1, y, c]
    half[x, y, c] = down[x, 2 * y - 1, c] + 2.0 * down[x, 2 * y, c] + down[x, 2 * y + 1, c]
    rest = 1.0 - base[x, y, 3]
    filled[x, y, c] = base[x, y, c] + rest * (half[x // 2, y // 2, c] + half[(x + 1) // 2, (y + 1) // 2, c])
    out[x, y, c] = filled[x, y, c] / (hl.abs(filled[x, y, 3]) + 1.0)
    out.bound(c, 0, 3)
    return hl.Pipeline(out)


def test_on_a_cpu_what_two_kernels_read_is_stored_by_none():
    """Each has rows of it, which need not go through memory."""
    options = {"target": "x86_64_avx2", "extent": (1536, 1024)}
    apart = grouped(pyramid(), **options, recompute=False)
    assert ["base"] in apart
    together = grouped(pyramid(), **options)
    assert ["base"] not in together
    assert len(together) == len(apart) - 1
    picture = np.random.default_rng(3).integers(-9, 9, (4, 73, 131)).astype("float32")
    result = pyramid().compile("cpu", extent=(1536, 1024), strict_float=True)(picture)
    np.testing.assert_array_equal(result, pyramid().compile("reference", strict_float=True)(picture))


def test_what_a_sum_alone_reads_is_computed_by_it():
    """Though it is read once for each plane: a thread sums all of them."""
    assert ["weight"] in grouped(weighted(), recompute=False)
    assert ["weight"] not in grouped(weighted())


def test_planes_of_an_image_that_one_reader_combines_are_no_stage():
    assert grouped(combined_planes()) == [["out"]]
    assert grouped(combined_planes(far=1)) == [["plane", "out"]]


@pytest.mark.sweep
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_sums_that_compute_what_they_weigh_by(monkeypatch, tmp_path):
    picture = np.random.default_rng(0).random((37, 53), dtype=np.float32)
    expected = weighted().compile("reference")(picture, sizes=(53, 37, 3))
    misaligned = emulate(monkeypatch, tmp_path)
    program = weighted().compile("cpu", passes=standard_passes("h200"), strict_float=True)
    np.testing.assert_array_equal(program(picture, sizes=(53, 37, 3)), expected)
    assert misaligned
    assert not any(misaligned)


def test_bounds_of_planes_that_nobody_declared():
    (op,) = planes().to_module().ops
    assert isinstance(op, PipelineOp)
    found = {s.sym_name.data: b for s, b in inferred_bounds(op).items()}
    assert found == {"plane": (None, None, (0, 3))}


def test_bounds_that_a_call_decides_are_not_inferred():
    image, n = hl.ImageParam(hl.Float(32), 3, "image"), hl.Param(hl.Int(32), "n")
    a, out = hl.Func("a"), hl.Func("out")
    a[x, y, c] = hl.BoundaryConditions.repeat_edge(image)[x, y, c] * 2.0
    out[x, y] = a[x, y, hl.clamp(n, 0, image.dim(2).extent() - 1)] + a[x - 1, y, 0]
    (op,) = hl.Pipeline(out).to_module().ops
    assert inferred_bounds(op) == {}


@pytest.mark.sweep
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("box", [((0, 0, 0), (53, 37, 3)), ((3, 5, 1), (20, 9, 1))])
def test_planes_of_a_thread(box, monkeypatch, tmp_path):
    """Also where a call asks for fewer planes than are computed together."""
    mins, sizes = box
    picture = np.random.default_rng(0).random((37, 53), dtype=np.float32)
    expected = planes().compile("reference")(picture, mins={"out": mins}, sizes=sizes)
    misaligned = emulate(monkeypatch, tmp_path)
    program = planes().compile("cpu", passes=bounded_passes(), strict_float=True)
    np.testing.assert_array_equal(program(picture, mins={"out": mins}, sizes=sizes), expected)
    assert misaligned
    assert not any(misaligned)


def bounded_passes():
    """The standard ones, a kernel per stage, each with the bounds of its planes."""
    from dataclasses import dataclass

    from xdsl.passes import ModulePass

    from tilefuse.dialects.img.attrs import BoxAttr

    @dataclass(frozen=True)
    class Bound(ModulePass):
        name = "bound"

        def apply(self, ctx, op):
            for pipeline in op.ops:
                for stage, bounds in inferred_bounds(pipeline).items():
                    assert isinstance(stage, StageOp)
                    stage.bounds = BoxAttr(bounds)

    passes = standard_passes("h200")
    at = next(i for i, p in enumerate(passes) if isinstance(p, GroupStages))
    return [*passes[:at], Bound(), GroupStages(algorithm="none"), *passes[at + 1 :]]
