"""Float ops and casts, against the exact values."""

import math
from fractions import Fraction

import numpy as np
import pytest

ODDITIES = np.array(
    [0.0, -0.0, 1.5, -2.5, 0.49999997, 1e-45, -1e-40, 3.4e38, -3.4e38, np.inf, -np.inf, np.nan], np.float32
)


def bits(a):
    """NaNs made equal, so that equal bits are equal values."""
    return np.where(np.isnan(a), np.nan, a).astype(a.dtype).view(f"u{a.dtype.itemsize}")


def nearest(exact, dtype):
    """A Fraction rounded to a float type, by trying the neighbours."""
    near = dtype(float(exact))
    candidates = [np.nextafter(near, dtype(-np.inf)), near, np.nextafter(near, dtype(np.inf))]
    finite = [c for c in candidates if np.isfinite(c)]
    even = lambda c: int(c.view(f"u{c.dtype.itemsize}")) & 1  # noqa: E731
    return min(finite, key=lambda c: (abs(Fraction(float(c)) - exact), even(c)))


@pytest.mark.parametrize("op", ["addf", "subf", "mulf", "divf"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_arithmetic_is_correctly_rounded_and_keeps_denormals(pointwise, op, dtype):
    random = np.random.default_rng(1)
    a, b = (random.standard_normal(300).astype(dtype) for _ in "ab")
    if dtype is np.float32:
        a[:3], b[:3] = [1e-42, 3e-42, 1e-20], [2e-42, 1e-42, 1e-21]
    exact = {
        "addf": Fraction.__add__,
        "subf": Fraction.__sub__,
        "mulf": Fraction.__mul__,
        "divf": Fraction.__truediv__,
    }
    expected = [nearest(exact[op](Fraction(float(x)), Fraction(float(y))), dtype) for x, y in zip(a, b, strict=True)]
    t = f"f{a.dtype.itemsize * 8}"
    got = pointwise(f"%r = arith.{op} %a, %b : {t}", t, a=a, b=b)
    np.testing.assert_array_equal(got.view(np.uint8), np.array(expected, dtype).view(np.uint8))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_fma_rounds_once(pointwise, dtype):
    random = np.random.default_rng(2)
    digits = np.finfo(dtype).nmant
    a, b = (random.integers(2**digits, 2 ** (digits + 1), 500).astype(dtype) for _ in "ab")
    a, b = a / dtype(2**digits), b / dtype(2**digits)
    # Sums that end near the middle between two floats: what rounding twice gets wrong.
    c = (a * b * random.choice([-1, 2**-digits, 2.0 ** -(2 * digits), 2**digits], 500)).astype(dtype)
    t = f"f{a.dtype.itemsize * 8}"
    got = pointwise(f"%r = math.fma %a, %b, %c : {t}", t, a=a, b=b, c=c)
    f = lambda v: Fraction(float(v))  # noqa: E731
    expected = [nearest(f(x) * f(y) + f(z), dtype) for x, y, z in zip(a, b, c, strict=True)]
    np.testing.assert_array_equal(got, np.array(expected, dtype))
    assert (got != (a * b + c)).any(), "without fma, some of these are different"


def test_fma_of_floats_does_not_round_twice(pointwise):
    a = np.array([1 + 2.0**-12, -1 - 2.0**-12], np.float32)
    b = np.array([1 + 2.0**-12] * 2, np.float32)
    c = np.array([2.0**-100, 2.0**-100], np.float32)
    # The product is the middle between two floats, and float64 does not see what c adds.
    got = pointwise("%r = math.fma %a, %b, %c : f32", "f32", a=a, b=b, c=c)
    assert got.tolist() == [1 + 2.0**-11 + 2.0**-23, -1 - 2.0**-11]


def test_fma_of_extremes(pointwise):
    a = np.array([1e200, 1e200, np.inf, np.inf, 0.0, -0.0, 1e-300, np.nan])
    b = np.array([1e200, 1e200, 0.0, 2.0, 5.0, 5.0, 1e-300, 1.0])
    c = np.array([-np.inf, 1.0, 1.0, -np.inf, -0.0, -0.0, -0.0, 1.0])
    got = pointwise("%r = math.fma %a, %b, %c : f64", "f64", a=a, b=b, c=c)
    expected = np.array([-np.inf, np.inf, np.nan, np.nan, 0.0, -0.0, 0.0, np.nan])
    np.testing.assert_array_equal(bits(got), bits(expected))


PREDICATES = {
    "false": lambda a, b, u: False,
    "oeq": lambda a, b, u: not u and a == b,
    "ogt": lambda a, b, u: not u and a > b,
    "oge": lambda a, b, u: not u and a >= b,
    "olt": lambda a, b, u: not u and a < b,
    "ole": lambda a, b, u: not u and a <= b,
    "one": lambda a, b, u: not u and a != b,
    "ord": lambda a, b, u: not u,
    "ueq": lambda a, b, u: u or a == b,
    "ugt": lambda a, b, u: u or a > b,
    "uge": lambda a, b, u: u or a >= b,
    "ult": lambda a, b, u: u or a < b,
    "ule": lambda a, b, u: u or a <= b,
    "une": lambda a, b, u: u or a != b,
    "uno": lambda a, b, u: u,
    "true": lambda a, b, u: True,
}


@pytest.mark.parametrize("predicate", PREDICATES)
def test_compare(pointwise, predicate):
    a, b = (g.reshape(-1) for g in np.meshgrid(ODDITIES, ODDITIES))
    expected = [
        PREDICATES[predicate](x, y, math.isnan(x) or math.isnan(y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    assert pointwise(f"%r = arith.cmpf {predicate}, %a, %b : f32", "i1", a=a, b=b).tolist() == expected


def test_min_and_max_of_nan(pointwise):
    a, b = np.array([np.nan, 1, np.nan], np.float32), np.array([2, np.nan, np.nan], np.float32)
    run = lambda op: pointwise(f"%r = arith.{op} %a, %b : f32", "f32", a=a, b=b)  # noqa: E731
    for op in ("minnumf", "maxnumf"):
        np.testing.assert_array_equal(run(op), [2, 1, np.nan])
    for op in ("minimumf", "maximumf"):
        assert np.isnan(run(op)).all()


@pytest.mark.parametrize("op", ["minnumf", "maxnumf"])
@pytest.mark.parametrize(("dtype", "signalling"), [("f2", 0x7C01), ("f4", 0x7F800001), ("f8", 0x7FF0000000000001)])
def test_a_signalling_nan_is_no_number_either(pointwise, op, dtype, signalling):
    type = f"f{8 * int(dtype[1])}"
    for extent in (1, 3, 37):
        nan, one = np.full(extent, signalling, f"u{dtype[1]}").view(dtype), np.full(extent, 1.5, dtype)
        for operands in ("%a, %b", "%b, %a", "%a, %c", "%c, %a"):
            body = f"%c = arith.constant 1.5 : {type}\n%r = arith.{op} {operands} : {type}"
            np.testing.assert_array_equal(pointwise(body, type, a=nan, b=one), one)


@pytest.mark.parametrize("source", ["f16", "f32", "f64"])
@pytest.mark.parametrize("target", ["si8", "ui8", "si32", "ui32", "si64", "ui64"])
def test_float_to_int_truncates_saturates_and_takes_nan_for_0(pointwise, source, target):
    sign, width = target[0], int(target[2:])
    low, high = (0, 2**width - 1) if sign == "u" else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    powers = [2.0**31, 2.0**32, 2.0**63, 2.0**64, 1e30, np.inf]
    numbers = [0.9, -0.9, 1.5, -1.5, 127.99, 60000.0, 4294967040.0, *powers, *(-p for p in powers), np.nan]
    with np.errstate(over="ignore"):
        a = np.array(numbers, f"f{int(source[1:]) // 8}")

    def meaning(v):
        if math.isnan(v):
            return 0
        return max(low, min(high, int(v))) if math.isfinite(v) else (high if v > 0 else low)

    op = "fptoui" if sign == "u" else "fptosi"
    got = pointwise(f"%r = arith.{op} %a : {source} to i{width}", target, a=a)
    assert got.tolist() == [meaning(v) for v in a.astype(np.float64).tolist()]


def test_int_to_half_is_correctly_rounded(pointwise):
    a = np.arange(2**17, dtype=np.uint32)
    got = pointwise("%r = arith.uitofp %a : i32 to f16", "f16", a=a)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got, a.astype(np.float64).astype(np.float16))


def test_bfloat16_rounds_once(pointwise):
    """What lies just above the middle of two bf16, too close for f32 or f64 to see."""
    middle = 1 + 2.0**-8
    a = np.array([middle, np.nextafter(middle, 2), np.nextafter(middle, 1), 3 + 2.0**-7, np.inf, 3.4e38])
    body = "%h = arith.truncf %a : f64 to bf16\n%r = arith.extf %h : bf16 to f32"
    up = 1 + 2.0**-7
    assert pointwise(body, "f32", a=a).tolist() == [1.0, up, 1.0, 3.0, np.inf, np.inf]
    whole = np.array([2**62 + 2**54, 2**62 + 2**54 + 1, -(2**62 + 2**54 + 1), 257, 259], np.int64)
    body = "%h = arith.sitofp %a : i64 to bf16\n%r = arith.extf %h : bf16 to f32"
    expected = [2.0**62, 2.0**62 + 2.0**55, -(2.0**62 + 2.0**55), 256.0, 260.0]
    assert pointwise(body, "f32", a=whole).tolist() == expected
    body = "%h = arith.truncf %a : f64 to bf16\n%s = arith.addf %h, %h : bf16\n"
    body += "%r = arith.bitcast %s : bf16 to i16"
    assert pointwise(body, "ui16", a=np.array([1.0, -1.5])).tolist() == [0x4000, 0xC040]


def test_rounding_functions(pointwise):
    a = np.array([-2.5, -1.5, -0.5, -0.2, 0.5, 0.49999997, 1.5, 2.5, 8388609.0], np.float32)
    run = lambda op: pointwise(f"%r = math.{op} %a : f32", "f32", a=a).tolist()  # noqa: E731
    assert run("roundeven") == [-2, -2, 0, 0, 0, 0, 2, 2, 8388609]
    assert run("round") == [-3, -2, -1, 0, 1, 0, 2, 3, 8388609]
    assert run("floor") == [-3, -2, -1, -1, 0, 0, 1, 2, 8388609]
    assert run("ceil") == [-2, -1, 0, 0, 1, 1, 2, 3, 8388609]
    assert run("trunc") == [-2, -1, 0, 0, 0, 0, 1, 2, 8388609]


UNARY = """acos acosh asin asinh atan atanh cbrt cos cosh erf exp exp2 expm1
log log10 log1p log2 sin sinh sqrt tan tanh"""


@pytest.mark.parametrize("function", UNARY.split())
def test_functions_are_within_one_rounding(pointwise, function):
    a = np.linspace(1.0 if function == "acosh" else 0.01, 1.5 if function == "acosh" else 0.99, 97).astype(np.float32)
    got = pointwise(f"%r = math.{function} %a : f32", "f32", a=a)
    if function in ("cbrt", "exp2"):
        exact = [v ** (1 / 3) if function == "cbrt" else 2.0**v for v in a.tolist()]
    else:
        exact = [getattr(math, function)(v) for v in a.tolist()]
    error = np.abs(got.astype(np.float64) - exact) / np.spacing(got)
    assert error.max() <= 0.5001


def test_functions_of_two_numbers(pointwise):
    a, b = np.array([2, 9, -1, -8], np.float32), np.array([10, 0.5, -1, 3], np.float32)
    run = lambda op: pointwise(f"%r = math.{op} %a, %b : f32", "f32", a=a, b=b)  # noqa: E731
    assert run("powf").tolist() == [1024, 3, -1, -512]
    assert run("copysign").tolist() == [2, 9, -1, 8]
    np.testing.assert_array_equal(run("atan2"), [np.float32(math.atan2(*p)) for p in zip(a, b, strict=True)])


def test_bitcast_constants_select_and_negation(pointwise):
    a = np.array([1.0, -0.0], np.float32)
    assert pointwise("%r = arith.bitcast %a : f32 to i32", "ui32", a=a).tolist() == [0x3F800000, 0x80000000]
    body = "%n = arith.negf %a : f32\n%z = arith.constant 0.1 : f32\n%c = arith.cmpf olt, %n, %z : f32\n"
    assert pointwise(body + "%r = arith.select %c, %n, %z : f32", "f32", a=a).tolist() == [-1, 0]
    assert pointwise("%r = arith.constant -1 : i8", "ui8", a=a).tolist() == [255, 255]
    assert np.signbit(pointwise("%r = arith.negf %a : f32", "f32", a=-a)[1])
