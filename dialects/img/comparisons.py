"""The predicates of comparisons, in the order of arith's numbers: one row each, with the meaning and the text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tilefuse.dialects.img.elements import Array


@dataclass(frozen=True)
class Comparison:
    """A predicate."""

    name: str
    meaning: Callable[[Array, Array], Array]
    """NumPy function of the comparison, on arrays of floats or of integers in its signedness."""
    c: str = ""
    """C's operator; empty: the printers write it with several."""
    negated: bool = False
    """Whether it is the opposite of what the operator says: "unordered or less" is "not (greater or equal)"."""
    signed: bool = False
    """Whether integers are read as signed."""


def _unordered(a: Array, b: Array) -> Array:
    return np.asarray(np.isnan(a) | np.isnan(b))


def _constant(value: bool) -> Callable[[Array, Array], Array]:
    return lambda a, b: np.full(np.broadcast_shapes(a.shape, b.shape), value)


OF_INTEGERS = (
    Comparison("eq", np.equal, "=="),
    Comparison("ne", np.not_equal, "!="),
    Comparison("slt", np.less, "<", signed=True),
    Comparison("sle", np.less_equal, "<=", signed=True),
    Comparison("sgt", np.greater, ">", signed=True),
    Comparison("sge", np.greater_equal, ">=", signed=True),
    Comparison("ult", np.less, "<"),
    Comparison("ule", np.less_equal, "<="),
    Comparison("ugt", np.greater, ">"),
    Comparison("uge", np.greater_equal, ">="),
)

OF_FLOATS = (
    Comparison("false", _constant(False)),
    Comparison("oeq", np.equal, "=="),
    Comparison("ogt", np.greater, ">"),
    Comparison("oge", np.greater_equal, ">="),
    Comparison("olt", np.less, "<"),
    Comparison("ole", np.less_equal, "<="),
    Comparison("one", lambda a, b: (a < b) | (a > b)),
    Comparison("ord", lambda a, b: ~_unordered(a, b)),
    Comparison("ueq", lambda a, b: (a == b) | _unordered(a, b)),
    Comparison("ugt", lambda a, b: ~(a <= b), "<=", negated=True),
    Comparison("uge", lambda a, b: ~(a < b), "<", negated=True),
    Comparison("ult", lambda a, b: ~(a >= b), ">=", negated=True),
    Comparison("ule", lambda a, b: ~(a > b), ">", negated=True),
    Comparison("une", np.not_equal, "!="),
    Comparison("uno", _unordered),
    Comparison("true", _constant(True)),
)
