"""`repeat-edges`: compute stored functions only as far as their values change, and repeat their edges beyond (level 2).

    %small = img.group "small" { ... reads %clamped[2 * %x - 1] to %clamped[2 * %x + 2] ... } : !img.func<1xf32>
    ... img.read %small[%x - 9]
 =>
    %small = img.group "small" { ... }
    %edges = img.boundary repeat_edge %small dims [0] in [%first] by [%n] : !img.func<1xf32>
    ... img.read %edges[%x - 9]

A function of a source with repeated edges is constant, to the bit, from some coordinate on, if its coordinate occurs
only in indices that follow it. The coarse levels of a pyramid need a few points outside of the picture, and each finer
level twice as many: at the finest level most computed points would be outside. Only functions in memory are limited,
which limits their sources too, and only if this saves a share of the points for the size of `extent`, since border
tiles then clamp their reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilefuse.analysis.access import StageRead, accesses
from tilefuse.analysis.index import Index, Span
from tilefuse.analysis.machine import check_extent
from tilefuse.analysis.points import NominalSizes, count_points, needed_spans
from tilefuse.analysis.scalars import eval_index
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.ops import (
    BoundaryOp,
    ExtentOp,
    GroupOp,
    InputOp,
    MinOp,
    PipelineOp,
    ReadOp,
    StageOp,
    prints,
)
from tilefuse.passes.end_coordinates import Emission, End, EndArithmetic

SAVED = 0.05
"""Share of the points of a function that must be saved."""


_DistinctSpan = tuple[End, End]
"""First and last coordinate whose values are not repetitions of others."""
_Operands = list[list[SSAValue]]
"""The values that stand in each index of a read."""


def _operands(read: ReadOp) -> _Operands:
    indices = list(read.indices)
    return [[indices[d] for d in expr.used_dims()] for expr in read.map.data.results]


class _Repeated:
    """The dimensions along which functions repeat their values beyond some coordinate, in both directions."""

    def __init__(self, pipeline: PipelineOp, extent: Sequence[int]):
        self._sizes = NominalSizes(extent)
        self._made = EndArithmetic()
        self._ends: dict[SSAValue, dict[int, _DistinctSpan]] = {}
        for op in pipeline.body.block.ops:
            match op:
                case BoundaryOp():
                    self._note(op)
                case GroupOp() if op.update is None:
                    for inner in op.body.block.ops:
                        self._note(inner)
                    for result, value in zip(op.funcs, op.yield_op.values, strict=True):
                        self._ends[result] = self.of(value)

    def of(self, function: SSAValue) -> dict[int, _DistinctSpan]:
        """Return ends by dimension; dimensions along which a function never becomes constant are absent."""
        return self._ends.get(function, {})

    def _note(self, op: Operation) -> None:
        match op:
            case BoundaryOp():
                self._ends[op.func] = {**self.of(op.source), **self._of_boundary(op)}
            case StageOp() if not prints(op):
                read = [(access, _operands(access.op)) for access in accesses(op)]
                found = {d: self._of_stage(op, d, read) for d in range(op.rank)}
                # a dimension with bounds has all points that any reader needs: an end may lie beyond them
                bounds = op.bounds.data if op.bounds is not None else (None,) * op.rank
                for function in op.funcs:
                    self._ends[function] = {
                        d: ends for d, ends in found.items() if ends is not None and bounds[d] is None
                    }

    def _of_boundary(self, op: BoundaryOp) -> dict[int, _DistinctSpan]:
        """Return the ends along the dimensions that a boundary continues."""
        beside = {BoundaryKind.RepeatEdge: 0, BoundaryKind.ConstantExterior: 1}.get(op.kind.data)
        found: dict[int, _DistinctSpan] = {}
        if beside is None:
            return {}
        for i, dim in enumerate(op.dimensions):
            try:
                first, count = self._given(op, i) if op.mins else self._own(op.source, dim)
            except PipelineError:  # which whoever calls the program is told
                continue
            last = self._made.sum(first, count)
            found[dim] = self._ordered(first.moved(-beside), last.moved(beside - 1))
        return found

    def _given(self, op: BoundaryOp, i: int) -> tuple[End, End]:
        """Return (min, extent) of a box that a boundary gives."""
        return self._scalar(op.mins[i]), self._scalar(op.extents[i])

    def _scalar(self, value: SSAValue) -> End:
        number = eval_index(value, self._sizes)
        assert isinstance(number, int)
        return self._made.scalar(value, number, lambda _: value)

    def _own(self, source: SSAValue, dim: int) -> tuple[End, End]:
        """Return (min, extent) of an input."""
        assert isinstance(source.owner, InputOp)
        low, extent = self._sizes.interval(source.owner, dim)
        return (
            self._made.scalar((MinOp, source, dim), low, lambda e: e.add(MinOp(source, dim))),
            self._made.scalar((ExtentOp, source, dim), extent, lambda e: e.add(ExtentOp(source, dim))),
        )

    def _of_stage(self, stage: StageOp, dim: int, read: Sequence[tuple[StageRead, _Operands]]) -> _DistinctSpan | None:
        """Return the ends of a stage's functions; None if a value depends on the coordinate other than by reads."""
        if not all(isinstance(use.operation, ReadOp) for use in stage.body.block.args[dim].uses):
            return None
        plus: dict[tuple[End, End, int, int], list[int]] = {}
        argument = stage.body.block.args[dim]
        for access, operands in read:
            following = 0
            for e, index in enumerate(access.indices):
                if not isinstance(index, Index) or index.var != dim:
                    continue
                ends = self.of(access.function).get(e)
                if ends is None or index.num < 0:
                    return None
                plus.setdefault((*ends, index.num, index.den), []).append(index.offset)
                following += 1
            # an index of another kind may depend on the coordinate, too
            if following != sum(argument in of_index for of_index in operands):
                return None
        if not plus:
            return None
        # floor((num x + offset) / den) <= end, and >= end
        made = self._made
        lows = [made.affine(low, den, den - 1 - max(by), num) for (low, _, num, den), by in plus.items()]
        highs = [made.affine(high, den, num - 1 - min(by), num) for (_, high, num, den), by in plus.items()]
        return self._ordered(made.extreme(lows, least=True), made.extreme(highs, least=False))

    def _ordered(self, first: End, last: End) -> _DistinctSpan:
        """Return the ends of a box, ordered. If the first is behind the last, all values are equal."""
        return first, self._made.extreme([first, last], least=False)


