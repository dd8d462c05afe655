"""Calls after calls: what is kept of one call is found again for its like only, however the call is written."""

import itertools
import random

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.runtime.scalars import distinct

TARGETS = ("reference", "cpu")


def scaled(target="cpu"):
    x, y = hl.vars("x y")
    image = hl.ImageParam(hl.Int(32), 2, "image")
    a, b = hl.Param(hl.Int(32), "a"), hl.Param(hl.Int(32), "b")
    f = hl.Func("f")
    f[x, y] = image[x, y] * a - b
    return hl.Pipeline(f).compile(target)


def shifted(target="cpu"):
    """Two parameters that decide sizes, and two that do not."""
    x, y = hl.vars("x y")
    image = hl.ImageParam(hl.Int(32), 2, "image")
    left, width = hl.Param(hl.Int(32), "left"), hl.Param(hl.UInt(8), "width")
    a, b = hl.Param(hl.Int(32), "a", 1), hl.Param(hl.Float(32), "b", 0.0)
    edges = hl.BoundaryConditions.repeat_edge(image, [(left, hl.i32(width)), (0, image.height())])
    f = hl.Func("f")
    f[x, y] = hl.f32(edges[x, y] * a) * b
    return hl.Pipeline(f).compile(target)


@pytest.mark.parametrize("target", TARGETS)
def test_keywords_in_any_order(target):
    program, image = scaled(target), np.ones((1, 1), np.int32)
    assert program(image, a=5, b=7).item() == -2
    assert program(image, b=5, a=7).item() == 2
    assert program(b=7, image=image, a=5).item() == -2


@pytest.mark.parametrize("seed", range(3))
def test_values_that_change_places(seed):
    """The same few values by the same few names, in all orders, on arrays that alternate."""
    rng, program, reference = random.Random(seed), shifted(), shifted("reference")
    arrays = [np.arange(k, k + 60, dtype=np.int32).reshape(6, 10) for k in (0, 1)]
    calls = [
        dict(rng.sample(list(zip(("left", "width", "a", "b"), values, strict=True)), 4))
        for values in itertools.product((1, 2), (1, 3), (1, 2, True), (-0.0, 0.0, 2))
    ]
    for call in rng.choices(calls, k=60):
        for image in rng.sample(arrays, 2):
            found, expected = program(image, **call), reference(image, **call)
            assert found.tobytes() == expected.tobytes(), call


def test_numbers_that_are_equal_and_differ():
    assert distinct({"a": 0.0}, ["a"]) != distinct({"a": -0.0}, ["a"])
    assert distinct({"a": float("nan")}, ["a"]) == distinct({"a": float("nan")}, ["a"])
    assert distinct({"b": 2, "a": 1}, ["a", "b"]) == distinct({"a": 1, "b": 2}, ["a", "b"])
