"""Rows of 8- and 16-bit pixels beside 32-bit arithmetic on CPUs: each width of a row, to the bit."""

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.analysis.machine import machine

PIXELS = {"uint8": hl.UInt(8), "int8": hl.Int(8), "uint16": hl.UInt(16), "int16": hl.Int(16)}
WIDE = {"float32": hl.Float(32), "int32": hl.Int(32)}
WIDE_INTEGERS = {"int32": hl.Int(32), "uint32": hl.UInt(32)}
WIDTHS = (1, 3, 7, 8, 9, 31, 32, 33, 70, 131)


def pipeline(pixel, result, wide):
    """Return the mean of three pixels in `wide` numbers, saturated to `result`."""
    image, x, y, f = hl.ImageParam(PIXELS[pixel], 2, "image"), hl.Var("x"), hl.Var("y"), hl.Func("f")
    read = hl.BoundaryConditions.repeat_edge(image)
    total = sum((hl.cast(WIDE[wide], read[x + i, y]) for i in (-1, 1)), hl.cast(WIDE[wide], read[x, y]))
    low, high = np.iinfo(result).min, np.iinfo(result).max
    third = total * hl.f32(1 / 3) if wide == "float32" else total / 3
    f[x, y] = hl.cast(PIXELS[result], hl.clamp(third, low, high))
    return hl.Pipeline(f)


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("result", PIXELS)
@pytest.mark.parametrize("pixel", PIXELS)
def test_rows_of_any_width(pixel, result, wide):
    made = pipeline(pixel, result, wide)
    program, reference = made.compile("cpu", strict_float=True), made.compile("reference")
    limits = np.iinfo(pixel)
    for width in WIDTHS:
        array = np.random.default_rng(width).integers(limits.min, limits.max + 1, (5, width)).astype(pixel)
        array.flat[:2] = limits.min, limits.max
        np.testing.assert_array_equal(program(array), reference(array), err_msg=f"{width} columns")


@pytest.mark.parametrize("through", [None, *WIDE_INTEGERS])
@pytest.mark.parametrize("result", PIXELS)
def test_floats_out_of_range(result, through):
    """Casts saturate, or saturate to 32 bits and wrap, as the evaluator says; NaN becomes 0."""
    image, x, y, f = hl.ImageParam(hl.Float(32), 2, "image"), hl.Var("x"), hl.Var("y"), hl.Func("f")
    value = image[x, y] * hl.f32(2)
    f[x, y] = hl.cast(PIXELS[result], value if through is None else hl.cast(WIDE_INTEGERS[through], value))
    made = hl.Pipeline(f)
    array = np.random.default_rng(0).normal(0, 4e4, (5, 75)).astype(np.float32)
    array.flat[:8] = np.nan, np.inf, -np.inf, 3e9, -3e9, 1e20, 300.5, -0.5
    program, reference = made.compile("cpu", strict_float=True), made.compile("reference")
    np.testing.assert_array_equal(program(array), reference(array))


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("result", ["uint8", "uint16"])
def test_clamped_floats(result, strict):
    """Floats are limited to the pixel's range as they are packed; NaN is what the evaluator makes of it."""
    image, x, y, f = hl.ImageParam(hl.Float(32), 2, "image"), hl.Var("x"), hl.Var("y"), hl.Func("f")
    high = float(np.iinfo(result).max)
    f[x, y] = hl.cast(PIXELS[result], hl.clamp(image[x, y] * hl.f32(2), 0.0, high))
    made = hl.Pipeline(f)
    array = np.random.default_rng(0).normal(high / 4, high / 2, (5, 75)).astype(np.float32)
    for row in (0, 2):
        array[row, :8] = np.nan, np.inf, -np.inf, 3e9, -3e9, 1e20, high / 2 + 0.25, -0.0
    array[:, -3:] = np.nan, -1.0, high
    program = made.compile("cpu", strict_float=strict)
    np.testing.assert_array_equal(program(array), made.compile("reference")(array))
    if machine("cpu").vector_bytes >= 32:
        assert f"saturate_f32_u{np.iinfo(result).bits}(&" in program.source()


def test_rows_are_converted_by_vectors():
    """On processors of AVX2 and later."""
    source = pipeline("uint8", "uint8", "float32").compile("cpu", extent=(512, 512)).source()
    converted = "widen_u8_f32(&" in source or "saturate_f32_u8(&" in source
    assert converted == (machine("cpu").vector_bytes >= 32)
