"""Rules of float ops. A rule is (op, *operands) -> array; the result is rounded once to the op's type.

The ops that IEEE 754 defines are computed in the type itself. The other functions of floats of up to
32 bits are computed in float64, so that one rounding is all that is wrong with them.
"""

from __future__ import annotations

import math as libm
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from xdsl.dialects import arith, math
from xdsl.ir import Operation

from tilefuse.dialects.img.comparisons import OF_FLOATS
from tilefuse.dialects.img.elements import Array
from tilefuse.dialects.img.float_operations import FLOAT_OPERATIONS
from tilefuse.evaluator.carriers import Rule, carried_signed, odd_rounded_sum


def _own(function: Callable[..., Array]) -> Rule:
    """Compute in the type of the operands."""
    return lambda op, *operands: function(*operands)


def _wide(function: Callable[..., Array]) -> Rule:
    """Compute in float64."""
    return lambda op, *operands: function(*(a.astype(np.float64) for a in operands))


def _exact_fma(a: float, b: float, c: float) -> float:
    """Compute a * b + c, rounded once."""
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


_fma_ufunc = np.frompyfunc(_exact_fma, 3, 1)


def _fma(op: Operation, a: Array, b: Array, c: Array) -> Array:
    if a.dtype == np.float64:
        return np.asarray(_fma_ufunc(a, b, c), dtype=np.float64)
    # A product of two floats is exact in float64; the sum, rounded to odd, may be rounded again.
    a, b, c = (v.astype(np.float64) for v in (a, b, c))
    return odd_rounded_sum(np.asarray(a * b), c)


def _compare(op: arith.CmpfOp, a: Array, b: Array) -> Array:
    return OF_FLOATS[op.predicate.value.data].meaning(np.asarray(a), np.asarray(b))


FLOAT_RULES: dict[type[Operation], Rule] = {
    arith.CmpfOp: _compare,
    **{row.op: (_own if row.exact else _wide)(row.meaning) for row in FLOAT_OPERATIONS},
    math.FmaOp: _fma,
    math.FPowIOp: lambda op, a, n: np.power(a.astype(np.float64), carried_signed(n).astype(np.float64)),
}
