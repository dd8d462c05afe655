"""Calls after calls: what is kept of one call is found again for its like only, however the call is written."""

import itertools
import random

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.passes.pipeline import standard_passes
from tilefuse.runtime.arrays.kinds import CPU
from tilefuse.runtime.call.scalars import distinct
from tilefuse.runtime.program import Program, compile_pipeline

TARGETS = ("reference", "cpu")


def scaled_pipeline():
    x, y = hl.vars("x y")
    image = hl.ImageParam(hl.Int(32), 2, "image")
    a, b = hl.Param(hl.Int(32), "a"), hl.Param(hl.Int(32), "b")
    f = hl.Func("f")
    f[x, y] = image[x, y] * a - b
    return hl.Pipeline(f)


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
    program, image = scaled_pipeline().compile(target), np.ones((1, 1), np.int32)
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


def test_a_program_keeps_the_passes_and_sizes_it_was_given():
    """It compiles when it is called, too; what has become of the caller's lists by then does not matter."""
    passes, extent = standard_passes("cpu"), [640, 480]
    programs = [
        compile_pipeline(scaled_pipeline().to_module(), "cpu", passes=passes),
        compile_pipeline(scaled_pipeline().to_module(), "cpu", passes=(p for p in standard_passes("cpu"))),
        compile_pipeline(scaled_pipeline().to_module(), "cpu", extent=extent),
    ]
    passes.clear()
    extent.append("none")
    image = np.arange(24, dtype=np.int32).reshape(2, 12)[:, ::2]  # for which nothing was compiled ahead
    for program in programs:
        np.testing.assert_array_equal(program(image, a=2, b=1), image * 2 - 1)
        assert "group-stages" in program.passes


def test_without_arrays_the_device_is_of_the_key(monkeypatch):
    """A pipeline of coordinates alone, where another GPU has become the current one."""
    x, y = hl.vars("x y")
    f = hl.Func("f")
    f[x, y] = x + y
    program, asked = hl.Pipeline(f).compile("reference"), []
    real = Program._make_prepared
    monkeypatch.setattr(Program, "_make_prepared", lambda self, *of: asked.append(of[-1]) or real(self, *of[:-1], CPU))
    for number in (0, 1, 0, 1):
        program._prepare([], {}, ({"f": (3, 2)}, {"f": (0, 0)}), {}, ("cuda", number))
    assert asked == [("cuda", 0), ("cuda", 1)]
