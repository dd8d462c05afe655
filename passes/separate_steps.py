"""`separate-steps`: unroll a recurrence over few steps, each of which gives a slice of a function, into stages.

    %g = img.update "f" (%x) over (%y in [%lo, %n], %t in [%one, %three]) of (%c = %f : !img.func<3xf32>) {
      %a = img.read %c[%x, %y, %t - 1]
      %b = img.read %c[%x, %y + 4, %t - 1]
      %m = arith.maxnumf %a, %b : f32
      img.write %m at [%x, %y, %t]
    }
    =>
    %f_1 = img.stage "f_1" (%x, %y) -> f32 {     // slice 1; f_2 and f_3 read the one before them
      %old = img.read %f[%x, %y, 1]
      %a = img.read %f[%x, %y, 0]
      ...
      %r = arith.select %is_in_domain, %m, %old : f32
    }
    %g = img.stage "f" (%x, %y, %t) -> f32 { ... of f_1, f_2, f_3 and %f, by %t }

The kernel of an update runs the steps one after the other, with all other dimensions of its domain. Stages run at all
points in parallel, and are fused and inlined as others. The steps are the outermost dimension of the domain; each step
reads only slices of earlier ones, so the order within a step does not matter. If later steps read points outside of the
domain, steps are computed there too: therefore all sources of the update must be defined everywhere, by a boundary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from tilefuse.analysis.access import accesses, coordinates, functions_read, indices_of, own_reads
from tilefuse.analysis.index import Index
from tilefuse.analysis.updates import Axis, UpdateFacts
from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.attrs import BoundaryKind, BoxAttr
from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.copies import read_here
from tilefuse.dialects.img.ops import (
    SET,
    BoundaryOp,
    PipelineOp,
    ReadOp,
    StageOp,
    UpdateOp,
    WriteOp,
    YieldOp,
    prints,
)
from tilefuse.dialects.img.types import FuncType
from tilefuse.dialects.options import check_numbers
from tilefuse.passes.constants import fold
from tilefuse.passes.unrolled_body import UnrolledBody

MOST_CHAINED = 8
"""Most steps of a recurrence that becomes stages: longer chains of kernels do not pay."""


@dataclass(frozen=True)
class SeparateSteps(ModulePass):
    """Replace recurrences over few steps by one stage per step."""

    name = "separate-steps"
    max_steps: int = MOST_CHAINED
    """Steps of a recurrence up to which it becomes stages."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_numbers(self, max_steps=0)
        for pipeline in op.body.block.ops:
            if isinstance(pipeline, PipelineOp):
                for update in [u for u in pipeline.body.block.ops if isinstance(u, UpdateOp)]:
                    steps = _steps(update)
                    if steps is not None and len(steps) <= self.max_steps:
                        _Separation(update).replace(steps)


def _steps(update: UpdateOp) -> range | None:
    """Return the step numbers; None for an update whose steps cannot be stages."""
    positions = update.write_op.positions
    if prints(update) or len(update.old_funcs) != 1 or len(update.domain) < 2 or None in positions:
        return None
    outermost = update.domain[-1]
    first, count = integer_constant(outermost.min), integer_constant(outermost.extent)
    *within, along = UpdateFacts(update).domain_axes
    # a step writes a slice, and each point within it a place of its own, whatever it reads of earlier slices
    every = {d.coordinate for d in update.domain}
    if first is None or count is None or along is not Axis.Scan or not every.issubset(positions):
        return None
    if len(within) != len(every) - 1 or not _reads_back(update) or not _is_defined_everywhere(update):
        return None
    return range(first, first + max(0, count))


def _reads_back(update: UpdateOp) -> bool:
    """Whether all reads of the update's own functions are of slices of earlier steps."""
    step = len(update.coordinates) - 1
    slices = update.write_op.positions.index(update.coordinates[step])
    own = [indices_of(read, coordinates(update))[slices] for read in own_reads(update)]
    return bool(own) and all(
        isinstance(i, Index) and i.var == step and (i.num, i.den) == (1, 1) and i.offset < 0 for i in own
    )


def _is_defined_everywhere(update: UpdateOp) -> bool:
    """Whether every function behind it is defined at all points: inputs have boundaries in all dimensions."""
    todo = functions_read(update)
    seen: set[SSAValue] = set()
    while todo:
        function = todo.pop()
        if function in seen:
            continue
        seen.add(function)
        match function.owner:
            case BoundaryOp() as boundary:
                assert isinstance(function.type, FuncType)
                inside = boundary.kind.data is BoundaryKind.ConstantExterior
                if inside or len(boundary.dimensions) < function.type.rank.data:
                    return False
            case StageOp() as stage:
                todo += [a.op.source for a in accesses(stage)]
            case _:
                return False
    return True


