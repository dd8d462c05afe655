"""Saturating, widening, halving and rounding arithmetic: Halide's values, to the bit, on every back end."""

import beside_halide
import pytest
from beside_halide import INTEGERS, pairs

import tilefuse

halide = pytest.importorskip("halide")

OF_ONE_TYPE = "saturating_add saturating_sub halving_add halving_sub rounding_halving_add".split()
WIDENING = "widening_add widening_sub widening_mul".split()
SHIFTS = "rounding_shift_left rounding_shift_right".split()
WIDENING_SHIFTS = "widening_shift_left widening_shift_right".split()
PRODUCTS = "mul_shift_right rounding_mul_shift_right".split()

MIXED = [("u8", "i8"), ("i8", "u16"), ("u32", "i16"), ("i32", "u32"), ("u16", "i32"), ("i64", "u8")]


def names_of(first, second):
    """The functions that take these types."""
    narrow = "64" not in first + second
    return [*OF_ONE_TYPE, *SHIFTS, *((WIDENING + WIDENING_SHIFTS + PRODUCTS) if narrow else [])]


def values_of(first, second):
    """Each function once, and a shift by a constant either way; counts stay below the width."""
    names = names_of(first, second)

    def values(hl, a, b):
        found = []
        # Of 8 bits, a signed count goes from -7 to 7.
        count = b % 8 - (hl.cast(b.type(), 3) if second[0] == "i" else 0)
        for name in names:
            function = getattr(hl, name)
            if name in PRODUCTS:
                found += [function(a, b, hl.cast(hl.UInt(8), b) % 8), function(a, b, 7)]
            elif name in SHIFTS + WIDENING_SHIFTS:
                found += [function(a, count), function(a, 3), function(a, -3)]
            else:
                found.append(function(a, b))
        return found

    labels = [
        label
        for name in names
        for label in (
            [f"{name} by b", f"{name} by 7"]
            if name in PRODUCTS
            else [f"{name} by b", f"{name} by 3", f"{name} by -3"]
            if name in SHIFTS + WIDENING_SHIFTS
            else [name]
        )
    ]
    return values, labels


PAIRS = [(t, t) for t in INTEGERS] + MIXED


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_evaluator(first, second):
    values, names = values_of(first, second)
    arrays = pairs(first, second)
    beside_halide.assert_same(
        beside_halide.by_us(arrays, values, "reference"),
        beside_halide.by_halide(arrays, values),
        names,
        f"{first} {second}",
    )


@pytest.mark.sweep
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_back_ends(first, second, monkeypatch, tmp_path):
    values, names = values_of(first, second)
    arrays = pairs(first, second)
    beside_halide.assert_back_ends_agree(arrays, values, names, f"{first} {second}", monkeypatch, tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hl.widening_add(u64, u64)", r"widening_add of uint64 would need twice as many bits"),
        ("hl.widening_mul(i64, u8)", r"widening_mul of int64 would need twice as many bits"),
        ("hl.mul_shift_right(i64, i64, 3)", r"mul_shift_right of int64 would need twice as many bits"),
        ("hl.mul_shift_right(u8, u8, i8)", r"mul_shift_right shifts by an unsigned integer, not by int8; cast it"),
        ("hl.mul_shift_right(u8, u8, -1)", r"mul_shift_right shifts right by a number that is not negative, not by -1"),
        ("hl.saturating_add(f32, f32)", r"saturating_add takes integers, not float32 and float32"),
        ("hl.halving_add(u8 > 1, u8)", r"halving_add takes numbers, not a bool: \(uint8\(x\) > 1\); cast it"),
        ("hl.rounding_shift_right(u8, f32)", r"rounding_shift_right shifts by an integer, not by float32"),
        ("hl.rounding_shift_right(u8, 8)", r"a shift by 8 bits is undefined for uint8"),
        ("hl.widening_shift_left(f32, 1)", r"widening_shift_left takes an integer, not float32"),
    ],
)
def test_errors(text, message):
    x = tilefuse.Var("x")
    names = {n: tilefuse.cast(beside_halide.type_of(tilefuse, n), x) for n in [*INTEGERS, "f32"]}
    with pytest.raises(tilefuse.PipelineError, match=message):
        eval(text, {"hl": tilefuse, **names})
