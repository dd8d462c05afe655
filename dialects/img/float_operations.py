"""The table of operations on floats: one row each, with the meaning, the text and the cost that the rest reads.

An operator of C, or a function that C's library has, is a row here, and nothing else. One that the printers write in a
way of its own has a row in `lowering/printers/floats.py`, too.
"""

from __future__ import annotations

import math as libm
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith, math
from xdsl.ir import Operation

from tilefuse.dialects.img import float_ranges as ranges
from tilefuse.dialects.img.elements import Array


@dataclass(frozen=True)
class FloatOperation:
    """An operation on floats, of `arith` or `math`."""

    op: type[Operation]
    meaning: Callable[..., Array]
    """NumPy function: of arrays of the op's type if it is `exact`, else of float64, and rounded once."""
    c: str
    """C's operator, or its function of doubles; that of floats has an f behind it. Empty: the printers have a row."""
    instructions: float
    """Instructions of a thread, about: docs/cost-model.md. (Sums, and the products that feed them, may fuse.)"""
    name: str = ""
    """Name in the front end; empty if it has none."""
    exact: bool = False
    """Whether it is computed in the type itself: by a function of C's library without rounding."""
    span: Callable[..., ranges.FloatSpan | ranges.ExactSpan | None] | None = None
    """Function from the operands' ranges to the result's range (`float_ranges.py`); None, or no function: any."""


def _per_element(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """Apply a Python function to every element, where NumPy lacks one."""
    ufunc = np.frompyfunc(function, 1, 1)
    return lambda a: np.asarray(ufunc(a), dtype=np.float64)


def _round_away(a: Array) -> Array:
    truncated = np.trunc(a)
    half = np.abs(a - truncated) >= a.dtype.type(0.5)
    return np.asarray(np.where(half, truncated + np.copysign(a.dtype.type(1), a), truncated))


def _number_or(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return the other number if one of two is NaN; NumPy's own fmin and fmax turn a signalling NaN into a NaN."""
    return lambda a, b: np.where(np.isnan(a), b, np.where(np.isnan(b), a, function(a, b)))


FLOAT_OPERATIONS = (
    FloatOperation(arith.AddfOp, np.add, "+", 1, exact=True, span=ranges.float_span_of_sum),
    FloatOperation(arith.SubfOp, np.subtract, "-", 1, exact=True, span=ranges.float_span_of_difference),
    FloatOperation(arith.MulfOp, np.multiply, "*", 1, exact=True, span=ranges.float_span_of_product),
    FloatOperation(arith.DivfOp, np.divide, "/", 9, exact=True, span=ranges.float_span_of_quotient),
    FloatOperation(arith.NegfOp, np.negative, "", 1, exact=True, span=ranges.float_span_of_negation),
    FloatOperation(arith.MinnumfOp, _number_or(np.minimum), "", 1, exact=True, span=ranges.float_span_of_number_min),
    FloatOperation(arith.MaxnumfOp, _number_or(np.maximum), "", 1, exact=True, span=ranges.float_span_of_number_max),
    FloatOperation(arith.MinimumfOp, np.minimum, "", 1, exact=True, span=ranges.float_span_of_min),
    FloatOperation(arith.MaximumfOp, np.maximum, "", 1, exact=True, span=ranges.float_span_of_max),
    FloatOperation(math.AbsFOp, np.abs, "fabs", 1, exact=True, span=ranges.float_span_of_abs),
    FloatOperation(math.CeilOp, np.ceil, "ceil", 1, "ceil", exact=True, span=ranges.float_span_of_rounding(libm.ceil)),
    FloatOperation(math.CopySignOp, np.copysign, "copysign", 10, exact=True),
    FloatOperation(
        math.FloorOp, np.floor, "floor", 1, "floor", exact=True, span=ranges.float_span_of_rounding(libm.floor)
    ),
    FloatOperation(
        math.RoundEvenOp, np.rint, "rint", 1, "round", exact=True, span=ranges.float_span_of_rounding(round)
    ),
    FloatOperation(math.RoundOp, _round_away, "round", 10, exact=True),
    FloatOperation(
        math.TruncOp, np.trunc, "trunc", 1, "trunc", exact=True, span=ranges.float_span_of_rounding(libm.trunc)
    ),
    FloatOperation(math.SqrtOp, np.sqrt, "", 7, "sqrt"),
    FloatOperation(math.RsqrtOp, lambda a: 1.0 / np.sqrt(a), "", 6, "rsqrt"),
    FloatOperation(math.AcosOp, np.arccos, "acos", 10, "acos"),
    FloatOperation(math.AcoshOp, np.arccosh, "acosh", 10, "acosh"),
    FloatOperation(math.AsinOp, np.arcsin, "asin", 10, "asin"),
    FloatOperation(math.AsinhOp, np.arcsinh, "asinh", 10, "asinh"),
    FloatOperation(math.Atan2Op, np.arctan2, "atan2", 40, "atan2"),
    FloatOperation(math.AtanOp, np.arctan, "atan", 25, "atan"),
    FloatOperation(math.AtanhOp, np.arctanh, "atanh", 10, "atanh"),
    FloatOperation(math.CbrtOp, np.cbrt, "cbrt", 10),
    FloatOperation(math.CosOp, np.cos, "cos", 30, "cos"),
    FloatOperation(math.CoshOp, np.cosh, "cosh", 10, "cosh"),
    FloatOperation(math.ErfOp, _per_element(libm.erf), "erf", 10, "erf"),
    FloatOperation(math.Exp2Op, np.exp2, "exp2", 6),
    FloatOperation(math.ExpM1Op, np.expm1, "expm1", 10),
    FloatOperation(math.ExpOp, np.exp, "exp", 10, "exp"),
    FloatOperation(math.Log10Op, np.log10, "log10", 10),
    FloatOperation(math.Log1pOp, np.log1p, "log1p", 10),
    FloatOperation(math.Log2Op, np.log2, "log2", 10),
    FloatOperation(math.LogOp, np.log, "log", 20, "log"),
    FloatOperation(math.PowFOp, np.power, "pow", 60, "pow"),
    FloatOperation(math.SinOp, np.sin, "sin", 30, "sin"),
    FloatOperation(math.SinhOp, np.sinh, "sinh", 10, "sinh"),
    FloatOperation(math.TanOp, np.tan, "tan", 10, "tan"),
    FloatOperation(math.TanhOp, np.tanh, "tanh", 20, "tanh"),
)
