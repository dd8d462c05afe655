"""Casts of narrow pixels that taps share: values stay those of the evaluator, to the bit."""

import re

import numpy as np
import pytest

import tilefuse as hl


def windows(type, boundary):
    """Two stages that read a picture of narrow pixels side by side, one of them scaled, and one that reads it once."""
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(type, 2, "image")
    inside = boundary(image) if boundary is not None else image
    row, column, f = hl.Func("row"), hl.Func("column"), hl.Func("f")
    at = lambda i, j: hl.cast(hl.Float(32), inside[x + i, y + j])  # noqa: E731
    row[x, y] = sum((at(i, 0) * hl.f32(0.3) - hl.f32(2) for i in range(1, 4)), hl.f32(0))
    column[x, y] = at(0, 0) + at(0, 1) * hl.f32(3) + at(0, 2)
    f[x, y] = row[x, y] * column[x, y] + row[x, y + 1] / (hl.abs(at(2, 2)) + hl.f32(1))
    return hl.Pipeline(f)


@pytest.mark.parametrize("kind", ["uint8", "int8", "uint16", "int16"])
@pytest.mark.parametrize("boundary", [None, hl.BoundaryConditions.mirror_image], ids=["none", "mirror"])
def test_values_are_those_of_the_evaluator(kind, boundary):
    type = hl.UInt(int(kind[4:])) if kind.startswith("u") else hl.Int(int(kind[3:]))
    program = windows(type, boundary).compile("cpu", strict_float=True)
    limits, rng = np.iinfo(kind), np.random.default_rng(0)
    picture = rng.integers(limits.min, limits.max + 1, (19, 83)).astype(kind)
    found = program(picture)
    stages = re.findall(r"image_as_f32\w*(?=, |:)", program.source())
    assert sorted(stages) == ["image_as_f32", "image_as_f32_2"]
    np.testing.assert_array_equal(found, windows(type, boundary).compile("reference")(picture))
