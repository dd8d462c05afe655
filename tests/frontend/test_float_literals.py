"""Python floats that a float32 is not: a warning at the line, as in Halide, and none where a type is written."""

import warnings

import pytest

import tilefuse

halide = pytest.importorskip("halide")

LOSSY = [
    "hl.Expr(0.1)",
    "x * 0.1",
    "hl.Expr(16777217.0)",
    "hl.select(x > 0, 0.1, hl.f32(2))",
    "hl.sqrt(0.3)",
    "hl.clamp(hl.f32(x), 0.1, 0.75)",
]
EXACT = [
    "hl.Expr(0.5)",
    "hl.f32(0.1)",
    "hl.f64(0.1)",
    "x * 2.25",
    "hl.Expr(float('inf'))",
]


def warned(hl, text):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        eval(text, {"hl": hl, "x": hl.Var("x")})
    return found


@pytest.mark.parametrize("text", LOSSY + EXACT)
def test_as_halide(text):
    ours, theirs = warned(tilefuse, text), warned(halide, text)
    assert len(ours) == len(theirs) == (text in LOSSY)


def test_the_warning_says_what_to_write():
    with pytest.warns(
        RuntimeWarning, match=r"0\.1 becomes a float32.*write hl\.f32\(0\.1\), or hl\.f64\(0\.1\)"
    ) as found:
        tilefuse.Expr(0.1)
    assert found[0].filename == __file__


def test_a_line_warns_once_by_default():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            tilefuse.Expr(0.3)
    assert len(found) == 1
