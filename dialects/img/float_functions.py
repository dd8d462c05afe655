"""The table of functions of floats: one row each, with the meaning, the text and the cost that the rest reads.

A function that C's library has is a row here, and nothing else. One that the printers write in a way of its own has a
row in `lowering/printers/floats.py`, too.
"""

from __future__ import annotations

import math as libm
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import math
from xdsl.ir import Operation

Array = np.ndarray


@dataclass(frozen=True)
class FloatFunction:
    """A function of floats that is an operation of the `math` dialect."""

    op: type[Operation]
    meaning: Callable[..., Array]
    """On arrays: of the op's own type if it is `exact`, else of float64, of which the result is rounded once."""
    c: str
    """C's function of doubles; that of floats has an f behind it. Empty: the printers have a row for it."""
    instructions: float
    """Instructions of a thread, about: docs/cost-model.md."""
    name: str = ""
    """As the frontend calls it; empty if it does not."""
    exact: bool = False
    """Whether a value of the type comes out without rounding."""


def _per_element(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A Python function on every element, for what NumPy lacks."""
    ufunc = np.frompyfunc(function, 1, 1)
    return lambda a: np.asarray(ufunc(a), dtype=np.float64)


def _round_away(a: Array) -> Array:
    whole = np.trunc(a)
    half = np.abs(a - whole) >= a.dtype.type(0.5)
    return np.asarray(np.where(half, whole + np.copysign(a.dtype.type(1), a), whole))


FLOAT_FUNCTIONS = (
    FloatFunction(math.AbsFOp, np.abs, "fabs", 1, exact=True),
    FloatFunction(math.CeilOp, np.ceil, "ceil", 1, "ceil", exact=True),
    FloatFunction(math.CopySignOp, np.copysign, "copysign", 10, exact=True),
    FloatFunction(math.FloorOp, np.floor, "floor", 1, "floor", exact=True),
    FloatFunction(math.RoundEvenOp, np.rint, "rint", 1, "round", exact=True),
    FloatFunction(math.RoundOp, _round_away, "round", 10, exact=True),
    FloatFunction(math.TruncOp, np.trunc, "trunc", 1, "trunc", exact=True),
    FloatFunction(math.SqrtOp, np.sqrt, "", 7, "sqrt"),
    FloatFunction(math.RsqrtOp, lambda a: 1.0 / np.sqrt(a), "", 6, "rsqrt"),
    FloatFunction(math.AcosOp, np.arccos, "acos", 10, "acos"),
    FloatFunction(math.AcoshOp, np.arccosh, "acosh", 10, "acosh"),
    FloatFunction(math.AsinOp, np.arcsin, "asin", 10, "asin"),
    FloatFunction(math.AsinhOp, np.arcsinh, "asinh", 10, "asinh"),
    FloatFunction(math.Atan2Op, np.arctan2, "atan2", 40, "atan2"),
    FloatFunction(math.AtanOp, np.arctan, "atan", 25, "atan"),
    FloatFunction(math.AtanhOp, np.arctanh, "atanh", 10, "atanh"),
    FloatFunction(math.CbrtOp, np.cbrt, "cbrt", 10),
    FloatFunction(math.CosOp, np.cos, "cos", 30, "cos"),
    FloatFunction(math.CoshOp, np.cosh, "cosh", 10, "cosh"),
    FloatFunction(math.ErfOp, _per_element(libm.erf), "erf", 10, "erf"),
    FloatFunction(math.Exp2Op, np.exp2, "exp2", 6),
    FloatFunction(math.ExpM1Op, np.expm1, "expm1", 10),
    FloatFunction(math.ExpOp, np.exp, "exp", 10, "exp"),
    FloatFunction(math.Log10Op, np.log10, "log10", 10),
    FloatFunction(math.Log1pOp, np.log1p, "log1p", 10),
    FloatFunction(math.Log2Op, np.log2, "log2", 10),
    FloatFunction(math.LogOp, np.log, "log", 20, "log"),
    FloatFunction(math.PowFOp, np.power, "pow", 60, "pow"),
    FloatFunction(math.SinOp, np.sin, "sin", 30, "sin"),
    FloatFunction(math.SinhOp, np.sinh, "sinh", 10, "sinh"),
    FloatFunction(math.TanOp, np.tan, "tan", 10, "tan"),
    FloatFunction(math.TanhOp, np.tanh, "tanh", 20, "tanh"),
)
