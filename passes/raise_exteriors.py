"""`raise-exteriors`: replace stages that choose between a function inside a box and a constant outside by boundaries.

    %in_1 = img.boundary repeat_edge %in dims [0] : !img.func<1xf32>
    %f = img.stage "f" (%x) -> f32 {
      ... %inside = %x >= 0 and %x < %n by arith
      %v = img.read %in_1[%x] : !img.func<1xf32>
      %r = arith.select %inside, %v, %zero : f32
      img.yield %r : f32
    }
 =>
    %f = img.boundary constant_exterior %in dims [0] in [%first] by [%n] value %zero : !img.func<1xf32>

Halide's users write zeros around a picture in this form. Readers of the stage would compute the select at each read;
interior tiles omit a boundary, and operands in shared memory contain its values. The ends of the box must be known
before any stage runs, as for `raise-clamps`, which runs before.

On CPUs reads of an update through a boundary that moves x are not vectorised along x, so such stages are kept there
(`keep_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.transforms.dead_code_elimination import region_dce

from tilefuse.analysis.access import coordinates as coordinates_of
from tilefuse.analysis.access import indices_of
from tilefuse.analysis.index import Index
from tilefuse.analysis.sizes import AnyInterval, AnySpan
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.ops import BoundaryOp, PipelineOp, ReadOp, StageOp, UpdateOp, YieldOp
from tilefuse.dialects.img.symbolic import SizeValue
from tilefuse.passes.raise_clamps import Scalars, can_emit, known, known_box, linear


@dataclass(frozen=True)
class RaiseExteriors(ModulePass):
    """Replace stages that are constant outside a box by `constant_exterior` boundaries."""

    name = "raise-exteriors"

    keep_rows: bool = False
    """Whether to keep stages that updates read, if the box ends along x."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for pipeline in op.body.block.ops:
            if not isinstance(pipeline, PipelineOp):
                continue
            # Grouped stages stay as they were grouped.
            stages = [stage for stage in pipeline.body.block.ops if isinstance(stage, StageOp)]
            raised = [_raise_stage(stage, pipeline, rows=self.keep_rows) for stage in stages]
            if any(raised):
                region_dce(pipeline.body)  # the boundary inside, and what computed the ends


def _raise_stage(stage: StageOp, pipeline: PipelineOp, *, rows: bool) -> bool:
    """Replace a stage by a boundary if possible; return whether it was."""
    last = stage.body.block.last_op
    readers = [use.operation for f in stage.funcs for use in f.uses]
    if len(stage.funcs) != 1 or not isinstance(last, YieldOp) or not readers:
        return False
    if not all(isinstance(op, ReadOp | BoundaryOp) for op in readers):
        return False  # it is stored
    choice = last.values[0].owner
    if not isinstance(choice, arith.SelectOp) or not isinstance(choice.rhs.owner, arith.ConstantOp):
        return False
    read = choice.lhs.owner
    coordinates = list(stage.body.block.args)
    if not isinstance(read, ReadOp) or read.source.type != stage.funcs[0].type:
        return False
    if indices_of(read, coordinates_of(stage)) != tuple(Index(d, 1) for d in range(stage.rank)):
        return False
    spans = _box(choice.cond, coordinates)
    if rows and 0 in spans and any(isinstance(op.parent_op(), UpdateOp) for op in _reading(stage.funcs[0])):
        return False
    if not spans or not all(can_emit(n) for ends in spans.values() for n in ends):
        return False
    rewriter = PatternRewriter(stage)
    scalars = Scalars(rewriter, stage, pipeline)
    boxes = {d: (low, high - low + 1) for d, (low, high) in sorted(spans.items())}
    outside = choice.rhs.owner.clone()
    rewriter.insert(outside, InsertPoint.before(stage))
    boundary = BoundaryOp(
        BoundaryKind.ConstantExterior,
        _without_edges(read.source, boxes),
        list(boxes),
        [scalars.value(low) for low, _ in boxes.values()],
        [scalars.value(extent) for _, extent in boxes.values()],
        outside.result,
    )
    boundary.func.name_hint, boundary.location = stage.funcs[0].name_hint, stage.location
    rewriter.insert(boundary, InsertPoint.before(stage))
    rewriter.replace(stage, [], [boundary.func])
    return True


def _reading(func: SSAValue) -> Iterator[ReadOp]:
    """Return the reads of a function, through boundaries or not."""
    for use in func.uses:
        if isinstance(use.operation, ReadOp):
            yield use.operation
        elif isinstance(use.operation, BoundaryOp):
            yield from _reading(use.operation.func)


def _without_edges(source: SSAValue, boxes: dict[int, AnyInterval]) -> SSAValue:
    """Strip a boundary from `source` that clamps to these boxes or larger ones, so has no effect within them."""
    op = source.owner
    if not isinstance(op, BoundaryOp) or op.kind.data is not BoundaryKind.RepeatEdge or op.dimensions != tuple(boxes):
        return source
    return op.source if known_box(op) == list(boxes.values()) else source


def _box(condition: SSAValue, coordinates: Sequence[SSAValue]) -> dict[int, AnySpan]:
    """Return the box that a condition tests coordinates against; None if it tests more, or leaves an end open."""
    lows: dict[int, SizeValue] = {}
    highs: dict[int, SizeValue] = {}
    for term in _terms(condition):
        found = _limit(term, coordinates)
        if found is None:
            return {}
        d, end, is_low = found
        if (lows if is_low else highs).setdefault(d, end) != end:
            return {}
    return {d: (lows[d], highs[d]) for d in lows} if lows.keys() == highs.keys() else {}


def _terms(condition: SSAValue) -> Iterator[SSAValue]:
    if isinstance(condition.owner, arith.AndIOp):
        yield from _terms(condition.owner.lhs)
        yield from _terms(condition.owner.rhs)
    else:
        yield condition


_ENDS_OF_PREDICATES = {2: (False, -1), 3: (False, 0), 4: (True, 1), 5: (True, 0)}
"""Per signed comparison (slt, sle, sgt, sge) of a coordinate with an end: whether the end is the low one, and the
distance of the first or last coordinate from it."""
_SWAPPED_PREDICATES = {2: 4, 3: 5, 4: 2, 5: 3}
"""Predicate of the same comparison with its operands swapped."""


def _limit(term: SSAValue, coordinates: Sequence[SSAValue]) -> tuple[int, SizeValue, bool] | None:
    """Return (dimension, limit, whether it is the first coordinate) of a comparison."""
    op = term.owner
    if not isinstance(op, arith.CmpiOp):
        return None
    given = int(op.predicate.value.data)
    swapped = _SWAPPED_PREDICATES.get(given)
    for value, other, predicate in ((op.lhs, op.rhs, given), (op.rhs, op.lhs, swapped)):
        at = linear(value, coordinates)
        end = known(other) if at is not None else None
        if at is None or end is None or predicate not in _ENDS_OF_PREDICATES or at[1] != 1:
            continue
        is_low, beside = _ENDS_OF_PREDICATES[predicate]
        return at[0], end + beside - at[2], is_low
    return None
