"""Legality of a scatter: with tables that blocks share, and with a table per thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType

from tilefuse.dialects.img.types import FuncType
from tilefuse.dialects.memref_atomics import ATOMIC_WIDTHS
from tilefuse.execution.scatter.table import table_bytes, window
from tilefuse.targets.limits import STATIC_SHARED_LIMIT

if TYPE_CHECKING:
    from tilefuse.dialects.img.ops import UpdateOp
    from tilefuse.execution.facts import GroupFacts

ATOMIC_COMBINERS = ("add", "min", "max", "and", "or", "xor")
WARP_THREADS = 32
ORDERED = "its steps must run in order: they read or overwrite values of other steps"

STAGE_BESIDE = "a stage is fused with it, and its terms are combined with values in memory"


NOTHING = "its domain has no points"
"""A table would be of places that nothing needs."""


def why_not_thread_tables(facts: GroupFacts) -> str | None:
    """Explain why threads of an update cannot have private tables."""
    update = facts.update.update
    if facts.update.reads_itself:
        return ORDERED
    if facts.fused_nodes and (not facts.has_only_prologue or len(update.pure) == update.rank):
        return "stages fused with it need a thread for each of its points"
    return why_not_thread_tables_of(update)


def why_not_thread_tables_of(update: UpdateOp) -> str | None:
    """Explain why an update has no table per pure point."""
    if update.is_over_nothing:
        return NOTHING
    box = window(update)
    if not update.pure or not update.domain or box is None:
        return "thread_tables needs pure coordinates, a domain, and a known number of written places"
    smallest = table_bytes(update, box.size, WARP_THREADS)
    return None if smallest <= STATIC_SHARED_LIMIT else f"tables of {WARP_THREADS} threads have {smallest} bytes"


def why_not_ordered(facts: GroupFacts) -> str | None:
    """Explain why tables of threads cannot be combined in one order."""
    update = facts.update.update
    if not facts.update.commutes:
        return ORDERED
    if facts.fused_nodes:
        return STAGE_BESIDE
    if update.is_over_nothing:
        return NOTHING
    for old in update.old_funcs:
        element = cast(FuncType, old.type).element
        narrow = isinstance(element, IntegerType) and element.width.data < 8
        if narrow or not isinstance(element, IntegerType | Float32Type | Float64Type):
            return f"sums of {element} lose too much precision in another order"
    if not update.domain or window(update) is None:
        return "a table needs a domain, and a known number of written places"
    return None


def why_not_shared(facts: GroupFacts) -> str | None:
    """Explain why points of an update cannot run concurrently, with tables that lanes share."""
    update = facts.update.update
    if not facts.update.commutes:
        return ORDERED
    if facts.fused_nodes:
        return STAGE_BESIDE
    if wrong := [c for c in update.combiners if c not in ATOMIC_COMBINERS]:
        return f"'{wrong[0]}' is not an atomic operation; supported are {', '.join(ATOMIC_COMBINERS)}"
    for old in update.old_funcs:
        element = cast(FuncType, old.type).element
        if not isinstance(element, IntegerType) or element.width.data not in ATOMIC_WIDTHS:
            widths = " and ".join(map(str, ATOMIC_WIDTHS))
            return f"there are no atomics on elements of {element}, only on integers of {widths} bits"
    return None if update.domain else "it has no domain to share out"
