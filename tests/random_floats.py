"""Float constants of every kind from a seed: infinities, NaN, denormals, -0, numbers beside the ends of a format.

What is right is computed in doubles and rounded once, exactly, to the format: of f16, bf16 and f32 that is the right
result of every operation here, as a double has more than twice their digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from random_numbers import WIDTH, check_same

import tilefuse as hl
from tilefuse.dialects.parsing import parse_module


@dataclass(frozen=True)
class Format:
    """A binary format: its name, its bits, its significand's bits with the hidden one, its least exponent."""

    name: str
    bits: int
    digits: int
    least: int

    def rounded(self, x: float) -> float:
        """Return `x` to nearest, ties to even; beyond the largest number infinity."""
        if self.bits == 64 or not math.isfinite(x) or x == 0:
            return x
        quantum = max(math.frexp(x)[1] - self.digits, self.least + 1 - self.digits)
        n = round(math.ldexp(x, -quantum))  # ldexp is exact: it moves a double's digits
        exceeds = abs(n).bit_length() + quantum > 1 - self.least + 1
        return math.copysign(math.inf if exceeds else math.ldexp(abs(n), quantum), x)

    def value(self, pattern: int) -> float:
        """Return the number whose bits are these."""
        if self.name == "bf16":
            return float(np.array(pattern << 16, np.uint32).view(np.float32))
        return float(np.array(pattern, f"uint{self.bits}").view(f"float{self.bits}"))


FORMATS = {f.name: f for f in (Format("f16", 16, 11, -14), Format("bf16", 16, 8, -126), Format("f32", 32, 24, -126),
                               Format("f64", 64, 53, -1022))}  # fmt: skip


def pattern(rng: Random, of: Format) -> int:
    """Return the bits of a number of a format: most are near to where something ends."""
    mantissa = of.digits - 1
    infinity = ((1 << (of.bits - 1 - mantissa)) - 1) << mantissa
    ends = [0, 1 << mantissa, infinity, infinity | 1 << (mantissa - 1)]
    draw = rng.random()
    if draw < 0.45:
        found = rng.choice(ends) + rng.choice([0, 0, 1, -1, 2])
    elif draw < 0.7:  # a power of two, or beside one
        found = (rng.randrange(1 << (of.bits - 1 - mantissa)) << mantissa) + rng.choice([0, 0, 1, -1])
    else:
        found = rng.getrandbits(of.bits - 1)
    return max(0, found) % (1 << (of.bits - 1)) | rng.choice([0, 1 << (of.bits - 1)])


_ORDINARY_AND_MIDDLES = [
    *[0.1, 1.5, -2.75, 1 / 3, 65519.999, 65520.0, 3.4028235677973366e38, 3.3961775292304601e38, 1e300],
    *[5e-324, 1e-46, 7.006492321624085e-46, 2.98023223876953125e-8],
]


def literal(rng: Random, of: Format) -> tuple[str, float]:
    """Return a constant as text, and its value."""
    bits = pattern(rng, of)
    value = of.value(bits)
    draw = rng.random()
    if draw < 0.5 or not math.isfinite(value):
        return f"0x{bits:0{of.bits // 4}X}", value
    if draw < 0.6:
        value = rng.choice(_ORDINARY_AND_MIDDLES)
    elif draw < 0.7:  # beside the middle between two numbers
        value = math.nextafter(value * (1 + 2.0**-of.digits), rng.choice([0.0, math.inf, value]))
    if not math.isfinite(value):
        return f"0x{bits:0{of.bits // 4}X}", of.value(bits)
    digits, _, exponent = f"{value:.25e}".partition("e")
    return f"{digits}e{exponent}", of.rounded(value)


def _same(found: np.ndarray, wanted: np.ndarray, *, err_msg: str) -> None:
    """Whether bits are equal, or both are NaN."""
    assert found.dtype == wanted.dtype
    nan = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), nan, err_msg)
    np.testing.assert_array_equal(found[~nan], wanted[~nan], err_msg)
    np.testing.assert_array_equal(np.signbit(found[~nan]), np.signbit(wanted[~nan]), err_msg)


