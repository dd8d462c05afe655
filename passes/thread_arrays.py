"""`thread-arrays`: give values that threads keep between thread loops a place per thread in an array.

    %sums = memref.alloca() : memref<4xf32, 5 : i64>
    scf.for %tx = ... { memref.store %v, %sums[%i] ... } {kernel.level = "thread_x"}
    "gpu.barrier"() : () -> ()
    scf.for %tx_1 = ... { memref.load %sums[%j] ... } {kernel.level = "thread_x"}
    =>
    %sums = memref.alloca() : memref<32x4xf32, 3 : i64>
    ... memref.store %v, %sums[%tx, %i] ... memref.load %sums[%tx_1, %j] ...

On a GPU each thread keeps its registers between thread loops. On a CPU threads run one after the other in each thread
loop, so their values need an array.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilefuse.dialects.constants import integer_constant
from tilefuse.lowering.emit import INDEX, PRIVATE, SHARED

_LEVELS = ("thread_z", "thread_y", "thread_x")


@dataclass(frozen=True)
class ThreadArrays(ModulePass):
    """Add a thread dimension to private arrays that are defined outside thread loops."""

    name = "thread-arrays"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp):
                for array in [o for o in function.walk() if isinstance(o, memref.AllocaOp)]:
                    _spread(array)


def _spread(array: memref.AllocaOp) -> None:
    type = array.memref.type
    assert isinstance(type, MemRefType)
    space = type.memory_space
    if not isinstance(space, IntegerAttr) or space.value.data != PRIVATE or _threads_around(array):
        return
    uses = [use.operation for use in array.memref.uses]
    loops = {op: _threads_around(op) for op in uses}
    counts = {level: 1 for level in _LEVELS}
    for around in loops.values():
        for level, loop in around.items():
            counts[level] = integer_constant(loop.ub) or 1
    levels = [level for level in _LEVELS if counts[level] > 1]
    if not levels:
        return
    shape = [*(counts[level] for level in levels), *type.get_shape()]
    block = array.parent_block()
    assert block is not None
    new = memref.AllocaOp.get(type.element_type, shape=shape, memory_space=IntegerAttr(SHARED, 64))
    new.memref.name_hint = array.memref.name_hint
    block.insert_op_before(new, array)
    for op in uses:
        _move(op, array.memref, new.memref, [loops[op].get(level) for level in levels])
    array.detach()
    array.erase()


def _threads_around(op: Operation) -> dict[str, scf.ForOp]:
    """Return the thread loops around an operation, by level."""
    found: dict[str, scf.ForOp] = {}
    parent = op.parent_op()
    while parent is not None:
        level = parent.attributes.get("kernel.level")
        if isinstance(parent, scf.ForOp) and isinstance(level, StringAttr) and level.data in _LEVELS:
            found[level.data] = parent
        parent = parent.parent_op()
    return found


def _move(op: Operation, old: SSAValue, new: SSAValue, loops: list[scf.ForOp | None]) -> None:
    """Redirect a load or store of a private array to the thread's place in the new one."""
    block = op.parent_block()
    assert block is not None
    threads: list[SSAValue] = []
    for loop in loops:
        if loop is None:
            zero = arith.ConstantOp(IntegerAttr(0, INDEX))
            block.insert_op_before(zero, op)
            threads.append(zero.result)
        else:
            threads.append(loop.body.block.args[0])
    at = list(op.operands).index(old)
    operands = [*op.operands[:at], new, *threads, *op.operands[at + 1 :]]
    op.operands = operands
