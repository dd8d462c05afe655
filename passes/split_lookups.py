"""`split-lookups`: split a loop that stores narrow table entries into one that computes places and one that loads.

    scf.for %x = %a to %b {                       scf.for %part = %a to %b step 1024 {
      ...                                           scf.for %x = %part to %end {
      %i = arith.index_cast %v                        ...
      %p = memref.load %table[%i] : i8     =>         memref.store %i, %kept[%x - %part] : index
      memref.store %p, %out[%x] : i8                } {kernel.simd}
    } {kernel.simd}                                 scf.for %x = %part to %end { load, load %table, store }
                                                  }

Processors have gathers of 32 and 64 bits only, so compilers do not vectorise loops with narrow table lookups, including
the computation of their places. After the split, the second loop only looks up. For CPUs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilefuse.analysis.dependence import depending
from tilefuse.passes.row_parts import SplitStore, number_width, places, split_loop, stores_at_end, vector_loops

GATHERED_BITS = 32
"""Width of the smallest numbers that processors gather."""
LEAST_OPERATIONS = 8
"""Fewest operations on numbers before a lookup for which a vectorised loop of its own pays."""
_CASTS = (arith.TruncIOp, arith.ExtUIOp, arith.ExtSIOp)


@dataclass(frozen=True)
class _Lookup:
    """A store, the load from a table that it stores, and the casts in between."""

    store: memref.StoreOp
    casts: tuple[Operation, ...]
    """Casts of the entry, the first one first."""
    load: memref.LoadOp
    index: int
    """Number of the load's index that data decide."""
    places: tuple[Operation, ...]
    """Operations that compute the place of the store, and the other indices."""


@dataclass(frozen=True)
class SplitLookups(ModulePass):
    """Compute the table indices in one loop; look up and store the narrow entries in another."""

    name = "split-lookups"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop, entry in vector_loops(op):
            if found := lookups_of(loop):
                split_loop(loop, entry, [_late(look) for look in found])


def lookups_of(loop: scf.ForOp) -> list[_Lookup]:
    """Find the lookups of a loop that are to get a loop of their own; none if it is to stay unchanged."""
    block = loop.body.block
    loads = [op.results[0] for op in block.ops if isinstance(op, memref.LoadOp)]
    computed = [op for op in block.ops if op.name.startswith(("arith.", "math.")) and not _is_index(op)]
    if len(computed) < LEAST_OPERATIONS:
        return []
    by_data = depending(block.ops, loads)
    found = [_lookup_of(store, loop, by_data) for store in stores_at_end(loop)]
    rest = {op for look in found if look is not None for op in (look.load, *look.casts)}
    loops = [look for look in found if look is not None]
    # what else is narrow and looked up would keep the first loop from vectors
    others = [op for op in block.ops if isinstance(op, memref.LoadOp) and op not in rest]
    return [] if any(_is_narrow(op) and not by_data.isdisjoint(op.indices) for op in others) else loops


def _is_index(op: Operation) -> bool:
    return isinstance(op, arith.ConstantOp) or all(isinstance(v.type, IndexType) for v in op.results)


def _is_narrow(load: memref.LoadOp) -> bool:
    return 0 < number_width(load.res.type) < GATHERED_BITS


def _lookup_of(store: memref.StoreOp, loop: scf.ForOp, by_data: Collection[SSAValue]) -> _Lookup | None:
    casts: list[Operation] = []
    value = store.value
    while isinstance(op := value.owner, _CASTS) and op.parent is loop.body.block and _used_once(value):
        casts.insert(0, op)
        value = op.operands[0]
    load = value.owner
    if not isinstance(load, memref.LoadOp) or load.parent is not loop.body.block or not _used_once(value):
        return None
    decided = [i for i, index in enumerate(load.indices) if index in by_data]
    where, others = places(store, loop), places(load, loop, leave=decided)
    if len(decided) != 1 or not _is_narrow(load) or where is None or others is None:
        return None
    needed = {*where, *others}
    return _Lookup(store, tuple(casts), load, decided[0], tuple(op for op in loop.body.block.ops if op in needed))


def _used_once(value: SSAValue) -> bool:
    return len(list(value.uses)) == 1


def _late(look: _Lookup) -> SplitStore:
    operations = (*look.places, look.load, *look.casts, look.store)
    name = f"at_{look.load.memref.name_hint or 'table'}"
    return SplitStore(look.store, look.load.indices[look.index], name, operations, (*reversed(look.casts), look.load))
