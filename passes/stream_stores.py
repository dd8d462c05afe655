"""`stream-stores`: store rows that are not read again soon past the caches, by whole cache lines.

    scf.for %x = %a to %b {                    scf.for %part = %a to %b step 1024 {
      ...                                        scf.for %x = ... { ..., memref.store %v, %kept[%x - %part] }
      memref.store %v, %out[%x]       =>         scf.for %k = 0 to %lines { vector.store %line, %out[...] nontemporal }
    } {kernel.simd, kernel.stream}             }

A cache line that is stored as a whole is not loaded before, and does not evict other lines. The position of the lines
is computed for each part; pixels before the first and after the last line are stored one by one. A memory barrier at
the end of the function makes the stores visible. For CPUs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from typing import cast as as_type

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, MemRefType, ModuleOp, VectorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tilefuse.dialects.nvvm import MemoryBarrierOp, MemScope
from tilefuse.passes.column_steps import step
from tilefuse.passes.row_parts import Parts, places, stores_at_end

STREAMED_LINE = 64
"""Bytes of a cache line, and so of a vector that is stored past the caches."""


@dataclass(frozen=True)
class StreamStores(ModulePass):
    """Store rows marked `kernel.stream` by streaming stores, which bypass the caches."""

    name = "stream-stores"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.walk() if isinstance(f, func.FuncOp)]:
            marked = [o for o in function.walk() if isinstance(o, scf.ForOp) and "kernel.stream" in o.attributes]
            if any([_stream(loop, function.body.block) for loop in marked]):
                last = function.body.block.last_op
                assert last is not None
                function.body.block.insert_op_before(MemoryBarrierOp(MemScope.Gpu), last)


def _stream(loop: scf.ForOp, entry: Block) -> bool:
    """Turn the eligible stores of a loop into streaming ones; return whether there are any."""
    del loop.attributes["kernel.stream"]
    found = [(store, where) for store in stores_at_end(loop) if (where := _line_places(store, loop)) is not None]
    if not found:
        return False
    parts = Parts(loop, entry)
    x = loop.body.block.args[0]
    for store, where in found:
        array = parts.kept(store.value.type, f"line_{store.memref.name_hint or 'row'}")
        values: dict[SSAValue, SSAValue] = {x: parts.start}
        for op in where:
            parts.add(op.clone(values))
        at = [values.get(index, index) for index in store.indices]
        out = store.memref
        parts.store_to(store, store.value, array)
        _LineStores(parts, array, out, at).emit()
    parts.finish()
    return True


def _line_places(store: memref.StoreOp, loop: scf.ForOp) -> list[Operation] | None:
    """Find the operations that compute a store's place, if it has unit stride in memory of whole bytes."""
    type = store.memref.type
    assert isinstance(type, MemRefType)
    size = as_type(Any, type.element_type)
    x = loop.body.block.args[0]
    if not hasattr(size, "size") or STREAMED_LINE % size.size or isinstance(store.value.type, IndexType):
        return None
    *others, last = (step(index, x) for index in store.indices)
    if last != 1 or any(s != 0 for s in others):
        return None
    return places(store, loop)


class _LineStores:
    """Emit the loops that store a part's kept values: up to the first line, by lines, and the rest."""

    def __init__(self, parts: Parts, array: SSAValue, out: SSAValue, at: list[SSAValue]):
        self.parts, self.array, self.out, self.at = parts, array, out, at
        type = as_type(MemRefType[Any], out.type)
        self.bytes: int = type.element_type.size
        self.pixels = STREAMED_LINE // self.bytes

    def emit(self) -> None:
        """Emit all three loops."""
        add, count = self.parts.add, self._number(self.pixels)
        zero, one = self._number(0), self._number(1)
        length = add(arith.SubiOp(self.parts.end, self.parts.start))
        left = add(arith.RemUIOp(add(arith.SubiOp(count, add(arith.RemUIOp(self._place(), count)))), count))
        head = add(arith.MinSIOp(left, length))
        lines = add(arith.DivUIOp(add(arith.SubiOp(length, head)), count))
        done = add(arith.AddiOp(head, add(arith.MuliOp(lines, count))))
        add(self._pixel_loop(zero, head, one))
        add(self._line_loop(zero, lines, one, head, count))
        add(self._pixel_loop(done, length, one))

    def _number(self, number: int) -> SSAValue:
        return self.parts.add(arith.ConstantOp(IntegerAttr(number, IndexType())))

    def _place(self) -> SSAValue:
        """Return the place of a part's first pixel, in pixels, as far as line alignment depends on it."""
        add = self.parts.add
        layout = memref.ExtractStridedMetaDataOp(self.out)
        pointer = add(memref.ExtractAlignedPointerAsIndexOp.get(self.out))
        add(layout)
        found = add(arith.DivUIOp(pointer, self._number(self.bytes)))
        for index, stride in zip(self.at, layout.strides, strict=True):
            found = add(arith.AddiOp(found, add(arith.MuliOp(index, stride))))
        return found

    def _pixel_loop(self, start: SSAValue, end: SSAValue, step: SSAValue) -> scf.ForOp:
        body = Block(arg_types=[IndexType()])
        i = body.args[0]
        i.name_hint = "i"
        load, column = memref.LoadOp.get(self.array, [i]), arith.AddiOp(self.at[-1], i)
        store = memref.StoreOp.get(load.res, self.out, [*self.at[:-1], column.result])
        body.add_ops([load, column, store, scf.YieldOp()])
        return scf.ForOp(start, end, step, [], body)

    def _line_loop(self, start: SSAValue, end: SSAValue, step: SSAValue, head: SSAValue, count: SSAValue) -> scf.ForOp:
        body = Block(arg_types=[IndexType()])
        k = body.args[0]
        k.name_hint = "line"
        type = as_type(MemRefType[Any], self.out.type)
        before = arith.MuliOp(k, count)
        i = arith.AddiOp(head, before)
        load = vector.LoadOp(self.array, [i.result], VectorType(type.element_type, [self.pixels]))
        column = arith.AddiOp(self.at[-1], i)
        store = vector.StoreOp(load.result, self.out, [*self.at[:-1], column.result], BoolAttr.from_bool(True))
        body.add_ops([before, i, load, column, store, scf.YieldOp()])
        return scf.ForOp(start, end, step, [], body)