def _divided(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


def _arithmetic(name: str) -> Callable[[float, float], float]:
    def computed(a: float, b: float) -> float:
        with np.errstate(all="ignore"):
            return float(getattr(np, name)(np.float64(a), np.float64(b)))

    return computed


def _number_or(pick: Callable[[float, float], float]) -> Callable[[float, float], float]:
    return lambda a, b: b if math.isnan(a) else a if math.isnan(b) else pick(a, b)


def _nan_or(pick: Callable[[float, float], float]) -> Callable[[float, float], float]:
    return lambda a, b: math.nan if math.isnan(a) or math.isnan(b) else pick(a, b)


_BINARY: dict[str, Callable[[float, float], float]] = {
    "arith.addf": _arithmetic("add"),
    "arith.subf": _arithmetic("subtract"),
    "arith.mulf": _arithmetic("multiply"),
    "arith.divf": _arithmetic("divide"),
    "arith.minnumf": _number_or(min),
    "arith.maxnumf": _number_or(max),
    "arith.minimumf": _nan_or(min),
    "arith.maximumf": _nan_or(max),
    "math.copysign": math.copysign,
}
_UNARY: dict[str, Callable[[float], float]] = {
    "arith.negf": lambda a: -a,
    "math.absf": abs,
    "math.sqrt": lambda a: math.nan if a < 0 else math.sqrt(a),
    "math.floor": lambda a: _to_whole(a, math.floor),
    "math.ceil": lambda a: _to_whole(a, math.ceil),
    "math.trunc": lambda a: _to_whole(a, math.trunc),
    "math.roundeven": lambda a: _to_whole(a, round),
    "math.round": lambda a: _to_whole(
        a, lambda x: math.trunc(x) + (abs(x - math.trunc(x)) >= 0.5) * (1 if x > 0 else -1)
    ),
}
_COMPARED: dict[str, Callable[[float, float], bool]] = {
    "oeq": lambda a, b: a == b,
    "ogt": lambda a, b: a > b,
    "oge": lambda a, b: a >= b,
    "olt": lambda a, b: a < b,
    "ole": lambda a, b: a <= b,
    "one": lambda a, b: a < b or a > b,
    "ord": lambda a, b: not (math.isnan(a) or math.isnan(b)),
    "ueq": lambda a, b: not (a < b or a > b),
    "ugt": lambda a, b: not a <= b,
    "uge": lambda a, b: not a < b,
    "ult": lambda a, b: not a >= b,
    "ule": lambda a, b: not a > b,
    "une": lambda a, b: a != b,
    "uno": lambda a, b: math.isnan(a) or math.isnan(b),
}


def _to_whole(a: float, how: Callable[[float], float], sign: float | None = None) -> float:
    sign = a if sign is None else sign
    return math.copysign(float(how(a)), sign) if math.isfinite(a) else sign


_STAGE = """
img.pipeline @floats {{
  %i = img.input "i" : !img.func<1xui{bits}>
  %r = img.stage "r" (%x) -> {result} {{
    %u = img.read %i[%x] : !img.func<1xui{bits}>
    %v = arith.bitcast %u : i{bits} to {type}
    %c = arith.constant {c} : {type}
    %d = arith.constant {d} : {type}
{lines}
    img.yield %z : {storage}
  }}
  img.return "r" = %r : !img.func<1x{result}>
}}
"""


class _Body:
    """Operations on `%v` and constants, as text and as a function of the value of `%v`."""

    def __init__(self, rng: Random, of: Format):
        self.rng, self.of = rng, of
        (self.c, c), (self.d, d) = literal(rng, of), literal(rng, of)
        self.lines: list[str] = []
        self.values: dict[str, Callable[[float], Any]] = {"%v": lambda v: v, "%c": lambda _: c, "%d": lambda _: d}

    def add(self, text: str, value: Callable[[float], Any]) -> str:
        name = f"%t{len(self.lines)}"
        self.lines.append(f"    {name} = {text}")
        self.values[name] = value
        return name

    def float_op(self, a: str, b: str) -> str:
        """Return an operation on two values, or on the first alone."""
        type, rounded, x, y = self.of.name, self.of.rounded, self.values[a], self.values[b]
        draw = self.rng.random()
        if draw < 0.2:
            unary = self.rng.choice(list(_UNARY))
            return self.add(f"{unary} {a} : {type}", lambda v: rounded(_UNARY[unary](x(v))))
        if draw < 0.4:
            word = self.rng.choice(list(_COMPARED))
            flag = self.add(f"arith.cmpf {word}, {a}, {b} : {type}", lambda v: _COMPARED[word](x(v), y(v)))
            condition = self.values[flag]
            return self.add(f"arith.select {flag}, {a}, {b} : {type}", lambda v: x(v) if condition(v) else y(v))
        binary = self.rng.choice(list(_BINARY))
        if binary == "math.copysign" and b.startswith("%t"):
            # what is computed may be NaN, whose sign is nobody's promise: only those of data and constants are known
            (a, x), (b, y) = (b, y), (a, x)
        return self.add(f"{binary} {a}, {b} : {type}", lambda v: rounded(_BINARY[binary](x(v), y(v))))

    def cast(self, a: str, to: Format) -> str:
        """Return a value in another format, if it has another width."""
        if self.of.bits == to.bits:
            return a
        word = "extf" if to.bits > self.of.bits else "truncf"
        x = self.values[a]
        name = self.add(f"arith.{word} {a} : {self.of.name} to {to.name}", lambda v: to.rounded(x(v)))
        self.of = to
        return name


def float_constant(rng: Random) -> None:
    """Return constants that a float is computed with: by operations between data and them, and between them alone."""
    source = rng.choice(list(FORMATS.values()))
    body = _Body(rng, source)
    first = rng.choice(["%v", "%v", "%c"])
    if first == "%v":
        last = body.float_op(*rng.sample(["%v", rng.choice(["%c", "%d"])], 2))
    else:
        last = body.float_op("%c", "%d")
    if first == "%c" or rng.random() < 0.3:
        last = body.float_op(*rng.sample([last, "%v"], 2))
    if rng.random() < 0.3:
        last = body.cast(last, rng.choice(list(FORMATS.values())))
    to_int = rng.random() < 0.2
    of = body.of
    if to_int:
        bits, sign = rng.choice([8, 16, 32, 64]), rng.choice("su")
        body.lines.append(f"    %z = arith.fpto{sign}i {last} : {of.name} to i{bits}")
        result = f"{sign}i{bits}"
    else:
        bits, sign = of.bits, "u"
        body.lines.append(f"    %z = arith.bitcast {last} : {of.name} to i{bits}")
        result = f"ui{bits}"
    text = _STAGE.format(bits=source.bits, result=result, type=source.name, c=body.c, d=body.d,
                         lines="\n".join(body.lines), storage=f"i{bits}")  # fmt: skip
    module = parse_module(text)
    assert parse_module(str(module)).is_structurally_equivalent(module), text
    patterns = [pattern(rng, source) for _ in range(WIDTH)]

    def model() -> np.ndarray:
        numbers = [body.values[last](source.value(p)) for p in patterns]
        if to_int:
            low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if sign == "s" else (0, (1 << bits) - 1)
            return np.array([_saturated(n, low, high) for n in numbers], f"{'u' * (sign == 'u')}int{bits}")
        return np.array(numbers, np.float64)

    def make(**options: Any) -> Callable[[], np.ndarray]:
        program = hl.compile(text, strict_float=True, **options)
        array = np.array(patterns, f"uint{source.bits}")

        def run() -> np.ndarray:
            found = program(array)
            return found if to_int else np.array([of.value(int(p)) for p in found], np.float64)

        return run

    zeros_differ = any(word in text for word in ("minnumf", "maxnumf", "minimumf", "maximumf"))
    assert not check_same(rng, make, model, text, np.testing.assert_array_equal if to_int or zeros_differ else _same)


def _saturated(n: float, low: int, high: int) -> int:
    if math.isnan(n):
        return 0
    return low if n <= low else high if n >= high else int(n)


def python_float(rng: Random) -> None:
    """Return a Python number as a float of any type: a literal in an expression, a default of a Param, an exterior."""
    of = rng.choice([f for f in FORMATS.values() if f.name != "bf16"])
    type = hl.Float(of.bits)
    value = of.value(pattern(rng, of)) if rng.random() < 0.6 else float(number_text(rng))
    x, f = hl.Var("x"), hl.Func("f")
    image = hl.ImageParam(type, 1, "image")
    how = rng.choice(["literal", "default", "exterior", "given"])
    given: dict[str, Any] = {}
    at: Any = image[x]
    if how == "literal":
        constant: Any = hl.cast(type, hl.f64(value))
    elif how == "exterior":
        constant, at = None, hl.BoundaryConditions.constant_exterior(image, hl.cast(type, hl.f64(value)))[x + 5]
    else:
        constant = hl.Param(type, "p", value) if how == "default" else hl.Param(type, "p")
        given = {} if how == "default" else {"p": value}
    f[x] = at if constant is None else hl.select(at < constant, at, constant)
    numbers = [of.value(pattern(rng, of)) for _ in range(WIDTH)]
    array = np.array(numbers, f"float{of.bits}")
    rounded = of.rounded(value)

    def model() -> np.ndarray:
        if constant is None:
            return np.array([*numbers[5:], *[rounded] * 5], array.dtype)
        return np.array([n if n < rounded else rounded for n in numbers], array.dtype)

    def make(**options: Any) -> Callable[[], np.ndarray]:
        program = hl.Pipeline(f).compile(strict_float=True, **options)
        return lambda: program(array, **given, sizes=(WIDTH,))

    where = f"{how} {value} as {of.name}"
    refused = check_same(rng, make, model, where, _same)
    assert not refused or math.isinf(rounded), where


def number_text(rng: Random) -> str:
    """Return a number of any size in decimals."""
    return f"{rng.choice(['', '-'])}{rng.randrange(1, 10**9)}e{rng.randint(-350, 320)}"
