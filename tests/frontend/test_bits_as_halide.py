"""Bits, shifts, divisions towards zero, and the classes of floats: Halide's values on every back end."""

import beside_halide
import numpy as np
import pytest
from beside_halide import INTEGERS, pairs

import tilefuse

halide = pytest.importorskip("halide")

NAMES = {
    **{name: f"hl.{name}(a)" for name in ("popcount", "count_leading_zeros", "count_trailing_zeros")},
    "count of a product": "hl.popcount(a * b + 1)",
    "div_round_to_zero": "hl.div_round_to_zero(a, divisor)",
    "mod_round_to_zero": "hl.mod_round_to_zero(a, divisor)",
    "div by -3 or 3": "hl.div_round_to_zero(a, -3 if a.type().is_int() else 3)",
    "mod by 7": "hl.mod_round_to_zero(a, 7)",
    "and, or, xor, not": "(a & b) | (~a ^ 5)",
    "shift left": "a << (b % 8 - less)",
    "shift right": "a >> (b % 8 - less)",
    "shift by -3": "(a << -3) + (a >> -3)",
    "extract_bits": "hl.extract_bits(hl.UInt(8), a, 3)",
    "extract_bits at b": "hl.extract_bits(hl.Int(8), a, hl.u8(b % 8))",
}


def values(hl, a, b):
    less = hl.cast(b.type(), 3 if b.type().is_int() else 0)
    # Halide stops the process for a divisor of 0, and for the least number by -1.
    divisor = hl.select(b == 0, 1, a == a.type().min(), 3, b)
    given = {"hl": hl, "a": a, "b": b, "less": less, "divisor": divisor}
    found = [eval(text, given) for text in NAMES.values()]
    if a.type().bits() < 64:
        found.append(hl.concat_bits([a, b]))
    return found


def names(type):
    return [*NAMES, "concat_bits"] if type[1:] != "64" else list(NAMES)


@pytest.mark.parametrize("type", INTEGERS)
def test_evaluator(type):
    arrays = pairs(type, type)
    beside_halide.assert_same(
        beside_halide.by_us(arrays, values, "reference"), beside_halide.by_halide(arrays, values), names(type), type
    )


@pytest.mark.sweep
@pytest.mark.parametrize("type", INTEGERS)
def test_back_ends(type, monkeypatch, tmp_path):
    beside_halide.assert_back_ends_agree(pairs(type, type), values, names(type), type, monkeypatch, tmp_path)


def test_bits_of_a_bool(monkeypatch, tmp_path):
    def of_bools(hl, a, b):
        return [hl.popcount(a ^ b), hl.count_leading_zeros(a), hl.count_trailing_zeros(b)]

    arrays = pairs("bool", "bool")
    labels = ["popcount", "count_leading_zeros", "count_trailing_zeros"]
    ours = beside_halide.by_us(arrays, of_bools, "reference")
    beside_halide.assert_same(ours, beside_halide.by_halide(arrays, of_bools), labels, "bool")
    beside_halide.assert_back_ends_agree(arrays, of_bools, labels, "bool", monkeypatch, tmp_path)


def test_the_least_number_by_minus_one_wraps():
    def divided(hl, a, b):
        return [hl.div_round_to_zero(a, b), hl.mod_round_to_zero(a, b)]

    for type in ("i8", "i16", "i32", "i64"):
        dtype = beside_halide.DTYPES[type]
        arrays = [np.array([np.iinfo(dtype).min, 5], dtype), np.array([-1, -1], dtype)]
        for target in ("reference", "cpu"):
            quotients, rests = beside_halide.by_us(arrays, divided, target)
            assert (quotients.tolist(), rests.tolist()) == ([np.iinfo(dtype).min, -5], [0, 0]), (type, target)


