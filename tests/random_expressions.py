"""Random bodies of stages, with a proven bound on the rounding error of every value.

A `Number` carries the range of its value and how far two right implementations of default floats (FMA
contraction allowed) can each be from the exact result. What would amplify that without bound is not made:
no comparison and no conversion to integer of a float that may have an error, no square root near 0, and
nothing that makes a range much smaller but leaves the error (clamps, roots) before the value is scaled down.
"""

from __future__ import annotations

import math as pymath
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType, Signedness
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilefuse.dialects.img.ops import DivOp, ModOp
from tilefuse.dialects.img.types import f32, i1, si32, storage_type

HALF_ULP = 2.0**-24
"""Relative error of one rounding to f32."""

LARGEST = 256.0
"""Floats that leave a stage are scaled by a power of two to at most this."""

EXACT_INTEGERS = 2.0**24
"""Whole numbers of at most this magnitude are exact in f32."""


@dataclass(frozen=True)
class Number:
    """A value in a stage: its type with signedness, its range, and its error bound."""

    value: SSAValue
    element: Attribute
    low: float
    high: float
    error: float = 0.0
    whole: bool = True

    @property
    def size(self) -> float:
        """The largest magnitude."""
        return max(abs(self.low), abs(self.high))

    @property
    def is_float(self) -> bool:
        """Whether it is an f32."""
        return self.element == f32


def is_signed(element: Attribute) -> bool:
    """Whether an integer element is signed."""
    return isinstance(element, IntegerType) and element.signedness.data == Signedness.SIGNED


def range_of(element: Attribute) -> tuple[int, int]:
    """Least and largest value of an integer element."""
    assert isinstance(element, IntegerType)
    width = element.width.data
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if is_signed(element) else (0, (1 << width) - 1)


