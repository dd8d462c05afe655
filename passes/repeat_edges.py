"""`repeat-edges`: compute stored functions no further than they change, and repeat their edges there (level 2).

    %small = img.group "small" { ... reads %clamped[2 * %x - 1] to %clamped[2 * %x + 2] ... } : !img.func<1xf32>
    ... img.read %small[%x - 9]
 =>
    %small = img.group "small" { ... }
    %edges = img.boundary repeat_edge %small dims [0] in [%first] by [%n] : !img.func<1xf32>
    ... img.read %edges[%x - 9]

A function of what repeats its edges has the same value, to the bit, from some coordinate on, if its coordinate stands
in nothing but indices that follow it. The coarse levels of a pyramid need a few points beside the picture, and each
finer one twice as many and more: at the finest the picture is a fraction of what would be computed. Only functions in
memory are limited, by which those that they are made of are, too; and only where that saves a share of the points at
the size that is optimised for, for tiles at the edges then clamp what they read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilefuse.analysis.access import accesses
from tilefuse.analysis.index import Index, Span
from tilefuse.analysis.machine import check_extent
from tilefuse.analysis.points import NominalSizes, needed_spans
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

SAVED = 0.05
"""Share of the points of a function that must be saved."""


class _Emission:
    """Scalars put before an operation."""

    def __init__(self, before: Operation):
        self._before = before

    def add(self, op: Operation) -> SSAValue:
        block = self._before.parent_block()
        assert block is not None
        op.location = self._before.location
        block.insert_op_before(op, self._before)
        return op.results[0]

    def constant(self, value: int) -> SSAValue:
        return self.add(arith.ConstantOp(IntegerAttr(value, IndexType())))

    def affine(self, value: SSAValue, times: int, plus: int, by: int) -> SSAValue:
        """`floor((times * value + plus) / by)`."""
        if times != 1:
            value = self.add(arith.MuliOp(value, self.constant(times)))
        if plus:
            value = self.add(arith.AddiOp(value, self.constant(plus)))
        return value if by == 1 else self.add(arith.FloorDivSIOp(value, self.constant(by)))


@dataclass(frozen=True)
class _End:
    """A coordinate from which on a function repeats its value: as a number, and as operations."""

    number: int
    """At the size that is optimised for."""
    emit: Callable[[_Emission], SSAValue]

    def affine(self, times: int, plus: int, by: int) -> _End:
        """`floor((times * end + plus) / by)`."""
        number = (times * self.number + plus) // by
        return _End(number, lambda e: e.affine(self.emit(e), times, plus, by))


_Ends = tuple[_End, _End]
"""The first and the last coordinate of those whose values are not just repeated."""


def _extreme(ends: Sequence[_End], *, least: bool) -> _End:
    """The least or the greatest of some ends."""
    op = arith.MinSIOp if least else arith.MaxSIOp

    def emit(e: _Emission) -> SSAValue:
        first, *others = (end.emit(e) for end in ends)
        for other in others:
            first = e.add(op(first, other))
        return first

    return ends[0] if len(ends) == 1 else _End((min if least else max)(end.number for end in ends), emit)


class _Repeated:
    """The dimensions along which functions repeat their values from some coordinate on, both ways."""

    def __init__(self, pipeline: PipelineOp, extent: Sequence[int]):
        self._sizes = NominalSizes(extent)
        self._ends: dict[SSAValue, dict[int, _Ends]] = {}
        for op in pipeline.body.block.ops:
            match op:
                case BoundaryOp():
                    self._note(op)
                case GroupOp() if op.update is None:
                    for inner in op.body.block.ops:
                        self._note(inner)
                    for result, value in zip(op.funcs, op.yield_op.values, strict=True):
                        self._ends[result] = self.of(value)

    def of(self, function: SSAValue) -> dict[int, _Ends]:
        """Ends by dimension; those along which it changes for ever are absent."""
        return self._ends.get(function, {})

    def _note(self, op: Operation) -> None:
        match op:
            case BoundaryOp():
                self._ends[op.func] = {**self.of(op.source), **self._of_boundary(op)}
            case StageOp() if not prints(op):
                found = {d: self._of_stage(op, d) for d in range(op.rank)}
                for function in op.funcs:
                    self._ends[function] = {d: ends for d, ends in found.items() if ends is not None}

    def _of_boundary(self, op: BoundaryOp) -> dict[int, _Ends]:
        """Ends along the dimensions that a boundary continues."""
        beside = {BoundaryKind.RepeatEdge: 0, BoundaryKind.ConstantExterior: 1}.get(op.kind.data)
        found: dict[int, _Ends] = {}
        if beside is None:
            return {}
        for i, dim in enumerate(op.dimensions):
            try:
                first, count = self._given(op, i) if op.mins else self._own(op.source, dim)
            except PipelineError:  # which whoever calls the program is told
                continue
            last = _sum(first, count)
            found[dim] = _ordered(first.affine(1, -beside, 1), last.affine(1, beside - 1, 1))
        return found

    def _given(self, op: BoundaryOp, i: int) -> tuple[_End, _End]:
        """(min, extent) of a box that stands in the boundary."""
        return self._scalar(op.mins[i]), self._scalar(op.extents[i])

    def _scalar(self, value: SSAValue) -> _End:
        number = eval_index(value, self._sizes)
        assert isinstance(number, int)
        return _End(number, lambda _: value)

    def _own(self, source: SSAValue, dim: int) -> tuple[_End, _End]:
        """(min, extent) of an input."""
        assert isinstance(source.owner, InputOp)
        low, extent = self._sizes.interval(source.owner, dim)
        return _End(low, lambda e: e.add(MinOp(source, dim))), _End(extent, lambda e: e.add(ExtentOp(source, dim)))

    def _of_stage(self, stage: StageOp, dim: int) -> _Ends | None:
        """Ends of a stage's functions; None where its values follow the coordinate otherwise than by what is read."""
        if not all(isinstance(use.operation, ReadOp) for use in stage.body.block.args[dim].uses):
            return None
        plus: dict[tuple[_End, _End, int, int], list[int]] = {}
        argument = stage.body.block.args[dim]
        for access in accesses(stage):
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
            mapped = (expr for expr in access.op.map.data.results)
            if following != sum(argument in (access.op.indices[d] for d in expr.used_dims()) for expr in mapped):
                return None
        if not plus:
            return None
        # floor((num x + offset) / den) <= end, and >= end
        lows = [low.affine(den, den - 1 - max(by), num) for (low, _, num, den), by in plus.items()]
        highs = [high.affine(den, num - 1 - min(by), num) for (_, high, num, den), by in plus.items()]
        return _ordered(_extreme(lows, least=True), _extreme(highs, least=False))