def test_division_by_zero_gives_zero():
    def by_zero(hl, a, b):
        return [hl.div_round_to_zero(a, b), hl.mod_round_to_zero(a, b)]

    for type in INTEGERS:
        a, _ = pairs(type, type)
        arrays = [a, np.zeros_like(a)]
        for target in ("reference", "cpu"):
            for found in beside_halide.by_us(arrays, by_zero, target):
                assert not found.any(), (type, target)


@pytest.mark.parametrize("type", ["f16", "f32", "f64"])
def test_classes_of_floats(type, monkeypatch, tmp_path):
    def classes(hl, a):
        return [hl.u8(f(a)) for f in (hl.is_nan, hl.is_inf, hl.is_finite)]

    dtype = beside_halide.DTYPES[type]
    limits = np.finfo(dtype)
    array = np.array(
        [0.0, -0.0, 1.5, np.inf, -np.inf, np.nan, limits.max, limits.min, limits.smallest_subnormal], dtype
    )
    labels = ["is_nan", "is_inf", "is_finite"]
    ours = beside_halide.by_us([array], classes, "reference")
    beside_halide.assert_same(ours, beside_halide.by_halide([array], classes), labels, type)
    beside_halide.assert_back_ends_agree([array], classes, labels, type, monkeypatch, tmp_path)


@pytest.mark.parametrize(("type", "integer"), [("f16", "u16"), ("f32", "i32"), ("f64", "u64"), ("f32", "u32")])
def test_bits_of_floats(type, integer, monkeypatch, tmp_path):
    def bits(hl, a):
        whole = hl.reinterpret(beside_halide.type_of(hl, integer), a)
        return [whole, hl.reinterpret(a.type(), whole ^ 5)]

    array = np.array(beside_halide.edge_values(type), beside_halide.DTYPES[type])
    ours = beside_halide.by_us([array], bits, "reference")
    beside_halide.assert_same(ours, beside_halide.by_halide([array], bits), ["as integer", "and back"], type)
    beside_halide.assert_back_ends_agree([array], bits, ["as integer", "and back"], type, monkeypatch, tmp_path)


def test_bits_of_one_half_as_the_other():
    x = tilefuse.Var("x")
    f = tilefuse.Func("f")
    half = tilefuse.cast(tilefuse.Float(16), x + 1)
    f[x] = tilefuse.f32(tilefuse.reinterpret(tilefuse.BFloat(16), half))
    bits = np.arange(1, 5).astype(np.float16).view(np.uint16).astype(np.uint32) << 16
    for target in ("reference", "cpu"):
        np.testing.assert_array_equal(f.realize([4], target=target), bits.view(np.float32))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hl.popcount(f32)", r"popcount takes an integer, not float32: float32\(x\)"),
        ("hl.count_leading_zeros(1.5)", r"count_leading_zeros takes an integer, not float32: 1.5"),
        ("hl.reinterpret(hl.UInt(16), f32)", r"reinterpret takes types of one width, not float32 as uint16"),
        ("hl.reinterpret(f32, 3)", r"reinterpret takes a type first, not"),
        ("hl.concat_bits([u8, i8])", r"concat_bits takes values of one type, not int8, uint8"),
        ("hl.concat_bits([u64, u64])", r"concat_bits of 2 values of uint64 would have 128 bits"),
        ("hl.concat_bits([])", r"concat_bits takes values of one type, not none"),
        ("hl.extract_bits(hl.UInt(16), u8, 0)", r"extract_bits takes a number that is at least as wide as uint16"),
        ("hl.div_round_to_zero(f32, 2)", r"div_round_to_zero takes integers, not float32"),
        ("hl.is_inf(u8)", r"is_inf takes a float, not uint8"),
        ("hl.is_finite(u8)", r"is_finite takes a float, not uint8"),
    ],
)
def test_errors(text, message):
    x = tilefuse.Var("x")
    given = {n: tilefuse.cast(beside_halide.type_of(tilefuse, n), x) for n in [*INTEGERS, "f32"]}
    with pytest.raises(tilefuse.PipelineError, match=message):
        eval(text, {"hl": tilefuse, **given})