class Expressions:
    """Appends random arithmetic to a block."""

    def __init__(self, rng: Random, block: Block):
        self.rng = rng
        self.block = block

    def emit(self, op: Operation) -> SSAValue:
        """Append an op; gives its result."""
        self.block.add_op(op)
        return op.results[0]

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.rng.random() < probability

    # --- leaves

    def constant(self, element: Attribute, number: float) -> Number:
        """Return a constant; an integer one is wrapped to its type."""
        if element == f32:
            value = self.emit(arith.ConstantOp(FloatAttr(number, f32)))
            return Number(value, f32, number, number, whole=float(number).is_integer())
        assert isinstance(element, IntegerType)
        low, high = range_of(element)
        wrapped = (int(number) - low) % (high - low + 1) + low
        width = element.width.data
        signless = wrapped - (1 << width) if wrapped >= 1 << (width - 1) else wrapped
        return Number(
            self.emit(arith.ConstantOp(IntegerAttr(signless, storage_type(element)))),
            element,
            wrapped,
            wrapped,
        )

    def random_constant(self, element: Attribute) -> Number:
        """Return a small constant, sometimes one of the corners of its type."""
        if element == f32:
            return self.constant(f32, self.rng.choice([1.0, 2.0, 0.5, -1.0, 3.0, 0.25, -0.375, 0.1015625, 7.0]))
        low, high = range_of(element)
        if self.chance(0.1):
            return self.constant(element, self.rng.choice([low, high]))
        return self.constant(element, self.rng.choice([1, 2, 3, 5, 7, 0, 16, 100, -1 if low else 9]))

    def coordinate(self, index: SSAValue) -> Number:
        """Return a coordinate as a 32-bit integer."""
        cast = self.emit(arith.IndexCastOp(index, storage_type(si32)))
        return Number(cast, si32, *range_of(si32))

    # --- conversions

    def convert(self, number: Number, element: Attribute) -> Number:
        """Return `number` as `element`. A float with an error can only stay a float."""
        if number.element == element:
            return number
        if element == f32:
            return self._to_float(number)
        if number.is_float:
            assert number.error == 0.0
            return self._to_integer(number, element)
        return self._resized(number, element)

    def _to_float(self, number: Number) -> Number:
        if number.size > EXACT_INTEGERS:
            mask = self.constant(number.element, 1023)
            number = replace(number, value=self.emit(arith.AndIOp(number.value, mask.value)), low=0, high=1023)
        kind = arith.SIToFPOp if is_signed(number.element) else arith.UIToFPOp
        return replace(number, value=self.emit(kind(number.value, f32)), element=f32)

    def _to_integer(self, number: Number, element: Attribute) -> Number:
        low, high = range_of(element)
        if element == i1:
            zero = self.constant(f32, 0.0)
            return Number(self.emit(arith.CmpfOp(number.value, zero.value, "ogt")), i1, 0, 1)
        if number.low <= low or number.high >= high:
            # The largest f32 below 2**31 stands for what the type cannot hold.
            ends = [self.constant(f32, max(low, -(2.0**24))), self.constant(f32, min(high, 2.0**24))]
            value = self.emit(arith.MaximumfOp(number.value, ends[0].value))
            number = replace(
                number,
                value=self.emit(arith.MinimumfOp(value, ends[1].value)),
                low=max(number.low, ends[0].low),
                high=min(number.high, ends[1].high),
            )
        kind = arith.FPToSIOp if is_signed(element) else arith.FPToUIOp
        value = self.emit(kind(number.value, storage_type(element)))
        return Number(value, element, *range_of(element))

    def _resized(self, number: Number, element: Attribute) -> Number:
        assert isinstance(number.element, IntegerType)
        assert isinstance(element, IntegerType)
        if element == i1:
            zero = self.constant(number.element, 0)
            return Number(self.emit(arith.CmpiOp(number.value, zero.value, "ne")), i1, 0, 1)
        target = storage_type(element)
        value = number.value
        if number.element.width.data < element.width.data:
            kind = arith.ExtSIOp if is_signed(number.element) else arith.ExtUIOp
            value = self.emit(kind(value, target))
        elif number.element.width.data > element.width.data:
            if self.chance(0.5):
                value = self._saturated(number, element)
            value = self.emit(arith.TruncIOp(value, target))
        low, high = range_of(element)
        fits = low <= number.low and number.high <= high
        return Number(value, element, *((number.low, number.high) if fits else (low, high)))

    def _saturated(self, number: Number, element: Attribute) -> SSAValue:
        low, high = range_of(element)
        value = number.value
        if is_signed(number.element):
            value = self.emit(arith.MaxSIOp(value, self.constant(number.element, low).value))
            return self.emit(arith.MinSIOp(value, self.constant(number.element, high).value))
        return self.emit(arith.MinUIOp(value, self.constant(number.element, high).value))

    # --- conditions

    def condition(self, a: Number, b: Number) -> SSAValue | None:
        """Return an i1 from two values of one type; None if they are floats with errors."""
        if a.element == i1:
            return self.emit(arith.XOrIOp(a.value, b.value))
        if a.is_float:
            if a.error or b.error:
                return None
            return self.emit(arith.CmpfOp(a.value, b.value, self.rng.choice(["olt", "oge", "oeq", "une", "ogt"])))
        order = ["slt", "sge", "sgt"] if is_signed(a.element) else ["ult", "uge", "ule"]
        return self.emit(arith.CmpiOp(a.value, b.value, self.rng.choice([*order, "eq", "ne"])))

    def parity(self, index: SSAValue) -> SSAValue:
        """Whether a coordinate is a multiple of a small number."""
        at = self.coordinate(index)
        modulus = self.constant(si32, self.rng.choice([2, 3]))
        rest = self.emit(ModOp(at.value, modulus.value, True))
        return self.emit(arith.CmpiOp(rest, self.constant(si32, 0).value, "eq"))

    def select(self, condition: SSAValue, a: Number, b: Number) -> Number:
        """Return `a` where the condition holds, else `b`."""
        value = self.emit(arith.SelectOp(condition, a.value, b.value))
        return Number(
            value,
            a.element,
            min(a.low, b.low),
            max(a.high, b.high),
            max(a.error, b.error),
            a.whole and b.whole,
        )

    # --- operations

    def combine(self, a: Number, b: Number) -> Number:
        """Return a random binary operation of two numbers of one type."""
        if a.element == i1:
            kind = self.rng.choice([arith.AndIOp, arith.OrIOp, arith.XOrIOp])
            return Number(self.emit(kind(a.value, b.value)), i1, 0, 1)
        return self._combine_floats(a, b) if a.is_float else self._combine_integers(a, b)

    def _combine_integers(self, a: Number, b: Number) -> Number:
        signed = is_signed(a.element)
        choices: list[type[Operation]] = [arith.AddiOp, arith.SubiOp, arith.MuliOp]
        choices += [arith.MinSIOp, arith.MaxSIOp] if signed else [arith.MinUIOp, arith.MaxUIOp]
        choices += [arith.AndIOp, arith.OrIOp, arith.XOrIOp, DivOp, ModOp]
        # By counts of any size.
        choices += [arith.ShLIOp, arith.ShRSIOp if signed else arith.ShRUIOp]
        weights = [6, 4, 2, 2, 2, 1, 1, 1, 1, 1, 0.5, 0.5]
        kind = self.rng.choices(choices, weights)[0]
        arguments = (signed,) if kind in (DivOp, ModOp) else ()
        return self._integer(kind(a.value, b.value, *arguments), a.element)

    def _integer(self, op: Operation, element: Attribute) -> Number:
        return Number(self.emit(op), element, *range_of(element))

    def _combine_floats(self, a: Number, b: Number) -> Number:
        kinds: list[type[Operation]] = [
            arith.AddfOp,
            arith.SubfOp,
            arith.MulfOp,
            arith.MinimumfOp,
            arith.MaxnumfOp,
        ]
        kind = self.rng.choices(kinds, [5, 4, 3, 1, 1])[0]
        if kind is arith.MulfOp and a.size * b.size > 2.0**20:
            kind = arith.AddfOp
        if kind in (arith.MinimumfOp, arith.MaxnumfOp) and (a.error or b.error):
            if 4 * max(map(abs, self._picked(kind, a, b))) < max(a.size, b.size):
                kind = arith.SubfOp
        value = self.emit(kind(a.value, b.value))
        whole = a.whole and b.whole
        if kind is arith.AddfOp:
            return self._rounded(value, a.low + b.low, a.high + b.high, a.error + b.error, whole)
        if kind is arith.SubfOp:
            return self._rounded(value, a.low - b.high, a.high - b.low, a.error + b.error, whole)
        if kind is arith.MulfOp:
            ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            error = a.size * b.error + b.size * a.error + a.error * b.error
            return self._rounded(value, min(ends), max(ends), error, whole)
        return Number(value, f32, *self._picked(kind, a, b), max(a.error, b.error), whole)

    @staticmethod
    def _picked(kind: type[Operation], a: Number, b: Number) -> tuple[float, float]:
        """Return the range of a min or max."""
        pick = min if kind is arith.MinimumfOp else max
        return pick(a.low, b.low), pick(a.high, b.high)

    def _rounded(self, value: SSAValue, low: float, high: float, error: float, whole: bool) -> Number:
        """Return a float result after one rounding; none happens between small whole numbers."""
        size = max(abs(low), abs(high))
        exact = whole and error == 0.0 and size <= EXACT_INTEGERS
        if not exact:
            error += HALF_ULP * (size + error) + 2.0**-149
        return Number(value, f32, low, high, error, exact)

    def adorn(self, a: Number) -> Number:
        """Return a random unary operation, or one with a constant."""
        if a.element == i1:
            return Number(self.emit(arith.XOrIOp(a.value, self.constant(i1, 1).value)), i1, 0, 1)
        return self._adorn_float(a) if a.is_float else self._adorn_integer(a)

    def _adorn_integer(self, a: Number) -> Number:
        assert isinstance(a.element, IntegerType)
        signed = is_signed(a.element)
        match self.rng.randrange(5):
            case 0:
                return self.combine(a, self.random_constant(a.element))
            case 1:
                amount = self.constant(a.element, self.rng.randrange(1, a.element.width.data)).value
                shifts = [arith.ShLIOp, arith.ShRSIOp if signed else arith.ShRUIOp]
                return self._integer(self.rng.choice(shifts)(a.value, amount), a.element)
            case 2:
                divisor = self.constant(a.element, self.rng.choice([2, 3, 8, 10, 1, -4, 0])).value
                return self._integer(self.rng.choice([DivOp, ModOp])(a.value, divisor, signed), a.element)
            case 3 if signed:
                return self._integer(math.AbsIOp(a.value), a.element)
            case 3:
                divisor = self.constant(a.element, self.rng.choice([2, 3, 10])).value
                kind = self.rng.choice([arith.DivUIOp, arith.RemUIOp])
                return self._integer(kind(a.value, divisor), a.element)
            case _ if signed:
                divisor = self.constant(a.element, self.rng.choice([2, 3, 16])).value
                return self._integer(arith.FloorDivSIOp(a.value, divisor), a.element)
        return a

    def _adorn_float(self, a: Number) -> Number:
        match self.rng.randrange(8):
            case 0:
                return self.combine(a, self.random_constant(f32))
            case 1:
                low = 0.0 if a.low < 0.0 < a.high else min(abs(a.low), abs(a.high))
                return replace(a, value=self.emit(math.AbsFOp(a.value)), low=low, high=a.size)
            case 2:
                return replace(a, value=self.emit(arith.NegfOp(a.value)), low=-a.high, high=-a.low)
            case 3:
                divisor = self.constant(f32, self.rng.choice([3.0, 9.0, 16.0, -5.0]))
                ends = (a.low / divisor.low, a.high / divisor.low)
                value = self.emit(arith.DivfOp(a.value, divisor.value))
                return self._rounded(value, min(ends), max(ends), a.error / abs(divisor.low), False)
            case 4:
                return self._square_root(a)
            case 5 if a.error == 0.0 and a.size <= EXACT_INTEGERS:
                value = self.emit(self.rng.choice([math.FloorOp, math.CeilOp, math.TruncOp])(a.value))
                return replace(a, value=value, low=pymath.floor(a.low), high=pymath.ceil(a.high), whole=True)
            case 6:
                return self._clamped(a)
        return a

    def _square_root(self, a: Number) -> Number:
        """sqrt(1 + |a|): its slope is at most one half."""
        a = self.tamed(a, 1.0) if a.error else a
        magnitude = self.emit(math.AbsFOp(a.value))
        one = self.constant(f32, 1.0)
        total = self._rounded(self.emit(arith.AddfOp(magnitude, one.value)), 1.0, 1.0 + a.size, a.error, a.whole)
        root = self.emit(math.SqrtOp(total.value))
        return self._rounded(root, 1.0, pymath.sqrt(total.high), total.error / 2, False)

    def _clamped(self, a: Number) -> Number:
        a = self.tamed(a, 1.0) if a.error else a
        low, high = self.constant(f32, -0.5), self.constant(f32, 0.75)
        value = self.emit(arith.MaximumfOp(a.value, low.value))
        value = self.emit(arith.MinnumfOp(value, high.value))
        return Number(value, f32, -0.5, 0.75, a.error, False)

    def tamed(self, a: Number, largest: float = LARGEST) -> Number:
        """Return a float scaled, exactly but for underflow, to at most 1 if it may be larger than `largest`."""
        if not a.is_float or a.size <= largest:
            return a
        factor = 2.0 ** -pymath.ceil(pymath.log2(a.size))
        value = self.emit(arith.MulfOp(a.value, self.constant(f32, factor).value))
        return Number(value, f32, a.low * factor, a.high * factor, a.error * factor + 2.0**-149, False)

    def mixed(self, taps: Sequence[Number], coordinates: Sequence[SSAValue]) -> Number:
        """Combine all `taps`, which have one type; coordinates decide some selects."""
        result = taps[0]
        for tap in taps[1:]:
            if self.chance(0.12) and (condition := self.condition(result, tap)) is not None:
                result = self.select(condition, tap, self.random_constant(tap.element))
            elif coordinates and self.chance(0.06):
                result = self.select(self.parity(self.rng.choice(coordinates)), result, tap)
            else:
                result = self.combine(result, tap)
            if self.chance(0.25):
                result = self.adorn(result)
        return result


def index_constant(number: int) -> arith.ConstantOp:
    """Return a constant of type index."""
    return arith.ConstantOp(IntegerAttr(number, IndexType()))
