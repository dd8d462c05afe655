"""Strip-mining of a row loop: some columns at a time, with intermediate values in an array in the L1 cache."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, IntegerType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from tilefuse.analysis.dependence import operations_behind
from tilefuse.dialects.constants import integer_constant

PART_COLUMNS = 1024
"""Columns of a part that keeps one array; as floats an eighth of most first caches."""
LEAST_PART_COLUMNS = 128
"""Columns of a part at least, so that its loops are long."""
BLOCK_MEMORY = IntegerAttr(3, 64)
SIMD = "kernel.simd"
"""Attribute of a loop that compilers make vectors of."""


def vector_loops(module: ModuleOp) -> list[tuple[scf.ForOp, Block]]:
    """List the loops that compilers vectorise, each with the body of its function."""
    functions = [f for f in module.walk() if isinstance(f, func.FuncOp)]
    return [
        (op, f.body.block) for f in functions for op in f.walk() if isinstance(op, scf.ForOp) and SIMD in op.attributes
    ]


def stores_at_end(loop: scf.ForOp) -> list[memref.StoreOp]:
    """Find the stores of a loop that loads, computes, then stores, column by column; none for any other loop."""
    ops = list(loop.body.block.ops)[:-1]
    stores = [op for op in ops if isinstance(op, memref.StoreOp)]
    if loop.results or integer_constant(loop.step) != 1 or not stores or ops[-len(stores) :] != stores:
        return []
    if not all(isinstance(op, memref.LoadOp) or only_computes(op) for op in ops[: -len(stores)]):
        return []
    loaded = {whole_array(op.memref) for op in ops if isinstance(op, memref.LoadOp)}
    return [] if any(whole_array(store.memref) in loaded for store in stores) else stores


def number_width(type: Attribute) -> int:
    """Return the width of a number's type; 0 for an index, or no number."""
    if isinstance(type, IntegerType):
        return int(type.width.data)
    return int(type.bitwidth) if isinstance(type, AnyFloat) else 0


def whole_array(memory: SSAValue) -> SSAValue:
    """Return the array that a row is a view of, or the array itself."""
    while isinstance(memory.owner, memref.SubviewOp):
        memory = memory.owner.source
    return memory


def only_computes(op: Operation) -> bool:
    """Whether an operation has no effect; xDSL does not declare this of all conversions."""
    return op.name.startswith(("arith.", "math.")) or is_side_effect_free(op)


def places(
    access: memref.StoreOp | memref.LoadOp, loop: scf.ForOp, leave: Collection[int] = ()
) -> list[Operation] | None:
    """Return the operations in the loop that compute an access's indices, but indices `leave`; None if any loads."""
    left = [index for number, index in enumerate(access.indices) if number not in leave]
    found = set(operations_behind(left, loop.body.block))
    if any(isinstance(op, memref.LoadOp) for op in found):
        return None
    return [op for op in loop.body.block.ops if op in found]


class Parts:
    """A loop over the parts of a row, around the row's loop, which becomes the loop of one part."""

    def __init__(self, loop: scf.ForOp, entry: Block, columns: int = PART_COLUMNS):
        self.loop, self.entry, self.columns = loop, entry, columns
        outside = loop.parent
        assert outside is not None
        self.body = Block(arg_types=[IndexType()])
        self.start: SSAValue = self.body.args[0]
        self.start.name_hint = "part"
        step = arith.ConstantOp(IntegerAttr(self.columns, IndexType()))
        outer = scf.ForOp(loop.lb, loop.ub, step, [], self.body)
        for op in (step, outer):
            op.location = loop.location
            outside.insert_op_before(op, loop)
        self.end = self.add(arith.MinSIOp(self.add(arith.AddiOp(self.start, step)), loop.ub))
        loop.detach()
        loop.operands[0], loop.operands[1] = self.start, self.end
        self.body.add_op(loop)

    def add(self, op: Operation) -> SSAValue:
        """Append an operation to a part."""
        op.location = self.loop.location
        self.body.add_op(op)
        return op.results[0] if op.results else self.start

    def kept(self, type: Attribute, name: str) -> SSAValue:
        """Return an array for the kept values of a part."""
        array = memref.AllocaOp.get(type, shape=[self.columns], memory_space=BLOCK_MEMORY)
        array.location = self.loop.location
        first = self.entry.first_op
        assert first is not None
        self.entry.insert_op_before(array, first)
        array.memref.name_hint = name
        return array.memref

    def store_to(self, store: memref.StoreOp, value: SSAValue, array: SSAValue) -> None:
        """Redirect a store to an array of `value`; all stores stay at the end of the loop."""
        block = self.loop.body.block
        at = arith.SubiOp(block.args[0], self.start)
        kept = memref.StoreOp.get(value, array, [at.result])
        at.location = kept.location = store.location
        block.insert_op_before(at, next(op for op in block.ops if isinstance(op, memref.StoreOp)))
        block.insert_op_before(kept, store)
        block.erase_op(store)

    def finish(self) -> None:
        """Close the loop over parts, and erase operations that the row's loop no longer uses."""
        self.add(scf.YieldOp())
        block = self.loop.body.block
        for op in reversed(list(block.ops)):
            if op.results and not any(r.first_use for r in op.results) and is_side_effect_free(op):
                block.erase_op(op)


@dataclass(frozen=True)
class SplitStore:
    """A store in a loop of its own, of a value kept per column."""

    store: memref.StoreOp
    value: SSAValue
    name: str
    """Name of the array of kept values."""
    operations: tuple[Operation, ...]
    """The operations of the later loop on a kept value, in order: they end with the store."""
    dropped: tuple[Operation, ...] = ()
    """The operations that the first loop does no more although they read memory; users first."""


def part_columns(arrays: int) -> int:
    """Return the columns of a part with this many arrays, which share the space of one; a power of two."""
    return max(LEAST_PART_COLUMNS, 1 << (PART_COLUMNS // arrays).bit_length() - 1)


def split_loop(loop: scf.ForOp, entry: Block, late: Sequence[SplitStore]) -> None:
    """Strip-mine a loop into parts of two loops, the later one with the stores."""
    parts = Parts(loop, entry, part_columns(len(late)))
    arrays = [parts.kept(one.value.type, one.name) for one in late]
    later = _later_loop(parts, late, arrays)
    for array, one in zip(arrays, late, strict=True):
        parts.store_to(one.store, one.value, array)
        for op in one.dropped:
            loop.body.block.erase_op(op)
    parts.add(later)
    parts.finish()


def _later_loop(parts: Parts, late: Sequence[SplitStore], arrays: Sequence[SSAValue]) -> scf.ForOp:
    """Emit the loop over a part's columns that loads the kept values and applies the operations to them."""
    loop, body = parts.loop, Block(arg_types=[IndexType()])
    x = loop.body.block.args[0]
    body.args[0].name_hint = x.name_hint
    for array, one in zip(arrays, late, strict=True):
        at = arith.SubiOp(body.args[0], parts.start)
        load = memref.LoadOp.get(array, [at.result])
        body.add_ops([at, load])
        values: dict[SSAValue, SSAValue] = {x: body.args[0], one.value: load.res}
        body.add_ops([op.clone(values) for op in one.operations])
    for op in body.ops:
        op.location = loop.location
    body.add_op(scf.YieldOp())
    return scf.ForOp(parts.start, parts.end, loop.step, [], body)
