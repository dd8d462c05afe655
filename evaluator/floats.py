"""Rules of float ops. A rule is (op, *operands) -> array; the result is rounded once to the op's type.

The ops that IEEE 754 defines are computed in the type itself. The other functions of floats of up to
32 bits are computed in float64, so that one rounding is all that is wrong with them.
"""

from __future__ import annotations

import math as libm
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.ir import Operation

from tilefuse.evaluator.carriers import odd_rounded_sum, signed

Array = np.ndarray
Rule = Callable[..., Any]


def _own(function: Callable[..., Array]) -> Rule:
    """Computed in the operands' own type."""
    return lambda op, *operands: function(*operands)


def _wide(function: Callable[..., Array]) -> Rule:
    """Computed in float64."""
    return lambda op, *operands: function(*(a.astype(np.float64) for a in operands))


def _number_or(function: Callable[..., Array]) -> Callable[..., Array]:
    """The number if one of two is NaN; of a signalling one NumPy's own fmin and fmax make a NaN."""
    return lambda a, b: np.where(np.isnan(a), b, np.where(np.isnan(b), a, function(a, b)))


def _round_away(a: Array) -> Array:
    whole = np.trunc(a)
    half = np.abs(a - whole) >= a.dtype.type(0.5)
    return np.asarray(np.where(half, whole + np.copysign(a.dtype.type(1), a), whole))


def _per_element(function: Callable[..., float]) -> Callable[..., Array]:
    """A Python function on every element, for what NumPy lacks."""
    ufunc = np.frompyfunc(function, function.__code__.co_argcount if hasattr(function, "__code__") else 1, 1)
    return lambda *operands: np.asarray(ufunc(*operands), dtype=np.float64)


def _exact_fma(a: float, b: float, c: float) -> float:
    """a * b + c, rounded once."""
    if not (libm.isfinite(a) and libm.isfinite(b) and libm.isfinite(c)):
        # Nothing to round with an infinity or NaN, but a finite product must not overflow into one.
        return a * b + c if not (libm.isfinite(a) and libm.isfinite(b)) else c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c if a == 0 or b == 0 else 0.0
    try:
        return float(exact)
    except OverflowError:
        return libm.inf if exact > 0 else -libm.inf


_fma_f64 = _per_element(_exact_fma)


def _fma(op: Operation, a: Array, b: Array, c: Array) -> Array:
    if a.dtype == np.float64:
        return _fma_f64(a, b, c)
    # A product of two floats is exact in float64; the sum, rounded to odd, may be rounded again.
    a, b, c = (v.astype(np.float64) for v in (a, b, c))
    return odd_rounded_sum(np.asarray(a * b), c)


def _unordered(a: Array, b: Array) -> Array:
    return np.asarray(np.isnan(a) | np.isnan(b))


_PREDICATES: tuple[Callable[[Array, Array], Array], ...] = (
    lambda a, b: np.zeros(np.broadcast_shapes(a.shape, b.shape), np.bool_),
    np.equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    lambda a, b: (a < b) | (a > b),
    lambda a, b: ~_unordered(a, b),
    lambda a, b: (a == b) | _unordered(a, b),
    lambda a, b: ~(a <= b),
    lambda a, b: ~(a < b),
    lambda a, b: ~(a >= b),
    lambda a, b: ~(a > b),
    np.not_equal,
    _unordered,
    lambda a, b: np.ones(np.broadcast_shapes(a.shape, b.shape), np.bool_),
)
"""false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true: arith's predicate numbers."""


def _compare(op: arith.CmpfOp, a: Array, b: Array) -> Array:
    return _PREDICATES[op.predicate.value.data](np.asarray(a), np.asarray(b))


FLOAT_RULES: dict[type[Operation], Rule] = {
    arith.AddfOp: _own(np.add),
    arith.SubfOp: _own(np.subtract),
    arith.MulfOp: _own(np.multiply),
    arith.DivfOp: _own(np.divide),
    arith.NegfOp: _own(np.negative),
    arith.MinnumfOp: _own(_number_or(np.minimum)),
    arith.MaxnumfOp: _own(_number_or(np.maximum)),
    arith.MinimumfOp: _own(np.minimum),
    arith.MaximumfOp: _own(np.maximum),
    arith.CmpfOp: _compare,
    math.AbsFOp: _own(np.abs),
    math.CeilOp: _own(np.ceil),
    math.CopySignOp: _own(np.copysign),
    math.FloorOp: _own(np.floor),
    math.FmaOp: _fma,
    math.RoundEvenOp: _own(np.rint),
    math.RoundOp: _own(_round_away),
    math.SqrtOp: _own(np.sqrt),
    math.TruncOp: _own(np.trunc),
    math.AcosOp: _wide(np.arccos),
    math.AcoshOp: _wide(np.arccosh),
    math.AsinOp: _wide(np.arcsin),
    math.AsinhOp: _wide(np.arcsinh),
    math.Atan2Op: _wide(np.arctan2),
    math.AtanOp: _wide(np.arctan),
    math.AtanhOp: _wide(np.arctanh),
    math.CbrtOp: _wide(np.cbrt),
    math.CosOp: _wide(np.cos),
    math.CoshOp: _wide(np.cosh),
    math.ErfOp: _wide(_per_element(libm.erf)),
    math.Exp2Op: _wide(np.exp2),
    math.ExpM1Op: _wide(np.expm1),
    math.ExpOp: _wide(np.exp),
    math.FPowIOp: lambda op, a, n: np.power(a.astype(np.float64), signed(n).astype(np.float64)),
    math.Log10Op: _wide(np.log10),
    math.Log1pOp: _wide(np.log1p),
    math.Log2Op: _wide(np.log2),
    math.LogOp: _wide(np.log),
    math.PowFOp: _wide(np.power),
    math.RsqrtOp: _wide(lambda a: 1.0 / np.sqrt(a)),
    math.SinOp: _wide(np.sin),
    math.SinhOp: _wide(np.sinh),
    math.TanOp: _wide(np.tan),
    math.TanhOp: _wide(np.tanh),
}