def _clipped(span: Span, ends: _DistinctSpan) -> Span:
    first, last = (end.number for end in ends)
    low, high = span
    return max(first, min(low, last)), min(last, max(high, first))


@dataclass(frozen=True)
class RepeatEdges(ModulePass):
    """Compute functions with repeated edges only up to these edges, if their sources repeat their edges."""

    name = "repeat-edges"

    extent: tuple[int, ...] = (1536, 2560)
    """Size of picture to optimise for, x first."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_extent(self.extent, self.name)
        for pipeline in op.body.block.ops:
            if isinstance(pipeline, PipelineOp):
                for function, limits in _limited(pipeline, self.extent).items():
                    _repeat(function, limits)


def _limited(pipeline: PipelineOp, extent: Sequence[int]) -> dict[SSAValue, dict[int, _DistinctSpan]]:
    """Return the functions to limit, each with its ends by dimension; consumers precede producers."""
    repeated = _Repeated(pipeline, extent)
    found: dict[SSAValue, dict[int, _DistinctSpan]] = {}

    def limit(function: SSAValue, needed: Sequence[Span]) -> list[Span]:
        spans, taken = list(needed), {}
        for dim, ends in repeated.of(function).items():
            if (clipped := _clipped(spans[dim], ends)) != spans[dim]:
                spans[dim], taken[dim] = clipped, ends
        readers = (use.operation for use in function.uses)
        few = not taken or count_points(spans) > (1 - SAVED) * count_points(needed)
        if few or not all(isinstance(r, ReadOp | BoundaryOp) for r in readers):
            return list(needed)
        found[function] = taken
        return spans

    needed_spans(pipeline, extent, limit)
    return found


def _repeat(function: SSAValue, limits: dict[int, _DistinctSpan]) -> None:
    """Make all readers of a group's result read it through a boundary."""
    group = function.owner
    assert isinstance(group, GroupOp)
    emission = Emission(group)
    dims = sorted(limits)
    mins, extents = [], []
    for dim in dims:
        first, last = (emission.end(end) for end in limits[dim])
        mins.append(first)
        extents.append(emission.plus(emission.add(arith.SubiOp(last, first)), 1))
    uses = list(function.uses)
    boundary = BoundaryOp(BoundaryKind.RepeatEdge, function, dims, mins, extents)
    boundary.location = group.location
    block = group.parent_block()
    assert block is not None
    block.insert_op_after(boundary, group)
    for use in uses:
        use.operation.operands[use.index] = boundary.func
