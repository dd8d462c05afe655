"""`unroll-reductions`: unroll a reduction over few known points into a stage that combines them one by one.

    %s = img.update "s" (%x) over (%r in [%zero, %three]) of (%c = %s0 : ...) combine [add] {
      %v = img.read %in[%x + %r]
      img.write %v at [%x]
    }
    =>
    %s = img.stage "s" (%x) -> ... {
      %old = img.read %s0[%x]
      %v0 = img.read %in[%x]       // and so on, in the order of the domain
      ...
    }

A stage may be fused with its readers; an update is a kernel of its own. `max_instructions` limits the unrolled
instructions of all points; `max_stencil_instructions` those of reductions in expressions, and with `windows` those of
windows around a point, whose weights may be read. Points are combined in the order of the domain, so results equal
those of the update, to the bit. Values that depend on the point alone become constants, also in predicates, and an
initial value that changes nothing is left out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from tilefuse.analysis.access import behind_boundaries, outer_reads, read_sites
from tilefuse.analysis.instructions import instruction_cost
from tilefuse.analysis.updates import starts_neutral
from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.copies import read_here
from tilefuse.dialects.img.ops import SET, PipelineOp, ReadOp, StageOp, UpdateOp, WriteOp, YieldOp, prints
from tilefuse.dialects.img.types import FuncType
from tilefuse.dialects.options import check_numbers
from tilefuse.passes.inline_stages import inline_at
from tilefuse.passes.unrolled_body import UnrolledBody

MOST_INSTRUCTIONS = 40
"""Most instructions of a reduction that becomes a stage: a stencil of eight weighted taps."""
MOST_STENCIL = 1024
"""Most instructions of a reduction in an expression that becomes a stage: a window of 18 x 18 taps."""

MOST_WEIGHTS = 32
"""Most weights that are read by a window that becomes a stage: registers hold no more."""


@dataclass(frozen=True)
class UnrollReductions(ModulePass):
    """Unroll reductions over few points into stages."""

    name = "unroll-reductions"
    max_instructions: int = MOST_INSTRUCTIONS
    """Unrolled instructions of a reduction up to which it becomes a stage."""
    max_stencil_instructions: int = MOST_STENCIL
    """Unrolled instructions up to which a reduction in an expression becomes a stage."""
    windows: bool = False
    """Whether `max_stencil_instructions` also applies to windows around a point."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_numbers(self, max_instructions=0, max_stencil_instructions=0)
        for pipeline in op.body.block.ops:
            if isinstance(pipeline, PipelineOp):
                for update in [u for u in pipeline.body.block.ops if isinstance(u, UpdateOp)]:
                    ranges = known_points(update)
                    is_inline = update.inline is not None
                    is_window = self.windows and ranges is not None and _is_window(update, ranges)
                    most = self.max_stencil_instructions if is_inline or is_window else self.max_instructions
                    if ranges is not None and instructions_of_all(update, ranges) <= most:
                        stage = written_out_stage(update, ranges)
                        if is_inline:
                            _put_into_readers(stage)


def known_points(update: UpdateOp) -> list[range] | None:
    """Return the points of the domain per dimension, innermost first; None unless known and written to one place."""
    positions = update.write_op.positions
    every_point = len(set(positions)) == len(positions) and all(p in update.pure for p in positions)
    if prints(update) or not every_point:
        return None
    if any(_touches_elsewhere(update, op) for op in update.body.block.ops):
        return None
    found = []
    for dimension in update.domain:
        numbers = [_number(v) for v in (dimension.min, dimension.extent)]
        if numbers[0] is None or numbers[1] is None:
            return None
        found.append(range(numbers[0], numbers[0] + max(0, numbers[1])))
    return found


def _is_window(update: UpdateOp, ranges: list[range]) -> bool:
    """Whether all reads along the domain are near the point, or at one place for all points, as weights are.

    The first is at coordinates of the domain plus pure ones, the second at those of the domain alone. Of many weights
    an update's blocks load each for several rows at once, but not where a boundary moves x of what is converted.
    """
    domain, pure = {d.coordinate for d in update.domain}, set(update.pure)
    elements = {old.type.element for old in update.old_funcs if isinstance(old.type, FuncType)}
    along, has_weights, in_loops = 0, False, False
    for op in outer_reads(update):
        if pure.isdisjoint(op.indices):
            has_weights |= not domain.isdisjoint(op.indices)
            continue
        if isinstance(op.source.type, FuncType) and op.source.type.element not in elements:
            in_loops |= any(0 in boundary.dimensions for boundary in behind_boundaries(op.source)[1])
        for index in op.map.data.results:
            used = {op.indices[d] for d in index.used_dims()}
            if used & domain:
                along += 1
                if used.isdisjoint(pure):
                    return False
    return along > 0 and (in_loops or not has_weights or math.prod(map(len, ranges)) <= MOST_WEIGHTS)