def _ordered(first: _End, last: _End) -> _Ends:
    """Ends of a box of at least a point: where the first lies behind the last, as at `x / 2` in a picture of a point,
    all values are the same."""
    return first, _extreme([first, last], least=False)


def _sum(a: _End, b: _End) -> _End:
    return _End(a.number + b.number, lambda e: e.add(arith.AddiOp(a.emit(e), b.emit(e))))


def _clipped(span: Span, ends: _Ends) -> Span:
    first, last = (end.number for end in ends)
    low, high = span
    return max(first, min(low, last)), min(last, max(high, first))


def _points(spans: Iterable[Span]) -> int:
    return math.prod(high - low + 1 for low, high in spans)


@dataclass(frozen=True)
class RepeatEdges(ModulePass):
    """Compute functions of what repeats its edges only up to where they do so, too."""

    name = "repeat-edges"

    extent: tuple[int, ...] = (1536, 2560)
    """Size of picture to optimise for, x first."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_extent(self.extent, self.name)
        for pipeline in op.body.block.ops:
            if isinstance(pipeline, PipelineOp):
                for function, limits in _limited(pipeline, self.extent).items():
                    _repeat(function, limits)


def _limited(pipeline: PipelineOp, extent: Sequence[int]) -> dict[SSAValue, dict[int, _Ends]]:
    """The functions to limit, each with its ends by dimension; those that others need are looked at after these."""
    repeated = _Repeated(pipeline, extent)
    found: dict[SSAValue, dict[int, _Ends]] = {}

    def limit(function: SSAValue, needed: Sequence[Span]) -> list[Span]:
        spans, taken = list(needed), {}
        for dim, ends in repeated.of(function).items():
            if (clipped := _clipped(spans[dim], ends)) != spans[dim]:
                spans[dim], taken[dim] = clipped, ends
        readers = (use.operation for use in function.uses)
        few = not taken or _points(spans) > (1 - SAVED) * _points(needed)
        if few or not all(isinstance(r, ReadOp | BoundaryOp) for r in readers):
            return list(needed)
        found[function] = taken
        return spans

    needed_spans(pipeline, extent, limit)
    return found


def _repeat(function: SSAValue, limits: dict[int, _Ends]) -> None:
    """Let all readers of a group's result read it through a boundary."""
    group = function.owner
    assert isinstance(group, GroupOp)
    emission = _Emission(group)
    dims = sorted(limits)
    mins, extents = [], []
    for dim in dims:
        first, last = (end.emit(emission) for end in limits[dim])
        mins.append(first)
        extents.append(emission.affine(emission.add(arith.SubiOp(last, first)), 1, 1, 1))
    uses = list(function.uses)
    boundary = BoundaryOp(BoundaryKind.RepeatEdge, function, dims, mins, extents)
    boundary.location = group.location
    block = group.parent_block()
    assert block is not None
    block.insert_op_after(boundary, group)
    for use in uses:
        use.operation.operands[use.index] = boundary.func
