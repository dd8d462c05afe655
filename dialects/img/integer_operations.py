"""The table of operations on integers, indices and i1: one row each, with the meaning, the text and the cost.

An operation whose C text is an operator, or a helper function of one expression, is a row here, and nothing else. One
that the printers write in a way of its own has a row in `lowering/printers/integers.py`, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.ir import Operation

from tilefuse.dialects.img import integer_meanings as meanings
from tilefuse.dialects.img import integer_ranges as ranges
from tilefuse.dialects.img.ops import DivOp, ModOp

IntRange = tuple[int, int]


class Reading(Enum):
    """Ways to read signless integers."""

    SIGNED = auto()
    UNSIGNED = auto()
    OF_OP = auto()
    """Signedness by the attribute `signed` of the operation."""


S, U, OF_OP = Reading.SIGNED, Reading.UNSIGNED, Reading.OF_OP


@dataclass(frozen=True)
class IntegerOperation:
    """An operation that takes or gives integers."""

    op: type[Operation]
    reading: Reading
    """Reading of integer operands; of one that gives integers of floats, of its result."""
    meaning: Callable[..., Any]
    """NumPy function from arrays in this reading to an array, or to a tuple of arrays for several results. Results may
    have any integer dtype: they are taken modulo 2^width afterwards. By 0 NumPy divides to 0."""
    c: str = ""
    """C's operator, or the name that helper functions begin with. Empty: the printers have a row for it."""
    instructions: float | None = None
    """Instructions of a thread, about (docs/cost-model.md). None: 1, and half of one where the result is an index."""
    body: str = ""
    """C expression of a helper's parameters a and b; T is their type, U the unsigned one that C computes it in."""
    interval: Callable[..., IntRange] | None = None
    """Function from width and intervals of the operands to the interval of the result; None: all of its type."""
    takes_width: bool = False
    """Whether the meaning's first argument is the width of the result in bits."""
    name: str = ""
    """Name in the front end's expressions, of one row, or of a row for signed operands and one for unsigned ones."""
    span: Callable[..., ranges.SizeRange | None] | None = None
    """Function from the width of the operands (None: an index) and their signed ranges (unsigned ones for an unsigned
    `OF_OP` operation) to the range of the exact result (`integer_ranges.py`); None, or no function: all of its type."""
    by_constant: float | None = None
    """Instructions where the second operand is a constant: such a division is a multiplication and a shift."""


def _interval_of_min(width: int, a: IntRange, b: IntRange) -> IntRange:
    return min(a[0], b[0]), min(a[1], b[1])


def _interval_of_max(width: int, a: IntRange, b: IntRange) -> IntRange:
    return max(a[0], b[0]), max(a[1], b[1])


def _interval_of_abs(width: int, a: IntRange) -> IntRange:
    least = -(2 ** (width - 1))
    # |least| wraps around to itself
    return (0 if a[0] > least else least, max(-a[0] if a[0] > least else 0, a[1]))


_FLOOR = "a / b - ((a % b != 0) & ((a < 0) != (b < 0)))"
_ABS = "a < 0 ? (T)(0 - (U)a) : a"
_CEIL = "a / b + ((a % b != 0) & ((a < 0) == (b < 0)))"


def _extreme(op: type[Operation], reading: Reading, name: str) -> IntegerOperation:
    is_min = name == "min"
    return IntegerOperation(
        op, reading, np.minimum if is_min else np.maximum, name, body=f"a {'<' if is_min else '>'} b ? a : b",
        interval=_interval_of_min if is_min else _interval_of_max, name=name,
        span=ranges.SPANS_OF_EXTREMA[reading is S, name],
    )  # fmt: skip


def _count(op: type[Operation], meaning: Callable[..., Any], instructions: float, name: str) -> IntegerOperation:
    return IntegerOperation(op, U, meaning, "", instructions, takes_width=True, name=name, span=ranges.span_of_count)


