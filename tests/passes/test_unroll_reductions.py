"""Reductions over few points as stages: in how many kernels, and the same bits."""

import numpy as np
import pytest

import tilefuse as hl

x, y = hl.Var("x"), hl.Var("y")


def pipelines():
    """A box and what is made of it; the tap of the least value, where a predicate leaves out some."""
    image = hl.ImageParam(hl.Float(32), 2, "image")
    around = hl.BoundaryConditions.repeat_edge(image)
    box, bright, least = hl.Func("box"), hl.Func("bright"), hl.Func("least")
    r = hl.RDom([(-1, 3), (-1, 3)])
    box[x, y] = hl.f32(0)
    box[x, y] += around[x + r.x, y + r.y]
    bright[x, y] = box[x, y] * 0.125 + 1.0
    q = hl.RDom([(-1, 3)])
    q.where(q.x != 0)
    least[x, y] = hl.Tuple(hl.i32(7), hl.f32(2))
    v = around[x + q.x, y]
    least[x, y] = hl.Tuple(*(hl.select(v < least[x, y][1], a, b) for a, b in zip((q.x, v), least[x, y], strict=True)))
    return bright, least


@pytest.mark.parametrize(("number", "kernels"), [(0, 1), (1, 1)], ids=["box", "least"])
def test_fused_and_the_same_bits(number, kernels):
    func = pipelines()[number]
    program = hl.Pipeline(func).compile("cpu", strict_float=True)
    assert len(program.kernels) == kernels
    photo = np.random.default_rng(5).random((21, 40), np.float32)
    found, expected = program(photo), hl.Pipeline(func).compile("reference")(photo)
    for a, b in zip(found if number else [found], expected if number else [expected], strict=True):
        np.testing.assert_array_equal(a, b)
