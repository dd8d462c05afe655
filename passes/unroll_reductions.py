"""`unroll-reductions`: a reduction over few points that are known is a stage that joins them one by one.

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

A stage may be fused with its readers, and an update is a kernel of its own. `most` is a limit on what is written out:
instructions of all points. Each point meets the one before it in the order of the domain, so results are those of the
update, to the bit.
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
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from tilefuse.analysis.instructions import instruction_cost
from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import SET, PipelineOp, ReadOp, StageOp, UpdateOp, WriteOp, YieldOp, prints
from tilefuse.dialects.img.types import FuncType
from tilefuse.dialects.options import check_numbers

MOST = 40
"""Instructions: a stencil of eight weighted taps."""


@dataclass(frozen=True)
class UnrollReductions(ModulePass):
    """Make stages of reductions over few points."""

    name = "unroll-reductions"
    most: int = MOST

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_numbers(self, most=0)
        for pipeline in op.body.block.ops:
            if isinstance(pipeline, PipelineOp):
                for update in [u for u in pipeline.body.block.ops if isinstance(u, UpdateOp)]:
                    ranges = _ranges(update)
                    if ranges is not None and _written_out(update, ranges) <= self.most:
                        _replace(update, ranges)


def _ranges(update: UpdateOp) -> list[range] | None:
    """The points of the domain per dimension, innermost first; None if they are not known, or do not all meet."""
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


def _touches_elsewhere(update: UpdateOp, op: Operation) -> bool:
    """Whether an op reads the functions themselves at another place than the one that is written, or does more."""
    if isinstance(op, ReadOp) and op.source in update.currents:
        return not update.write_op.is_at(op)
    return bool(op.regions)


def _number(value: SSAValue) -> int | None:
    op = value.owner
    return int(op.value.value.data) if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr) else None


def _written_out(update: UpdateOp, ranges: list[range]) -> float:
    """Instructions of all points."""
    each = sum(instruction_cost(op) for op in update.body.block.ops) + len(update.olds)
    return each * math.prod(map(len, ranges))


def _replace(update: UpdateOp, ranges: list[range]) -> None:
    """Put a stage in the place of an update."""
    coordinates = {p: d for d, p in enumerate(update.write_op.positions)}
    block = Block(arg_types=[IndexType()] * update.rank)
    place: dict[SSAValue, SSAValue] = {}
    for coordinate, dim in coordinates.items():
        assert coordinate is not None
        block.args[dim].name_hint = coordinate.name_hint
        place[coordinate] = block.args[dim]
    identity = AffineMap.identity(update.rank)
    so_far: list[SSAValue] = []
    for old in update.olds:
        read = ReadOp(old, list(block.args), identity)
        block.add_op(read)
        so_far.append(read.value)
    for point in _points(ranges):
        numbers = dict(zip((d.coordinate for d in update.domain), point, strict=True))
        so_far = _join(update, block, dict(place), numbers, so_far)
    block.add_op(YieldOp(so_far))
    elements = [old.type.element for old in update.olds if isinstance(old.type, FuncType)]
    stage = StageOp(update.sym_name.data, elements, Region(block), update.bounds)
    stage.location = update.location
    parent = update.parent_block()
    assert parent is not None
    parent.insert_op_before(stage, update)
    for old_func, new_func in zip(update.funcs, stage.funcs, strict=True):
        old_func.replace_all_uses_with(new_func)
    update.detach()
    update.erase()


def _points(ranges: list[range]) -> Iterator[tuple[int, ...]]:
    """The points of the domain in order: the first dimension runs fastest."""
    return (tuple(reversed(point)) for point in itertools.product(*reversed(ranges)))


def _join(
    update: UpdateOp,
    block: Block,
    values: dict[SSAValue, SSAValue],
    numbers: dict[SSAValue, int],
    so_far: list[SSAValue],
) -> list[SSAValue]:
    """Append one point of the domain; returns what the functions then are. `values`: what values of the body are."""
    for op in update.body.block.ops:
        if isinstance(op, WriteOp):
            return _written(update, block, op, values, so_far)
        if isinstance(op, ReadOp) and op.source in update.currents:
            values[op.value] = so_far[update.currents.index(op.source)]  # type: ignore[arg-type]
            continue
        if isinstance(op, ReadOp):
            copy: Operation = _read_at(op, values, numbers)
        else:
            for operand in op.operands:
                if operand in numbers and operand not in values:
                    constant = arith.ConstantOp(IntegerAttr(numbers[operand], IndexType()))
                    block.add_op(constant)
                    values[operand] = constant.result
            copy = op.clone(values)
        copy.location = op.location
        block.add_op(copy)
        values |= zip(op.results, copy.results, strict=True)
        for new, old in zip(copy.results, op.results, strict=True):
            new.name_hint = old.name_hint
    raise AssertionError("an update ends in img.write")


def _read_at(read: ReadOp, values: dict[SSAValue, SSAValue], numbers: dict[SSAValue, int]) -> ReadOp:
    """A read with the coordinates of the domain as numbers in its map."""
    kept = [v for v in read.indices if v not in numbers]
    dims = [
        AffineExpr.constant(numbers[v]) if v in numbers else AffineExpr.dimension(kept.index(v)) for v in read.indices
    ]
    results = tuple(x.replace_dims_and_symbols(dims, []) for x in read.map.data.results)
    return ReadOp(read.source, [values.get(v, v) for v in kept], AffineMap(len(kept), 0, results))


def _written(
    update: UpdateOp, block: Block, write: WriteOp, values: dict[SSAValue, SSAValue], so_far: list[SSAValue]
) -> list[SSAValue]:
    """Values of the functions when a point has been written."""
    found = []
    for way, old, now, value in zip(update.combiners, update.olds, so_far, write.values, strict=True):
        new = values.get(value, value)
        assert isinstance(old.type, FuncType)
        if way != SET:
            op = combined(way, old.type.element, now, new)
            block.add_op(op)
            new = op.results[0]
        if write.predicate is not None:
            chosen = arith.SelectOp(values.get(write.predicate, write.predicate), new, now)
            block.add_op(chosen)
            new = chosen.result
        found.append(new)
    return found
