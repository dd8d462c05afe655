"""Float operations one by one, on the values where they are easy to get wrong, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

INF, NAN = np.inf, np.nan
# fmt: off
EDGES = np.array([
    0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 127.5, 128.0, 255.4, 255.5, 256.0, -128.9, -129.0,
    32767.9, 65535.9, 65536.0, -32769.0, 2147483520.0, 2147483648.0, -2147483648.0, -2147483904.0,
    4294967040.0,
    4294967296.0, 9.2233715e18, 9.2233720368547758e18, -9.3e18, 1.8446743e19, 1.8446744073709552e19, 3e38,
    1e-40, -1e-40, INF, -INF, NAN, 3.1415927, -7.25, 1e-5,
])
# fmt: on
N = len(EDGES)
NUMPY = {"f32": np.float32, "f64": np.float64, "i1": np.bool_}
NUMPY |= {f"i{w}": np.dtype(f"u{w // 8}") for w in (8, 16, 32, 64)}
FINITE_MATH = ("ceil", "floor", "trunc", "roundeven", "absf")


def function(name: str, body: str, out: str, inputs: str = "f32", attributes: str = "array<i64: 1, 1, 1>") -> str:
    """A loop over %a and %b that stores %r."""
    return f"""
func.func @{name}(%pa: memref<?x{inputs}>, %pb: memref<?x{inputs}>, %out: memref<?x{out}>)
    attributes {{kernel.threads = {attributes}}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %out, %c0 : memref<?x{out}>
  scf.for %i = %c0 to %n step %c1 {{
    %a = memref.load %pa[%i] : memref<?x{inputs}>
    %b = memref.load %pb[%i] : memref<?x{inputs}>
    {body}
    memref.store %r, %out[%i] : memref<?x{out}>
  }} {{kernel.simd}}
  func.return
}}
"""


def pairs(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of edge values."""
    with np.errstate(over="ignore"):
        edges = EDGES.astype(dtype)
    return np.repeat(edges, N), np.tile(edges, N)


def bits(array: np.ndarray) -> np.ndarray:
    """The bits, with one NaN for all."""
    array = np.where(np.isnan(array), np.array(NAN, array.dtype), array)
    return array.view(f"u{array.itemsize}")


def saturated(values: np.ndarray, width: int, signed: bool) -> np.ndarray:
    low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if signed else (0, 2**width - 1)
    exact = [0 if np.isnan(v) else high if v > high else low if v < low else int(v) for v in values.tolist()]
    return np.array([v % 2**width for v in exact], f"u{width // 8}")


def test_conversions_to_integers_saturate(kernels):
    cases = [(s, w, sign) for s in ("f32", "f64") for w in (8, 16, 32, 64) for sign in ("s", "u")]
    text = "".join(
        function(f"{s}_{sign}{w}", f"%r = arith.fpto{sign}i %a : {s} to i{w}", f"i{w}", s) for s, w, sign in cases
    )
    module = kernels(text)
    module.check_with_mlir_opt()
    module.cuda()
    run = module.c(flags=("-fno-trapping-math",))
    for source, width, sign in cases:
        a, b = pairs(NUMPY[source])
        out = np.zeros(len(a), NUMPY[f"i{width}"])
        run(f"{source}_{sign}{width}", a, b, out)
        np.testing.assert_array_equal(out, saturated(a, width, sign == "s"), err_msg=f"{source} to {sign}{width}")


def test_conversions_from_integers(kernels):
    cases = [(w, sign) for w in (8, 16, 32, 64) for sign in ("s", "u")]
    text = "".join(
        function(f"{sign}{w}", f"%r = arith.{sign}itofp %a : i{w} to f32", "f32", f"i{w}") for w, sign in cases
    )
    run = kernels(text).c()
    for width, sign in cases:
        a = np.array([0, 1, 2 ** (width - 1) - 1, 2 ** (width - 1), 2**width - 1, 100], f"u{width // 8}")
        out = np.zeros(len(a), np.float32)
        run(f"{sign}{width}", a, a, out)
        np.testing.assert_array_equal(out, a.view(f"{'i' if sign == 's' else 'u'}{width // 8}").astype(np.float32))


