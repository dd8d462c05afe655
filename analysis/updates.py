"""Updates: the kinds of their axes, their write maps, and the orders that their combiners allow.

Execution models choose by these facts, so that one analysis says what may run in parallel, and in which order.
"""

from __future__ import annotations

import math
from enum import StrEnum
from functools import cached_property

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, Signedness
from xdsl.ir import Attribute, SSAValue

from tilefuse.analysis.access import accesses, coordinates
from tilefuse.analysis.dependence import behind
from tilefuse.analysis.first_best import FirstBest, first_best
from tilefuse.analysis.folding import as_signed
from tilefuse.analysis.index import AnyIndex, GeneralIndex, Index, classify
from tilefuse.analysis.joined_tuple import JoinedTuple, joined_tuple
from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.ops import SET, StageOp, UpdateOp
from tilefuse.dialects.img.types import FuncType


class Axis(StrEnum):
    """Access of an update along one of its coordinates."""

    Pure = "pure"
    """Each point writes at its own place: all may run at once."""
    Parallel = "parallel"
    """A coordinate of the reduction domain that stands alone at an index that is written."""
    Reduce = "reduce"
    """Points meet at one place: the coordinate is at no index that is written."""
    Scan = "scan"
    """Points read what others along the axis have written."""
    Scatter = "scatter"
    """Points write at computed places, where they may meet."""


class WriteMap(StrEnum):
    """The map from an update's coordinates to the point that it writes."""

    Identity = "identity"
    """At coordinates that stand alone, and at constants."""
    Affine = "affine"
    """At sums of coordinates times constants."""
    Scattered = "scattered"
    """At computed indices."""


class UpdateFacts:
    """Facts about one update."""

    def __init__(self, update: UpdateOp):
        self.update = update
        self.combiners = tuple(update.combiners)
        """Combiners of the written values with the old ones, per function."""

    @cached_property
    def reads_itself(self) -> bool:
        """Whether the body reads the updated functions, other than to combine."""
        return any(current.uses for current in self.update.currents)

    @cached_property
    def write_map(self) -> WriteMap:
        """The map from coordinates to the written point."""
        of, write = coordinates(self.update), self.update.write_op
        computed = [v for v in write.indices if v not in of]
        if computed or any(isinstance(i, GeneralIndex) for i in self.written):
            return WriteMap.Scattered
        alone = [p for p in write.positions if p is not None]
        constants = sum(isinstance(i, Index) and i.var is None for i in self.written)
        is_identity = len(alone) + constants == self.update.rank and len(set(alone)) == len(alone)
        return WriteMap.Identity if is_identity else WriteMap.Affine

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The kind of each coordinate: pure ones, then the reduction domain's, innermost first."""
        update = self.update
        alone = {p for p in update.write_op.positions if p is not None}
        written = self._behind_written
        kinds = []
        for coordinate in update.coordinates:
            if coordinate in update.pure:
                kinds.append(Axis.Pure)
            elif self._reads_along(coordinate):
                kinds.append(Axis.Scan)
            elif coordinate not in written:
                kinds.append(Axis.Reduce)
            else:
                kinds.append(Axis.Parallel if coordinate in alone else Axis.Scatter)
        return tuple(kinds)

    @property
    def domain_axes(self) -> tuple[Axis, ...]:
        """The kinds of the coordinates of the reduction domain, innermost first."""
        return self.axes[len(self.update.pure) :]

    @cached_property
    def commutes(self) -> bool:
        """Whether points of the domain may come in any order, up to rounding: none reads another's result."""
        return not self.reads_itself and SET not in self.combiners

    @cached_property
    def first_best(self) -> FirstBest | None:
        """The functions that keep only the first best point, as argmin does; None if none does."""
        return first_best(self.update)

    @cached_property
    def joined_tuple(self) -> JoinedTuple | None:
        """The functions that a commutative rule combines, as in products of complex numbers; None if there are none."""
        return joined_tuple(self.update)

    @cached_property
    def is_exact(self) -> bool:
        """Whether any order of combining gives the same bits: true of integers, minima, maxima, first best points."""
        kept = self.first_best.functions if self.first_best is not None else ()
        return all(
            way in ("min", "max") or number in kept or isinstance(old.type.storage, IntegerType)  # type: ignore[attr-defined]
            for number, (way, old) in enumerate(zip(self.combiners, self.update.old_funcs, strict=True))
        )

    def identity(self, number: int) -> float | int | None:
        """Return the neutral value of the combiner of function `number`; None if it has none."""
        type = self.update.old_funcs[number].type
        assert isinstance(type, FuncType)
        return identity(self.combiners[number], type.element)

    @cached_property
    def written(self) -> tuple[AnyIndex, ...]:
        """The written indices, x first, in terms of the update's coordinates."""
        of, write = coordinates(self.update), self.update.write_op
        dims = [of.get(v) for v in write.indices]
        return tuple(classify(x, dims) for x in write.map.data.results)

    @cached_property
    def _behind_written(self) -> set[SSAValue]:
        """Return the coordinates that computed indices of the write depend on."""
        return set(behind(self.update.write_op.indices, self.update.body.block))

    def _reads_along(self, coordinate: SSAValue) -> bool:
        """Whether the update reads itself at another place, along a coordinate, than the point that it then writes."""
        update, of = self.update, coordinates(self.update)
        own = set(update.currents)
        written = self.written
        for read in accesses(update):
            if read.op.source not in own:
                continue
            for there, here in zip(read.indices, written, strict=True):
                if isinstance(there, GeneralIndex) or isinstance(here, GeneralIndex):
                    return True
                vars = {i.var for i in (there, here) if isinstance(i, Index)}
                if there != here and (of[coordinate] in vars or vars == {None}):
                    return True
        return False


