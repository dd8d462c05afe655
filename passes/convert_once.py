"""`convert-once`: move the operations that a stage applies to each narrow pixel of a window into a stage of their own.

    %b = img.stage "b" (%x, %y) -> f32 {              %f = img.stage "image_as_f32" (%x, %y) -> f32 {
      %p = img.read %image[%x - 1, %y]                   %p = img.read %image[%x, %y]
      %f = arith.uitofp %p : i8 to f32                   %f = arith.uitofp %p : i8 to f32
      ... of %image[%x, %y], %image[%x + 1, %y]     =>   img.yield %f : f32
                                                       }
                                                       %b = img.stage "b" (%x, %y) -> f32 {
                                                         %p = img.read %f[%x - 1, %y]

A pixel is then cast once instead of once per tap, together with the operations on constants that all taps share. On
CPUs rows of the new stage stay in the caches, and the loop over taps has only floats; a cast of bytes needs two
unpackings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, IntegerType, ModuleOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.passes import ModulePass

from tilefuse.analysis.access import StageRead, accesses, free_name, function_name
from tilefuse.analysis.index import Index
from tilefuse.dialects.img.copies import body_block, read_here
from tilefuse.dialects.img.ops import BoundaryOp, InputOp, PipelineOp, ReadOp, StageOp, YieldOp
from tilefuse.dialects.img.types import FuncType

TAPS = 3
"""Reads side by side, from which on casting once pays."""
WIDEST_PIXEL = 16
"""Bits of a pixel that is narrow."""
_CASTS = (arith.UIToFPOp, arith.SIToFPOp)
_OF_CONSTANTS = (arith.MulfOp, arith.AddfOp, arith.SubfOp, arith.DivfOp)

OperationKey = tuple[str, ...]
"""An operation on one value: its text but for the value."""


@dataclass(frozen=True)
class ConvertOnce(ModulePass):
    """Make a stage of conversions that a stage applies to all its reads of a narrow function."""

    name = "convert-once"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for pipeline in [p for p in op.body.block.ops if isinstance(p, PipelineOp)]:
            names = {s.sym_name.data for s in pipeline.body.walk() if isinstance(s, StageOp)}
            made: dict[tuple[SSAValue, tuple[OperationKey, ...]], StageOp] = {}
            for stage in [s for s in pipeline.body.block.ops if isinstance(s, StageOp)]:
                for taps in _side_by_side(stage):
                    _convert(taps, made, names)


def _side_by_side(stage: StageOp) -> list[list[ReadOp]]:
    """Find the reads of each narrow function that lie in a row or column, if there are enough."""
    found: defaultdict[SSAValue, list[StageRead]] = defaultdict(list)
    for access in accesses(stage):
        if _is_narrow(access.op.source) and _is_beside(access):
            found[access.op.source].append(access)
    return [[a.op for a in taps] for taps in found.values() if _most_at_one_depth(taps) >= TAPS]


def _is_narrow(function: SSAValue) -> bool:
    type = function.type
    assert isinstance(type, FuncType)
    element = type.element
    outside = isinstance(function.owner, InputOp | BoundaryOp)
    return (
        outside and isinstance(element, IntegerType) and 1 < element.width.data <= WIDEST_PIXEL and type.rank.data > 1
    )


def _is_beside(access: StageRead) -> bool:
    """Whether a read moves with the stage's point, one to one in x and y."""
    return all(
        isinstance(i, Index) and (i.var == d and i.num == i.den == 1 if d < 2 else True)
        for d, i in enumerate(access.indices)
    )


def _most_at_one_depth(taps: Sequence[StageRead]) -> int:
    counts: defaultdict[object, set[object]] = defaultdict(set)
    for access in taps:
        counts[tuple(access.indices[2:])].add(tuple(access.indices[:2]))
    return max(len(points) for points in counts.values())


def _convert(
    taps: Sequence[ReadOp], made: dict[tuple[SSAValue, tuple[OperationKey, ...]], StageOp], names: set[str]
) -> None:
    """Read the taps from a new stage that applies their common operations, if there are any."""
    chains = [list(_chain(tap)) for tap in taps]
    steps = _common([[step for step, _ in chain] for chain in chains])
    if not steps:
        return
    key = (taps[0].source, tuple(steps))
    if key not in made:
        made[key] = _stage(taps[0], [op for _, op in chains[0]][: len(steps)], names)
    for tap, chain in zip(taps, chains, strict=True):
        last = chain[len(steps) - 1][1]
        read = ReadOp(made[key].funcs[0], list(tap.indices), tap.map.data)
        read.location, read.value.name_hint = tap.location, tap.value.name_hint
        block = tap.parent_block()
        assert block is not None
        block.insert_op_before(read, tap)
        last.results[0].replace_all_uses_with(read.value)
        for op in (*(op for _, op in reversed(chain[: len(steps)])), tap):
            op.detach()
            op.erase()


def _chain(tap: ReadOp) -> Iterator[tuple[OperationKey, Operation]]:
    """Return the chain of operations on a tap and constants, from its cast up to the first shared value."""
    value = tap.value
    while (use := value.get_user_of_unique_use()) is not None and (step := _step(use, value, tap)) is not None:
        yield step, use
        value = use.results[0]


def _step(op: Operation, value: SSAValue, tap: ReadOp) -> OperationKey | None:
    if value is tap.value:
        is_cast = isinstance(op, _CASTS) and isinstance(op.results[0].type, Float32Type)
        return (op.name, str(op.properties), str(op.attributes)) if is_cast else None
    if not isinstance(op, _OF_CONSTANTS):
        return None
    at = 0 if op.lhs is value else 1
    other = op.operands[1 - at].owner
    if not isinstance(other, arith.ConstantOp):
        return None
    return (op.name, str(at), str(other.value), str(op.properties), str(op.attributes))


def _common(chains: Sequence[Sequence[OperationKey]]) -> list[OperationKey]:
    """Return the longest common prefix of all chains."""
    found = []
    for steps in zip(*chains, strict=False):
        if len(set(steps)) > 1:
            break
        found.append(steps[0])
    return found


def _stage(tap: ReadOp, chain: Sequence[Operation], names: set[str]) -> StageOp:
    """Make the stage that applies a tap's operations to each pixel."""
    source, element = tap.source, chain[-1].results[0].type
    block = body_block(len(tap.map.data.results))
    read = read_here(source, block)
    values: dict[SSAValue, SSAValue] = {tap.value: read.value}
    for op in chain:
        for constant in [v.owner for v in op.operands if isinstance(v.owner, arith.ConstantOp)]:
            block.add_op(constant.clone(values))
        block.add_op(op.clone(values))
    block.add_op(YieldOp([values[chain[-1].results[0]]]))
    for op in block.ops:
        op.location = tap.location
    name = free_name(f"{function_name(source)}_as_{element}", names)
    names.add(name)
    stage = StageOp(name, [element], Region(block))
    stage.location = tap.location
    assert isinstance(source.owner, Operation)
    outside = source.owner.parent_block()
    assert outside is not None
    outside.insert_op_after(stage, source.owner)
    return stage
