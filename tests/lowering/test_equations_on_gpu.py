"""Numbers that are clamped and compared with what they are clamped to, which ptxas takes for the contrary."""

import numpy as np
import pytest

import tilefuse as hl


def pipeline(element, largest):
    """Where a number is clamped to 0 and a constant, or a parameter, and where not: bits of a byte."""
    x, y, image, limit = hl.Var("x"), hl.Var("y"), hl.ImageParam(element, 2, "image"), hl.Param(element, "limit")
    v = image[x, y]
    white, most = (hl.max(hl.min(v, hl.cast(element, high)), hl.cast(element, 0)) for high in (largest, limit))
    bits = [white == hl.cast(element, largest), white != v, most == limit, most != hl.cast(element, largest), most == v]
    out, at_sides = hl.Func("out"), hl.clamp(x, 0, image.width() - 1) == image.width() - 1
    out[x, y] = hl.cast(hl.UInt(8), sum(hl.select(b, 1 << i, 0) for i, b in enumerate([*bits, at_sides])))
    return hl.Pipeline(out)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("element", "dtype", "largest"),
    [
        (hl.Int(32), np.int32, 255),
        (hl.Int(16), np.int16, 255),
        (hl.Int(8), np.int8, 100),
        (hl.UInt(8), np.uint8, 200),
        (hl.UInt(16), np.uint16, 300),
        (hl.UInt(32), np.uint32, 300),
        (hl.Int(64), np.int64, 255),
    ],
)
@pytest.mark.parametrize("limit", [90, 0, -3])
def test_clamped_numbers_equal_their_bounds(element, dtype, largest, limit):
    cupy = pytest.importorskip("cupy")
    values = np.random.default_rng(1).integers(-20, largest + 20, (40, 300)).astype(dtype)
    values[::3] = np.random.default_rng(2).choice([0, largest, limit, largest - 1], values[::3].shape).astype(dtype)
    limit, program = int(np.array(limit).astype(dtype)), pipeline(element, largest)
    expected = program.compile("reference")(values, limit=limit)
    np.testing.assert_array_equal(program.compile("cuda")(cupy.asarray(values), limit=limit).get(), expected)
    assert len(np.unique(expected)) > 1
