"""`inline-stages`: compute a stage at its reads where recomputation costs nothing or almost nothing.

A stage is inlined if it has a single read, or if it is cheap: at most `max_instructions` instructions and `max_reads`
reads per point (a copy, a cast, a product). A stage with several readers of one read each, one of which is an update,
is inlined too: the readers cannot share a kernel, so it would be stored.

A stage is not inlined if its readers have so many more points (as of a table with data-dependent reads, a row that a
picture reads, or an `x / 2`) that evaluation at each of them takes longer than to store it, including stages that would
be inlined into it (`analysis/recomputation.py`); nor, on a CPU, if it transposes a recurrence, whose kernel then stores
it in place of its own results. Outputs, stages under a boundary, and stages with a `place` written by hand are kept.

    %sq = img.stage "sq" (%x) -> f32 { %v = img.read %in[%x] ...; %s = arith.mulf %v, %v; img.yield %s }
    ... img.read %sq[%x - 1] ...      =>      %v = img.read %in[%x - 1]; %s = arith.mulf %v, %v
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.passes import ModulePass
from xdsl.transforms.common_subexpression_elimination import cse

from tilefuse.analysis.access import ReadSite, read_sites
from tilefuse.analysis.machine import check_extent, check_target, machine
from tilefuse.analysis.recomputation import Recomputation, may_be_inlined
from tilefuse.dialects.img.ops import Definition, PipelineOp, ReadOp, StageOp, YieldOp
from tilefuse.dialects.options import check_numbers


def _index_value(expr: AffineExpr, operands: list[SSAValue], before: Operation) -> SSAValue:
    """Emit `expr` as arith ops before `before`."""
    block = before.parent_block()
    assert block is not None

    def emit(op: Operation) -> SSAValue:
        block.insert_op_before(op, before)
        return op.results[0]

    match expr:
        case AffineDimExpr(position):
            return operands[position]
        case AffineConstantExpr(value):
            return emit(arith.ConstantOp(IntegerAttr(value, IndexType())))
        case AffineBinaryOpExpr(kind, lhs, rhs):
            a, b = _index_value(lhs, operands, before), _index_value(rhs, operands, before)
            match kind:
                case AffineBinaryOpKind.Add:
                    return emit(arith.AddiOp(a, b))
                case AffineBinaryOpKind.Mul:
                    return emit(arith.MuliOp(a, b))
                case AffineBinaryOpKind.FloorDiv:
                    return emit(arith.FloorDivSIOp(a, b))
                case AffineBinaryOpKind.Mod:
                    quotient = emit(arith.FloorDivSIOp(a, b))
                    return emit(arith.SubiOp(a, emit(arith.MuliOp(quotient, b))))
    raise AssertionError(f"not an img index: {expr}")


def _substitute(read: ReadOp, coordinates: dict[SSAValue, AffineExpr], outer: list[SSAValue]) -> SSAValue:
    """Rewrite the indices of `read` in terms of `outer`, where they are coordinates of its old stage.

    Gives the value that stands for the old one.
    """
    operands = list(outer)
    replacements: list[AffineExpr] = []
    for value in read.indices:
        if value in coordinates:
            replacements.append(coordinates[value])
            continue
        if value not in operands:
            operands.append(value)
        replacements.append(AffineExpr.dimension(operands.index(value)))
    results = [e.replace_dims_and_symbols(replacements, []) for e in read.map.data.results]
    used = sorted({d for e in results for d in e.used_dims()})
    compact = [AffineExpr.dimension(used.index(d) if d in used else 0) for d in range(len(operands))]
    results = [e.replace_dims_and_symbols(compact, []) for e in results]
    new = ReadOp(read.source, [operands[d] for d in used], AffineMap(len(used), 0, tuple(results)))
    new.location = read.location
    block = read.parent_block()
    assert block is not None
    block.insert_op_before(new, read)
    read.value.replace_all_uses_with(new.value)
    new.value.name_hint = read.value.name_hint
    read.detach()
    read.erase()
    return new.value


def inline_at(stage: StageOp, site: ReadSite, move: bool) -> None:
    """Inline the body of `stage` at the read `site`; `move` it if no other site needs it."""
    consumer, map, indices = site
    reads = [
        use.operation
        for f in stage.funcs
        for use in f.uses
        if isinstance(use.operation, ReadOp)
        and use.operation.parent_op() is consumer
        and use.operation.map.data == map
        and tuple(use.operation.indices) == indices
    ]
    first = reads[0]
    if len(reads) > 1:
        ids = {id(r) for r in reads}
        first = next(op for op in consumer.body.block.ops if id(op) in ids)
    target = consumer.body.block
    outer = list(indices)
    args = stage.body.block.args
    coordinates: dict[SSAValue, AffineExpr] = dict(zip(args, map.results, strict=True))
    mapper: dict[SSAValue, SSAValue] = {}
    placed: list[Operation] = []
    values: list[SSAValue] = []
    for op in list(stage.body.block.ops):
        if isinstance(op, YieldOp):
            values = [mapper.get(v, v) for v in op.values]
            break
        if move:
            op.detach()
            new = op
        else:
            new = op.clone(mapper)
        target.insert_op_before(new, first)
        placed.append(new)
        for old_result, new_result in zip(op.results, new.results, strict=True):
            mapper[old_result] = new_result
    made: dict[SSAValue, SSAValue] = {}
    for op in placed:
        if isinstance(op, ReadOp):
            if any(v in coordinates for v in op.indices):
                old, new_value = op.value, _substitute(op, coordinates, outer)
                # the stage may yield what it reads
                values = [new_value if v is old else v for v in values]
            continue
        for i, operand in enumerate(op.operands):
            if operand in coordinates:
                if operand not in made:
                    made[operand] = _index_value(coordinates[operand], outer, op)
                op.operands[i] = made[operand]
    results: dict[SSAValue, SSAValue] = dict(zip(stage.funcs, values, strict=True))
    for read in reads:
        read.value.replace_all_uses_with(results[read.source])
        read.detach()
        read.erase()


@dataclass(frozen=True)
class InlineStages(ModulePass):
    """Inline cheap stages, and stages whose one reader evaluates hardly more points than they have."""

    name = "inline-stages"

    max_instructions: float = 2.0
    """Instructions per point up to which a stage is inlined into all its readers."""
    max_reads: int = 2
    """Reads per point up to which such a stage is inlined."""
    target: str = "h200"
    """Machine whose costs decide: a GPU's model or arch, or cpu."""
    extent: tuple[int, ...] = (1536, 2560)
    """Size of picture to optimise for, x first."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_numbers(self, max_instructions=0, max_reads=0)
        check_extent(self.extent, self.name)
        check_target(self.target, self.name)
        pipelines = [p for p in op.body.block.ops if isinstance(p, PipelineOp)]
        for pipeline in pipelines:
            self._inline(pipeline)
        for pipeline in pipelines:
            for definition in pipeline.body.walk():
                if isinstance(definition, Definition):
                    cse(definition)

    def _inline(self, pipeline: PipelineOp) -> None:
        costs = Recomputation(pipeline, machine(self.target), self.extent, self.max_instructions, self.max_reads)
        # Consumers first: a body is moved once, however long the chain.
        for stage in reversed([s for s in pipeline.body.walk() if isinstance(s, StageOp)]):
            sites = read_sites(stage) if may_be_inlined(stage) else None
            if sites and costs.is_inlined(stage, sites):
                for i, site in enumerate(sites):
                    inline_at(stage, site, move=i == len(sites) - 1)
                stage.detach()
                stage.erase()
