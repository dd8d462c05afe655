"""Every pair of types: arithmetic, comparisons, choices and casts are Halide's, and the same on every back end."""

import beside_halide
import numpy as np
import pytest
from beside_halide import INTEGERS

halide = pytest.importorskip("halide")

TYPES = ["bool", *INTEGERS, "f16", "bf16", "f32", "f64"]

EXPRESSIONS = {
    "+": lambda hl, a, b: a + b,
    "-": lambda hl, a, b: a - b,
    "*": lambda hl, a, b: a * b,
    "/": lambda hl, a, b: a / b,
    "%": lambda hl, a, b: a % b,
    "<": lambda hl, a, b: a < b,
    ">=": lambda hl, a, b: a >= b,
    "==": lambda hl, a, b: a == b,
    "!=": lambda hl, a, b: a != b,
    "min": lambda hl, a, b: hl.min(a, b),
    "max": lambda hl, a, b: hl.max(a, b),
    "select": lambda hl, a, b: hl.select(a > b, hl.cast(b.type(), hl.clamp(a, 0, 1)), b),
    "cast": lambda hl, a, b: hl.cast(b.type(), beside_halide.castable(hl, a, b.type())),
    "saturating_cast": lambda hl, a, b: hl.saturating_cast(b.type(), a),
}


def expression_names(first, second):
    """What Halide takes of a pair, and defines."""
    names = list(EXPRESSIONS)
    if "bool" in (first, second):
        # Of two bools there is no arithmetic to speak of; a divisor that is a bool is 0 or 1.
        names = [n for n in names if n in "< >= == != select cast".split() and not (n == "select" and first == "bool")]
    if first[0] in "fb" or second[0] in "fb":
        # By floor(a / b), which Halide may contract.
        names = [n for n in names if n != "%"]
    if "bf16" in (first, second) or "f16" in (first, second):
        names = [n for n in names if n != "saturating_cast"]
    if (first, second) == ("f64", "f16"):
        # The wheel lacks the function that rounds them.
        names = [n for n in names if n not in ("cast", "select")]
    return names


def grid(first, seconds):
    """Values of the first type, and of each other, so that every pair of edge values meets."""
    own = beside_halide.edge_values(first)
    longest = max(len(beside_halide.edge_values(s)) for s in seconds)
    arrays = [np.repeat(beside_halide.stored(own, first), longest)]
    for second in seconds:
        others = beside_halide.stored(beside_halide.edge_values(second), second)
        arrays.append(np.tile(np.resize(others, longest), len(own)))
    return arrays


def values_of(first, seconds):
    def values(hl, *pixels):
        a = beside_halide.taken(hl, pixels[0], first)
        found = []
        for second, pixel in zip(seconds, pixels[1:], strict=True):
            b = beside_halide.taken(hl, pixel, second)
            found += [beside_halide.given(hl, EXPRESSIONS[n](hl, a, b)) for n in expression_names(first, second)]
        return found

    return values, [f"{first} {n} {second}" for second in seconds for n in expression_names(first, second)]


@pytest.mark.sweep
@pytest.mark.parametrize("first", TYPES)
@pytest.mark.parametrize("seconds", [TYPES[:5], TYPES[5:9], TYPES[9:]], ids=["small", "wide", "floats"])
def test_evaluator(first, seconds):
    arrays = grid(first, seconds)
    values, names = values_of(first, seconds)
    ours = beside_halide.by_us(arrays, values, "reference")
    beside_halide.assert_same(ours, beside_halide.by_halide(arrays, values), names, "reference")


@pytest.mark.sweep
@pytest.mark.parametrize("first", TYPES)
@pytest.mark.parametrize("seconds", [TYPES[:5], TYPES[5:9], TYPES[9:]], ids=["small", "wide", "floats"])
def test_back_ends(first, seconds, monkeypatch, tmp_path):
    values, names = values_of(first, seconds)
    beside_halide.assert_back_ends_agree(grid(first, seconds), values, names, first, monkeypatch, tmp_path)


@pytest.mark.parametrize(
    ("type", "number", "expected"),
    [
        # halfway and one more: rounded to a float or a double first, the one is lost
        ("i32", 2**30 + 2**22 + 1, 2**30 + 2**23),
        ("u32", 2**31 + 2**23 + 1, 2**31 + 2**24),
        ("i64", -(2**62) - 2**54 - 1, -(2**62) - 2**55),
        ("u64", 2**63 + 2**55 + 1, 2**63 + 2**56),
        ("u64", 2**63 + 2**55, 2**63),
    ],
)
def test_integers_are_rounded_to_bfloat16_once(type, number, expected, monkeypatch, tmp_path):
    def rounded(hl, a):
        return [hl.f32(hl.cast(hl.BFloat(16), a))]

    arrays = [np.full(5, number, beside_halide.DTYPES[type])]
    assert beside_halide.by_us(arrays, rounded, "reference")[0].tolist() == [expected] * 5
    beside_halide.assert_back_ends_agree(arrays, rounded, ["bf16"], type, monkeypatch, tmp_path)