def _touches_elsewhere(update: UpdateOp, op: Operation) -> bool:
    """Whether an op reads the functions at another place than the write, or has another effect."""
    if isinstance(op, ReadOp) and op.source in update.currents:
        return not update.write_op.is_at(op)
    return bool(op.regions)


def _number(value: SSAValue) -> int | None:
    op = value.owner
    return int(op.value.value.data) if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr) else None


def instructions_of_all(update: UpdateOp, ranges: list[range]) -> float:
    """Return the instructions of all points."""
    each = sum(instruction_cost(op) for op in update.body.block.ops) + len(update.old_funcs)
    return each * math.prod(map(len, ranges))


def _put_into_readers(stage: StageOp) -> None:
    """Inline the body into its readers, as part of the expressions in which the reduction was written."""
    sites = read_sites(stage)
    for i, site in enumerate(sites or ()):
        inline_at(stage, site, move=i == len(sites or ()) - 1)
    if sites:
        stage.detach()
        stage.erase()


def written_out_stage(update: UpdateOp, ranges: list[range]) -> StageOp:
    """Replace an update by an unrolled stage."""
    coordinates = {p: d for d, p in enumerate(update.write_op.positions)}
    block = Block(arg_types=[IndexType()] * update.rank)
    place: dict[SSAValue, SSAValue] = {}
    for coordinate, dim in coordinates.items():
        assert coordinate is not None
        block.args[dim].name_hint = coordinate.name_hint
        place[coordinate] = block.args[dim]
    so_far: list[SSAValue | None] = [_start(update, n, block) for n in range(len(update.old_funcs))]
    body = UnrolledBody(update, block, place)
    for point in _points(ranges):
        body.begin(dict(zip((d.coordinate for d in update.domain), point, strict=True)))
        so_far = _join(update, body, so_far)
    block.add_op(YieldOp([v if v is not None else _read(update, n, block) for n, v in enumerate(so_far)]))
    _drop_unused(block)
    elements = [old.type.element for old in update.old_funcs if isinstance(old.type, FuncType)]
    stage = StageOp(update.sym_name.data, elements, Region(block), update.bounds)
    stage.location = update.location
    parent = update.parent_block()
    assert parent is not None
    parent.insert_op_before(stage, update)
    for old_func, new_func in zip(update.funcs, stage.funcs, strict=True):
        old_func.replace_all_uses_with(new_func)
    starts = {old.owner for old in update.old_funcs}
    update.detach()
    update.erase()
    for start in starts:
        if isinstance(start, StageOp) and not any(f.uses for f in start.funcs):
            start.detach()
            start.erase()
    return stage


def _drop_unused(block: Block) -> None:
    """Erase operations that a resolved choice has left unused."""
    for op in list(reversed(block.ops)):
        if not isinstance(op, YieldOp) and not any(r.uses for r in op.results):
            op.detach()
            op.erase()


def _points(ranges: list[range]) -> Iterator[tuple[int, ...]]:
    """Return the points of the domain in order: the first dimension runs fastest."""
    return (tuple(reversed(point)) for point in itertools.product(*reversed(ranges)))


def _start(update: UpdateOp, number: int, block: Block) -> SSAValue | None:
    """Return the old value of function `number` in the stage; None if it is neutral."""
    return None if starts_neutral(update, number) else _read(update, number, block)


def _read(update: UpdateOp, number: int, block: Block) -> SSAValue:
    return read_here(update.old_funcs[number], block).value


def _join(update: UpdateOp, body: UnrolledBody, so_far: list[SSAValue | None]) -> list[SSAValue | None]:
    """Append one point of the domain; return the functions' values, None where nothing has been combined yet."""
    for op in update.body.block.ops:
        if isinstance(op, WriteOp):
            return _written(update, op, body, so_far)
        if isinstance(op, ReadOp) and op.source in update.currents:
            number = update.currents.index(op.source)  # type: ignore[arg-type]
            now = so_far[number]
            body.set(op.value, now if now is not None else _read(update, number, body.block))
            continue
        body.append(op)
    raise AssertionError("an update ends in img.write")


def _written(
    update: UpdateOp, write: WriteOp, body: UnrolledBody, so_far: list[SSAValue | None]
) -> list[SSAValue | None]:
    """Return the values of the functions after a point is written."""
    holds = 1 if write.predicate is None else body.number(write.predicate)
    if holds is not None and not holds:
        return so_far
    found: list[SSAValue | None] = []
    for n, (way, old, now, value) in enumerate(
        zip(update.combiners, update.old_funcs, so_far, write.values, strict=True)
    ):
        new = body.get(value)
        assert isinstance(old.type, FuncType)
        if way != SET and now is not None:
            op = combined(way, old.type.element, now, new)
            body.block.add_op(op)
            new = op.results[0]
        if holds is None:
            assert write.predicate is not None
            chosen = arith.SelectOp(body.get(write.predicate), new, now or _read(update, n, body.block))
            body.block.add_op(chosen)
            new = chosen.result
        found.append(new)
    return found