def test_halves(kernels):
    """All halves as floats; and floats on both sides of halves and of the middles between them as halves."""
    to_float = "%h = arith.bitcast %a : i16 to f16\n%r = arith.extf %h : f16 to f32"
    to_half = "%h = arith.truncf %a : f32 to f16\n%r = arith.bitcast %h : f16 to i16"
    module = kernels(function("widen", to_float, "f32", "i16") + function("narrow", to_half, "i16"))
    run = module.c()
    halves = np.arange(2**16, dtype=np.uint16)
    out = np.zeros(len(halves), np.float32)
    run("widen", halves, halves, out)
    np.testing.assert_array_equal(bits(out), bits(halves.view(np.float16).astype(np.float32)))

    ends = np.array([65504.0, 65519.996, 65520.0, 1e30, 3e38, 1e-30, 1e-45, INF, NAN], np.float32)
    size = halves[:0x7C00].view(np.float16).astype(np.float32)
    size = np.concatenate([size, (size[1:] + size[:-1]) / 2, ends])
    size = np.concatenate([size, np.nextafter(size, np.float32(INF)), np.nextafter(size, np.float32(0))])
    floats = np.concatenate([size, -size])
    found = np.zeros(len(floats), np.uint16)
    run("narrow", floats, floats, found)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(bits(found.view(np.float16)), bits(floats.astype(np.float16)))


PREDICATES = {
    "oeq": lambda a, b, nan: (a == b) & ~nan,
    "ogt": lambda a, b, nan: (a > b) & ~nan,
    "oge": lambda a, b, nan: (a >= b) & ~nan,
    "olt": lambda a, b, nan: (a < b) & ~nan,
    "ole": lambda a, b, nan: (a <= b) & ~nan,
    "one": lambda a, b, nan: (a != b) & ~nan,
    "ord": lambda a, b, nan: ~nan,
    "ueq": lambda a, b, nan: (a == b) | nan,
    "ugt": lambda a, b, nan: (a > b) | nan,
    "uge": lambda a, b, nan: (a >= b) | nan,
    "ult": lambda a, b, nan: (a < b) | nan,
    "ule": lambda a, b, nan: (a <= b) | nan,
    "une": lambda a, b, nan: (a != b) | nan,
    "uno": lambda a, b, nan: nan,
    "false": lambda a, b, nan: np.zeros_like(nan),
    "true": lambda a, b, nan: np.ones_like(nan),
}


def test_comparisons_know_nan(kernels):
    text = "".join(function(f"cmp_{p}", f"%r = arith.cmpf {p}, %a, %b : f32", "i1") for p in PREDICATES)
    module = kernels(text)
    module.cuda()
    run = module.c()
    a, b = pairs(np.float32)
    for predicate, meaning in PREDICATES.items():
        out = np.zeros(len(a), np.bool_)
        run(f"cmp_{predicate}", a, b, out)
        np.testing.assert_array_equal(out, meaning(a, b, np.isnan(a) | np.isnan(b)), err_msg=predicate)


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_minimum_and_maximum(kernels, type_):
    names = ("minnumf", "maxnumf", "minimumf", "maximumf")
    module = kernels("".join(function(n, f"%r = arith.{n} %a, %b : {type_}", type_, type_) for n in names))
    module.cuda()
    run = module.c()
    a, b = pairs(NUMPY[type_])
    # -0 is below +0, as on the GPU.
    order = np.where(a == b, np.signbit(a) & ~np.signbit(b), a < b)
    nan = np.isnan(a) | np.isnan(b)
    number = np.where(np.isnan(a), b, a)
    for name in names:
        low = name.startswith("min")
        expected = np.where(order == low, a, b)
        expected = np.where(nan, np.array(NAN, a.dtype) if "imum" in name else number, expected)
        out = np.zeros_like(a)
        run(name, a, b, out)
        np.testing.assert_array_equal(bits(out), bits(expected), err_msg=name)


def test_exact_functions(kernels):
    cases = {
        "ceil": np.ceil,
        "floor": np.floor,
        "trunc": np.trunc,
        "roundeven": np.rint,
        "absf": np.abs,
        "sqrt": np.sqrt,
        "rsqrt": lambda x: np.float32(1) / np.sqrt(x),
    }
    text = "".join(function(f"do_{n}", f"%r = math.{n} %a : f32", "f32") for n in cases)
    text += function("do_negf", "%r = arith.negf %a : f32", "f32")
    text += function("do_sign", "%r = math.copysign %a, %b : f32", "f32")
    text += function("do_fma", "%r = math.fma %a, %b, %a : f32", "f32")
    module = kernels(text)
    module.check_with_mlir_opt()
    module.cuda()
    run = module.c()
    a, b = pairs(np.float32)
    with np.errstate(all="ignore"):
        expected = {name: f(a) for name, f in cases.items()}
        expected |= {"negf": -a, "sign": np.copysign(a, b)}
        wide = a.astype(np.float64) * b.astype(np.float64)
        exact = np.abs(wide) < 2.0**53
        fused = (wide + a.astype(np.float64)).astype(np.float32)
    for name, value in expected.items():
        out = np.zeros_like(a)
        run(f"do_{name}", a, b, out)
        np.testing.assert_array_equal(bits(out), bits(value.astype(np.float32)), err_msg=name)
    out = np.zeros_like(a)
    run("do_fma", a, b, out)
    np.testing.assert_allclose(out[exact], fused[exact], rtol=1e-7)