INTEGER_OPERATIONS = (
    IntegerOperation(arith.AddiOp, U, np.add, "+", name="add", span=ranges.span_of_sum),
    IntegerOperation(arith.SubiOp, U, np.subtract, "-", name="sub", span=ranges.span_of_difference),
    IntegerOperation(arith.MuliOp, U, np.multiply, "*", name="mul", span=ranges.span_of_product),
    IntegerOperation(arith.AddUIExtendedOp, U, meanings.extended_sum, takes_width=True),
    IntegerOperation(arith.MulUIExtendedOp, U, meanings.extended_product, takes_width=True),
    IntegerOperation(arith.MulSIExtendedOp, S, meanings.extended_product_signed, takes_width=True),
    IntegerOperation(arith.DivUIOp, U, np.floor_divide, "/", 6, by_constant=2, span=ranges.span_of_unsigned_quotient),
    IntegerOperation(
        arith.DivSIOp, S, meanings.truncated, "/", 20, by_constant=3, span=ranges.span_of_truncated_quotient
    ),
    IntegerOperation(
        arith.FloorDivSIOp, S, np.floor_divide, "floordiv", 8, _FLOOR, by_constant=3, span=ranges.span_of_floor_quotient
    ),
    IntegerOperation(arith.CeilDivSIOp, S, meanings.ceiled, "ceildiv", body=_CEIL),
    IntegerOperation(arith.CeilDivUIOp, U, meanings.ceiled, "ceildiv", body="a / b + (a % b != 0)"),
    IntegerOperation(arith.RemUIOp, U, np.remainder, "%", 8, by_constant=3, span=ranges.span_of_floor_remainder),
    IntegerOperation(arith.RemSIOp, S, np.fmod, "%", 20, by_constant=4, span=ranges.span_of_truncated_remainder),
    # expand-division writes these with others
    IntegerOperation(
        DivOp,
        OF_OP,
        meanings.euclidean_quotient,
        instructions=22,
        name="div",
        by_constant=3,
        span=ranges.span_of_floor_quotient,
    ),
    IntegerOperation(
        ModOp,
        OF_OP,
        meanings.euclidean_remainder,
        instructions=22,
        name="mod",
        by_constant=4,
        span=ranges.span_of_floor_remainder,
    ),
    _extreme(arith.MinSIOp, S, "min"),
    _extreme(arith.MaxSIOp, S, "max"),
    _extreme(arith.MinUIOp, U, "min"),
    _extreme(arith.MaxUIOp, U, "max"),
    IntegerOperation(arith.AndIOp, U, np.bitwise_and, "&", name="and", span=ranges.span_of_and),
    IntegerOperation(arith.OrIOp, U, np.bitwise_or, "|", name="or"),
    IntegerOperation(arith.XOrIOp, U, np.bitwise_xor, "^", name="xor"),
    IntegerOperation(
        arith.ShLIOp, U, meanings.shift_left, "<<", takes_width=True, name="shl", span=ranges.span_of_left_shift
    ),
    IntegerOperation(
        arith.ShRUIOp,
        U,
        meanings.shift_right,
        ">>",
        takes_width=True,
        name="shr",
        span=ranges.span_of_unsigned_right_shift,
    ),
    IntegerOperation(
        arith.ShRSIOp,
        S,
        meanings.shift_right_signed,
        ">>",
        takes_width=True,
        name="shr",
        span=ranges.span_of_right_shift,
    ),
    IntegerOperation(
        math.AbsIOp, S, np.abs, "abs", 1, _ABS, interval=_interval_of_abs, name="abs", span=ranges.span_of_abs
    ),
    _count(math.CtPopOp, meanings.ones, 4, "popcount"),
    _count(math.CountLeadingZerosOp, meanings.leading_zeros, 4, "count_leading_zeros"),
    _count(math.CountTrailingZerosOp, meanings.trailing_zeros, 5, "count_trailing_zeros"),
    IntegerOperation(math.IPowIOp, S, meanings.integer_power, instructions=10),
    # conversions: their meaning is how they read; rounding, and taking modulo 2^width, is the same for all operations
    IntegerOperation(arith.ExtSIOp, S, meanings.itself, instructions=0.5, span=ranges.span_unchanged),
    IntegerOperation(arith.ExtUIOp, U, meanings.itself, instructions=0.5, span=ranges.as_unsigned),
    IntegerOperation(arith.TruncIOp, U, meanings.itself, instructions=0.5, span=ranges.span_unchanged),
    IntegerOperation(arith.IndexCastOp, S, meanings.itself, instructions=0, span=ranges.span_unchanged),
    IntegerOperation(arith.SIToFPOp, S, meanings.itself, instructions=2),
    IntegerOperation(arith.UIToFPOp, U, meanings.itself, instructions=2),
    IntegerOperation(arith.FPToSIOp, S, meanings.saturated_signed, instructions=2, takes_width=True),
    IntegerOperation(arith.FPToUIOp, U, meanings.saturated_unsigned, instructions=2, takes_width=True),
)
