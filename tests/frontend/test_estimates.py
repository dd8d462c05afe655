"""Estimated sizes of inputs: what schedules are chosen for, and no promise."""

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.analysis.points import needed_extents
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import InputOp, PipelineOp


def enlarged():
    """A picture made larger by the ratio of two inputs' sizes: how much of the small one is needed is data's."""
    x = hl.Var("x")
    small, large = (hl.ImageParam(hl.Float(32), 1, name) for name in ("small", "large"))
    ratio = hl.i32(hl.ceil(hl.f32(large.width()) / hl.f32(small.width())))
    stored, out = hl.Func("stored"), hl.Func("out")
    stored[x] = hl.BoundaryConditions.repeat_edge(small)[x] + 1.0
    out[x] = stored[hl.i32(hl.floor(hl.f32(x) / hl.f32(ratio)))] + large[x]
    return small, hl.Pipeline(out)


def needed(pipeline, name, extent):
    module = pipeline.to_module()
    found = next(op for op in module.body.block.ops if isinstance(op, PipelineOp))
    op = next(op for op in found.body.block.ops if getattr(op, "sym_name", None) and op.sym_name.data == name)
    return needed_extents(found, extent)[op.results[0]]


def test_what_is_needed_follows_from_estimates():
    small, pipeline = enlarged()
    assert needed(pipeline, "stored", (1000,)) == (1000,)
    small.dim(0).set_estimate(0, 100)
    assert needed(pipeline, "stored", (1000,)) == (100,)


def test_calls_have_any_size():
    small, pipeline = enlarged()
    small.set_estimates([(0, 100)])
    small_picture, large = np.arange(4, dtype=np.float32), np.ones(12, np.float32)
    for target in ("reference", "cpu"):
        np.testing.assert_array_equal(pipeline.compile(target)(small_picture, large), np.repeat(small_picture, 3) + 2)


def test_the_ir_says_estimates():
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    f[x, y] = image[x, y]
    image.dim(1).set_estimate(0, 480)
    module = hl.Pipeline(f).to_module()
    assert 'img.input "image" estimate #img.box<[*, 0:480]>' in str(module)
    op = next(op for op in module.walk() if isinstance(op, InputOp))
    assert op.bounds is None


def test_expressions_say_nothing():
    image = hl.ImageParam(hl.UInt(8), 1, "image")
    image.dim(0).set_estimate(0, image.width() * 2)
    assert image.estimates == [None]


def test_wrong_estimates():
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    with pytest.raises(PipelineError, match="must be positive"):
        image.dim(0).set_estimate(0, 0)
    with pytest.raises(PipelineError, match="has 2 dimensions, and 1 are estimated"):
        image.set_estimates([(0, 4)])