def sums_points(update: UpdateOp) -> bool:
    """Whether each point only sums over the domain, so that a thread may sum several adjacent points."""
    facts = UpdateFacts(update)
    return (
        facts.commutes
        and facts.write_map is WriteMap.Identity
        and None not in update.write_op.positions
        and bool(update.domain)
        and all(axis is Axis.Reduce for axis in facts.domain_axes)
    )


def identity(combiner: str, element: Attribute) -> float | int | None:
    """Return the neutral value of a combiner for the type `element`; None if it has none."""
    if combiner not in ("add", "mul", "min", "max", "and", "or", "xor"):
        return None
    if not isinstance(element, IntegerType):
        # 0 would make +0 of -0; of NaN and a number `min` and `max` give the number
        return {"add": -0.0, "mul": 1.0}.get(combiner, math.nan)
    if combiner in ("add", "or", "xor", "mul"):
        return int(combiner == "mul")
    bits, signed = element.width.data, element.signedness.data is Signedness.SIGNED
    if combiner == "and":
        return -1 if signed else (1 << bits) - 1
    low = -(1 << (bits - 1)) if signed else 0
    return low + (1 << bits) - 1 if combiner == "min" else low


def starts_neutral(update: UpdateOp, number: int) -> bool:
    """Whether function `number` is, before the update, everywhere the neutral value of its combiner."""
    old = update.old_funcs[number]
    stage = old.owner
    if not isinstance(stage, StageOp) or len(stage.funcs) != 1 or not isinstance(old.type, FuncType):
        return False
    made = stage.yield_op.values[0].owner
    neutral = identity(update.combiners[number], old.type.element)
    if not isinstance(made, arith.ConstantOp) or neutral is None:
        return False
    if isinstance(made.value, IntegerAttr):
        return integer_constant(made.result) == as_signed(int(neutral), made.result.type)
    assert isinstance(made.value, FloatAttr)
    found = made.value.value.data
    if math.isnan(neutral):
        return math.isnan(found)
    return found == neutral and math.copysign(1, found) == math.copysign(1, neutral)
