"""`split-conversions`: a loop over floats that stores them as narrow pixels keeps a part of a row, and casts it then.

    scf.for %x = %a to %b {                       scf.for %part = %a to %b step 1024 {
      ...                                           scf.for %x = %part to %end {
      %i = arith.fptosi %v : f32 to i32               ...
      %p = arith.trunci %i : i32 to i8    =>          memref.store %v, %kept[%x - %part] : f32
      memref.store %p, %out[%x] : i8                }
    } {kernel.simd}                                 scf.for %x = %part to %end { cast, store } {kernel.simd}

Compilers make as many vectors of floats as one of pixels holds, four for bytes, and compute all of them side by side:
what they compute finds no registers then. The part stays in the first cache. For CPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, IntegerType, MemRefType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from tilefuse.dialects.constants import integer_constant

PART = 1024
"""Columns; the floats of a part take an eighth of most first caches."""
RATIO = 4
"""Width of the float over that of the pixel, from which on it pays."""
BLOCK_MEMORY = IntegerAttr(3, 64)
_CASTS = (arith.FPToSIOp, arith.FPToUIOp)


@dataclass(frozen=True)
class _Cast:
    """A store, and the casts that make its pixel of a float."""

    store: memref.StoreOp
    casts: tuple[Operation, ...]
    """The last first."""

    @property
    def float(self) -> SSAValue:
        """What is cast."""
        return self.casts[-1].operands[0]


@dataclass(frozen=True)
class SplitConversions(ModulePass):
    """Compute floats in one loop, and cast them to the narrow pixels that are stored in another."""

    name = "split-conversions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.walk() if isinstance(f, func.FuncOp)]:
            for loop in [o for o in function.walk() if isinstance(o, scf.ForOp) and "kernel.simd" in o.attributes]:
                if found := split_of(loop):
                    _Split(loop, found, function.body.block).emit()


def split_of(loop: scf.ForOp) -> list[_Cast]:
    """Find the stores of a loop that are to have one of their own; none where the loop is to stay as it is."""
    ops = list(loop.body.block.ops)[:-1]
    stores = [op for op in ops if isinstance(op, memref.StoreOp)]
    if loop.results or integer_constant(loop.step) != 1 or not stores or ops[-len(stores) :] != stores:
        return []
    if not all(isinstance(op, memref.LoadOp) or is_side_effect_free(op) for op in ops[: -len(stores)]):
        return []
    loaded = {op.memref for op in ops if isinstance(op, memref.LoadOp)}
    found = [cast for store in stores if (cast := _cast_of(store, loop)) is not None]
    return [c for c in found if c.store.memref not in loaded and _places(c.store, loop) is not None]


def _cast_of(store: memref.StoreOp, loop: scf.ForOp) -> _Cast | None:
    casts: list[Operation] = []
    value = store.value
    while isinstance(op := value.owner, (*_CASTS, arith.TruncIOp)) and op.parent is loop.body.block:
        casts.append(op)
        value = op.operands[0]
        if isinstance(op, _CASTS):
            wide, pixel = _bits(value.type), _bits(store.value.type)
            # one that is stored as it is computed has nothing to be kept out of
            computed = isinstance(value.owner, Operation) and not isinstance(value.owner, memref.LoadOp)
            return _Cast(store, tuple(casts)) if computed and wide >= RATIO * pixel else None
    return None


def _bits(type: Attribute) -> int:
    if isinstance(type, IntegerType):
        return int(type.width.data)
    return int(type.bitwidth) if isinstance(type, AnyFloat) else 0


def _places(store: memref.StoreOp, loop: scf.ForOp) -> list[Operation] | None:
    """The operations of the loop that find where a store goes, in order; None if they read memory."""
    found: set[Operation] = set()
    rest = list(store.indices)
    while rest:
        op = rest.pop().owner
        if isinstance(op, Operation) and op.parent is loop.body.block and op not in found:
            if isinstance(op, memref.LoadOp):
                return None
            found.add(op)
            rest += op.operands
    return [op for op in loop.body.block.ops if op in found]


class _Split:
    """Emits the loop over parts around that of floats and that of casts."""

    def __init__(self, loop: scf.ForOp, casts: Sequence[_Cast], entry: Block):
        self.loop, self.casts, self.entry = loop, casts, entry

    def emit(self) -> None:
        """All loops, in place of the one."""
        loop, outside = self.loop, self.loop.parent
        assert outside is not None
        first = self.entry.first_op
        assert first is not None
        kept = [memref.AllocaOp.get(c.float.type, shape=[PART], memory_space=BLOCK_MEMORY) for c in self.casts]
        for array, cast in zip(kept, self.casts, strict=True):
            array.results[0].name_hint = f"kept_{cast.store.memref.name_hint or 'row'}"
            array.location = loop.location
            self.entry.insert_op_before(array, first)
        step = arith.ConstantOp(IntegerAttr(PART, IndexType()))
        parts = Block(arg_types=[IndexType()])
        part = parts.args[0]
        part.name_hint = "part"
        over = arith.AddiOp(part, step)
        end = arith.MinSIOp(over, loop.ub)
        outer = scf.ForOp(loop.lb, loop.ub, step, [], parts)
        for op in (step, outer):
            op.location = loop.location
            outside.insert_op_before(op, loop)
        later = self._casting(part, end.result, [a.results[0] for a in kept])
        self._keep(part, [a.results[0] for a in kept])
        loop.detach()
        loop.operands[0], loop.operands[1] = part, end.result
        for op in (over, end, loop, later, scf.YieldOp()):
            op.location = loop.location
            parts.add_op(op)

    def _casting(self, part: SSAValue, end: SSAValue, kept: Sequence[SSAValue]) -> scf.ForOp:
        """The loop that loads what is kept, casts and stores it."""
        body = Block(arg_types=[IndexType()])
        x = self.loop.body.block.args[0]
        body.args[0].name_hint = x.name_hint
        values: dict[SSAValue, SSAValue] = {x: body.args[0]}
        for array, cast in zip(kept, self.casts, strict=True):
            at = arith.SubiOp(body.args[0], part)
            load = memref.LoadOp.get(array, [at.result])
            body.add_ops([at, load])
            values[cast.float] = load.res
            for op in (*(_places(cast.store, self.loop) or ()), *reversed(cast.casts), cast.store):
                if not (op.results and op.results[0] in values):
                    body.add_op(op.clone(values))
            del values[cast.float]  # of another cast it is another array's
        for op in body.ops:
            op.location = self.loop.location
        body.add_op(scf.YieldOp())
        found = scf.ForOp(part, end, self.loop.step, [], body)
        found.attributes["kernel.simd"] = self.loop.attributes["kernel.simd"]
        return found

    def _keep(self, part: SSAValue, kept: Sequence[SSAValue]) -> None:
        """Have the loop store floats in place of pixels."""
        block = self.loop.body.block
        last = block.last_op
        assert last is not None
        at = arith.SubiOp(block.args[0], part)
        block.insert_op_before(at, last)
        for array, cast in zip(kept, self.casts, strict=True):
            store = memref.StoreOp.get(cast.float, array, [at.result])
            store.location = cast.store.location
            block.insert_op_before(store, last)
            block.erase_op(cast.store)
        for op in reversed(list(block.ops)):
            if op.results and not any(r.first_use for r in op.results) and is_side_effect_free(op):
                block.erase_op(op)
