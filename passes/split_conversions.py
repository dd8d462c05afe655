"""`split-conversions`: split a loop that stores floats as narrow pixels into one that computes and one that casts.

    scf.for %x = %a to %b {                       scf.for %part = %a to %b step 1024 {
      ...                                           scf.for %x = %part to %end {
      %i = arith.fptosi %v : f32 to i32               ...
      %p = arith.trunci %i : i32 to i8    =>          memref.store %v, %kept[%x - %part] : f32
      memref.store %p, %out[%x] : i8                }
    } {kernel.simd}                                 scf.for %x = %part to %end { cast, store } {kernel.simd}

Compilers compute as many vectors of floats as a vector of pixels has elements per float, four for bytes, at once, and
run out of registers. A part of the row stays in the L1 cache. For CPUs.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import AnyFloat, IntegerType, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from tilefuse.passes.row_parts import SIMD, SplitStore, places, split_loop, stores_at_end, vector_loops

RATIO = 4
"""Width of the float over that of the pixel, from which on it pays."""
_CASTS = (arith.FPToSIOp, arith.FPToUIOp)


@dataclass(frozen=True)
class _Cast:
    """A store, and the casts of a float to the stored pixel."""

    store: memref.StoreOp
    casts: tuple[Operation, ...]
    """Casts of the float, the last one first."""
    places: tuple[Operation, ...]
    """Operations that compute the place of the store."""

    @property
    def float(self) -> SSAValue:
        """The value before the casts."""
        return self.casts[-1].operands[0]


@dataclass(frozen=True)
class SplitConversions(ModulePass):
    """Compute floats in one loop, and cast them to the stored narrow pixels in another."""

    name = "split-conversions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop, entry in vector_loops(op):
            if found := casts_of(loop):
                split_loop(loop, entry, [_late(cast) for cast in found]).attributes[SIMD] = loop.attributes[SIMD]


def casts_of(loop: scf.ForOp) -> list[_Cast]:
    """Find the casts of a loop that are to get a loop of their own; none if it is to stay unchanged."""
    return [cast for store in stores_at_end(loop) if (cast := _cast_of(store, loop)) is not None]


def _cast_of(store: memref.StoreOp, loop: scf.ForOp) -> _Cast | None:
    casts: list[Operation] = []
    value = store.value
    while isinstance(op := value.owner, (*_CASTS, arith.TruncIOp)) and op.parent is loop.body.block:
        casts.append(op)
        value = op.operands[0]
        if isinstance(op, _CASTS):
            where = places(store, loop)
            # one that is only loaded is kept already
            computed = isinstance(value.owner, Operation) and not isinstance(value.owner, memref.LoadOp)
            if where is None or not computed or _bits(value.type) < RATIO * _bits(store.value.type):
                return None
            return _Cast(store, tuple(casts), tuple(where))
    return None


def _bits(type: Attribute) -> int:
    if isinstance(type, IntegerType):
        return int(type.width.data)
    return int(type.bitwidth) if isinstance(type, AnyFloat) else 0


def _late(cast: _Cast) -> SplitStore:
    operations = (*cast.places, *reversed(cast.casts), cast.store)
    return SplitStore(cast.store, cast.float, f"kept_{cast.store.memref.name_hint or 'row'}", operations)