def test_library_functions(kernels):
    cases = {
        "exp": np.exp,
        "exp2": np.exp2,
        "expm1": np.expm1,
        "log": np.log,
        "log2": np.log2,
        "log10": np.log10,
        "log1p": np.log1p,
        "sin": np.sin,
        "cos": np.cos,
        "tan": np.tan,
        "tanh": np.tanh,
        "sinh": np.sinh,
        "cosh": np.cosh,
        "asin": np.arcsin,
        "acos": np.arccos,
        "atan": np.arctan,
        "cbrt": np.cbrt,
    }
    for type_, rtol in (("f32", 1e-5), ("f64", 1e-13)):
        text = "".join(function(f"do_{n}", f"%r = math.{n} %a : {type_}", type_, type_) for n in cases)
        text += function("do_pow", f"%r = math.powf %a, %b : {type_}", type_, type_)
        text += function("do_atan2", f"%r = math.atan2 %a, %b : {type_}", type_, type_)
        module = kernels(text)
        module.check_with_mlir_opt()
        module.cuda()
        run = module.c()
        a = np.linspace(0.01, 0.99, 50).astype(NUMPY[type_])
        b = a[::-1].copy()
        expected = {n: f(a) for n, f in cases.items()} | {"pow": a**b, "atan2": np.arctan2(a, b)}
        for name, value in expected.items():
            out = np.zeros_like(a)
            run(f"do_{name}", a, b, out)
            np.testing.assert_allclose(out, value, rtol=rtol, err_msg=name)


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_literals_keep_their_bits(kernels, type_):
    dtype = np.dtype(NUMPY[type_])
    word = f"u{dtype.itemsize}"
    largest = float(np.finfo(dtype).max)
    special = [0.1, 1 / 3, 3.0, 1e30, -0.0, 5e-324, 1e-45, INF, -INF, NAN, 16777217.0, 1e22, largest, -largest]
    with np.errstate(over="ignore"):
        random = np.random.default_rng(2).integers(0, 2**62, 40).astype(word).view(dtype)
        values = np.concatenate([np.array(special, dtype), random])
    values = values[~np.isnan(values) | (np.arange(len(values)) < len(special))]
    text = "".join(
        function(f"k{i}", f"%r = arith.constant 0x{int(v):0{2 * dtype.itemsize}X} : {type_}", type_, type_)
        for i, v in enumerate(values.view(word))
    )
    run = kernels(text).c()
    out = np.zeros(1, dtype)
    for i, value in enumerate(values):
        run(f"k{i}", out, out, out)
        np.testing.assert_array_equal(bits(out), bits(np.array([value], dtype)))


@pytest.mark.parametrize("half", ["f16", "bf16"])
def test_halves_are_rounded_after_each_operation(kernels, half):
    body = f"""
    %x = arith.truncf %a : f32 to {half}
    %y = arith.truncf %b : f32 to {half}
    %s = arith.addf %x, %y : {half}
    %p = arith.mulf %s, %y : {half}
    %q = arith.divf %p, %x : {half}
    %r = arith.extf %q : {half} to f32
    """
    store = "%r = arith.truncf %a : f32 to " + half
    module = kernels(function("compute", body, "f32") + function("store", store, half))
    module.check_with_mlir_opt()
    module.cuda()
    run = module.c()
    a, b = np.random.default_rng(3).normal(0, 3, (2, 500)).astype(np.float32)

    def rounded(x: np.ndarray) -> np.ndarray:
        if half == "f16":
            return x.astype(np.float16).astype(np.float32)
        word = x.astype(np.float32).view(np.uint32).astype(np.uint64)
        return ((word + 0x7FFF + ((word >> 16) & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)

    x, y = rounded(a), rounded(b)
    expected = rounded(rounded(rounded(x + y) * y) / x)
    out = np.zeros_like(a)
    run("compute", a, b, out)
    np.testing.assert_array_equal(out, expected)
    stored = np.zeros(len(a), np.uint16)
    run("store", a, b, stored)
    bits16 = x.astype(np.float16).view(np.uint16) if half == "f16" else (x.view(np.uint32) >> 16).astype(np.uint16)
    np.testing.assert_array_equal(stored, bits16)