class _Separation:
    """The stages that replace an update."""

    def __init__(self, update: UpdateOp):
        self.update, self.old = update, update.old_funcs[0]
        self.step = update.domain[-1].coordinate
        self.slices = update.write_op.positions.index(self.step)
        """The dimension in which steps have their slices."""
        self.made: dict[int, StageOp] = {}
        """The stage of each step."""

    def replace(self, steps: range) -> None:
        """Replace the update by stages."""
        update = self.update
        for step in steps:
            self.made[step] = self._stage(update.rank - 1, partial(self._of_step, step), step)
        function = self._stage(update.rank, self._of_all, None)
        update.funcs[0].replace_all_uses_with(function.funcs[0])
        update.detach()
        update.erase()

    def _stage(self, rank: int, body: Callable[[Block], SSAValue], step: int | None) -> StageOp:
        """Make a stage before the update: of one step, or of all."""
        update = self.update
        block = Block(arg_types=[IndexType()] * rank)
        names = [p for d, p in enumerate(update.write_op.positions) if step is None or d != self.slices]
        for argument, position in zip(block.args, names, strict=True):
            assert position is not None
            argument.name_hint = position.name_hint
        block.add_op(YieldOp([body(block)]))
        name, bounds = update.sym_name.data, update.bounds
        if step is not None:
            name = f"{name}_{step}"
            if bounds is not None:
                bounds = BoxAttr(tuple(b for d, b in enumerate(bounds.data) if d != self.slices))
        assert isinstance(self.old.type, FuncType)
        stage = StageOp(name, [self.old.type.element], Region(block), bounds)
        stage.location = update.location
        parent = update.parent_block()
        assert parent is not None
        parent.insert_op_before(stage, update)
        fold(stage)
        return stage

    def _of_slice(self, block: Block, number: int, indices: Sequence[SSAValue], others: list[AffineExpr]) -> SSAValue:
        """Read slice `number` as of the steps so far; `others` are the indices in the other dimensions."""
        source: SSAValue = self.made[number].funcs[0] if number in self.made else self.old
        results = list(others)
        if number not in self.made:
            results.insert(self.slices, AffineExpr.constant(number))
        read = ReadOp(source, indices, AffineMap(len(indices), 0, tuple(results)))
        block.add_op(read)
        return read.value

    def _of_step(self, step: int, block: Block) -> SSAValue:
        """Compute a point of a slice: the value that the step writes, or the old value."""
        update = self.update
        args = list(block.args)
        positions = [p for p in update.write_op.positions if p is not self.step]
        place: dict[SSAValue, SSAValue] = {p: a for p, a in zip(positions, args, strict=True) if p is not None}
        body = UnrolledBody(update, block, dict(place))
        body.begin({self.step: step})
        old = self._of_slice(block, step, args, [AffineExpr.dimension(d) for d in range(len(args))])
        for op in update.body.block.ops:
            if isinstance(op, WriteOp):
                return self._inside(block, self._written(body, op, old), old, place)
            if isinstance(op, ReadOp) and op.source in update.currents:
                there = body.read(op)
                results = list(there.map.data.results)
                number = results.pop(self.slices).eval([0] * len(there.indices), [])
                value = self._of_slice(block, number, list(there.indices), results)
                value.name_hint = op.value.name_hint
                body.set(op.value, value)
                there.erase()
                continue
            body.append(op)
        raise AssertionError("an update ends in img.write")

    def _written(self, body: UnrolledBody, write: WriteOp, old: SSAValue) -> SSAValue:
        """Return the value of a point after it is written."""
        value, way = body.get(write.values[0]), self.update.combiners[0]
        if way != SET:
            assert isinstance(self.old.type, FuncType)
            joined = combined(way, self.old.type.element, old, value)
            body.block.add_op(joined)
            value = joined.results[0]
        if write.predicate is not None:
            chosen = arith.SelectOp(body.get(write.predicate), value, old)
            body.block.add_op(chosen)
            value = chosen.result
        return value

    def _inside(self, block: Block, value: SSAValue, old: SSAValue, values: dict[SSAValue, SSAValue]) -> SSAValue:
        """Select `value` inside the domain, `old` outside."""
        for axis in self.update.domain[:-1]:
            place = values[axis.coordinate]
            last = arith.AddiOp(axis.min, axis.extent)
            reached, ended = arith.CmpiOp(place, axis.min, "sge"), arith.CmpiOp(place, last.result, "slt")
            both = arith.AndIOp(reached.result, ended.result)
            chosen = arith.SelectOp(both.result, value, old)
            block.add_ops([last, reached, ended, both, chosen])
            value = chosen.result
        return value

    def _of_all(self, block: Block) -> SSAValue:
        """Compute a point of the whole function, from the slice that contains it."""
        args = list(block.args)
        value: SSAValue = read_here(self.old, block).value
        others = [a for d, a in enumerate(args) if d != self.slices]
        here = [AffineExpr.dimension(d) for d in range(len(others))]
        for step in self.made:
            is_here = arith.CmpiOp(args[self.slices], _constant(block, step), "eq")
            block.add_op(is_here)
            chosen = arith.SelectOp(is_here.result, self._of_slice(block, step, others, here), value)
            block.add_op(chosen)
            value = chosen.result
        return value


def _constant(block: Block, number: int) -> SSAValue:
    op = arith.ConstantOp(IntegerAttr(number, IndexType()))
    block.add_op(op)
    return op.result
