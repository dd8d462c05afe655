"""`chain-kernels`: overlap the end of one kernel with the start of the next.

    func.func @a(...) attributes {kernel.threads = ...} {
      ...
      scf.if %interior {
        func.call @a_tile(...)
      } else {
        func.call @a_tile(...)
      }
      =>
    func.func @a(...) attributes {kernel.threads = ...} {
      nvvm.griddepcontrol launch_dependents
      ...
      scf.if %interior {
        nvvm.griddepcontrol wait
        func.call @a_tile(...)
      } else {
        nvvm.griddepcontrol wait
        func.call @a_tile(...)
      }

A kernel first permits the next kernel to start, unless its group is marked `late_launch`. Before its first memory
access it waits for the end of the previous kernel; the wait is in each branch, so that a block computes the position of
its tile while the previous kernel still runs. Prefetches to the L2 cache are no memory accesses in this sense.

If the launch permits it (programmatic dependent launch, from sm_90 on), blocks of a kernel are resident when the last
wave of the previous kernel ends, in the same call or the previous one. In other launches both instructions have no
effect.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf, ub, vector
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tilefuse.dialects.img.ops import LATE_LAUNCH, PipelineOp
from tilefuse.dialects.memref_prefetch import PrefetchOp
from tilefuse.dialects.nvvm import GridDepAction, GriddepcontrolOp
from tilefuse.lowering.abi import groups_of, kernel_name
from tilefuse.lowering.emit import SHARED
from tilefuse.lowering.printers.memrefs import space_of

_TOUCHES_NOTHING = (
    memref.AllocaOp, memref.DimOp, memref.ExtractAlignedPointerAsIndexOp, memref.ExtractStridedMetaDataOp,
    memref.ViewOp, vector.InsertOp, GriddepcontrolOp, scf.ForOp, scf.IfOp, scf.YieldOp, func.ReturnOp,
)  # fmt: skip
"""Operations, beside those on numbers, that do not read or write memory themselves."""
_ON_NUMBERS = (arith.Arith.name, ub.UB.name)


@dataclass(frozen=True)
class ChainKernels(ModulePass):
    """Let the kernels of a lowered pipeline overlap."""

    name = "chain-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Add to each kernel the signal that lets the next one start, and the waits, unless it has them."""
        functions = [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]
        groups = [g for p in op.body.block.ops if isinstance(p, PipelineOp) for g in groups_of(p)]
        late = {kernel_name(g) for g in groups if LATE_LAUNCH in g.attributes}
        harmless = _harmless(functions)
        for function in functions:
            if "kernel.threads" not in function.attributes:
                continue
            block = function.body.block
            there = {inner.kind.data for inner in function.walk() if isinstance(inner, GriddepcontrolOp)}
            if GridDepAction.Wait not in there:
                _wait_in(block, harmless)
            if GridDepAction.LaunchDependents not in there and function.sym_name.data not in late:
                assert block.first_op is not None
                block.insert_ops_before([GriddepcontrolOp(GridDepAction.LaunchDependents)], block.first_op)


def _wait_in(block: Block, harmless: set[str]) -> None:
    """Insert the wait before the first operation that touches memory, in branches if a block takes only one."""
    touching = [op for op in block.ops if _touches_memory(op, harmless)]
    first = touching[0] if touching else block.last_op
    assert first is not None
    if len(touching) == 1 and (inner := _ways(first)):
        for each in inner:
            _wait_in(each, harmless)
    else:
        block.insert_ops_before([GriddepcontrolOp(GridDepAction.Wait)], first)


def _ways(op: Operation) -> list[Block]:
    """Return the branches of which a block's threads together take exactly one, once; none if this is not provable."""
    if isinstance(op, scf.IfOp) and op.false_region.blocks:
        return [op.true_region.block, op.false_region.block]
    level = op.attributes.get("kernel.level")
    of_blocks = isinstance(level, StringAttr) and level.data.startswith("block_")
    return [op.body.block] if isinstance(op, scf.ForOp) and of_blocks else []


def _harmless(functions: Iterable[func.FuncOp]) -> set[str]:
    """Find the functions that touch no memory and call only such functions."""
    found: set[str] = set()
    left = {f.sym_name.data: f for f in functions}
    while more := [name for name, f in left.items() if not any(_touches_memory(o, found) for o in f.body.block.ops)]:
        found.update(more)
        for name in more:
            del left[name]
    return found


def _touches_memory(op: Operation, harmless: set[str]) -> bool:
    """Whether an operation or its regions may touch memory; calls of `harmless` functions do not."""
    for inner in op.walk():
        match inner:
            case func.CallOp():
                touches = inner.callee.string_value() not in harmless
            case memref.StoreOp() | vector.StoreOp():
                target = inner.memref if isinstance(inner, memref.StoreOp) else inner.base
                touches = space_of(target.type) != SHARED  # of the block, and new for it
            case PrefetchOp():
                touches = inner.level == 1  # nothing keeps that cache up to date
            case _:
                touches = not isinstance(inner, _TOUCHES_NOTHING) and inner.dialect_name() not in _ON_NUMBERS
        if touches:
            return True
    return False
