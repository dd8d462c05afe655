"""Prefetches of the cache lines that a loop will write.

A core that writes to a line waits for its contents. Hardware fetches them ahead along long rows, not along short ones
that lie apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.memref_prefetch import PrefetchOp
from tilefuse.lowering.emit import Emitter, Num

CPU_LINE_BYTES = 64
"""Bytes of a cache line of a CPU; where lines are of 128, half of the prefetches are for nothing."""
NEAREST = 3
"""Locality of the first cache."""
STEPS_AHEAD = 4
"""Steps from a prefetch to the write, of loops whose steps write a short row each: with 2 they are as fast, with 8 some
take 1.06 of the time."""


def prefetch_row(e: Emitter, memref: SSAValue, index: Sequence[Num], count: Num) -> None:
    """Prefetch, to be written, the lines of `count` contiguous elements from `index` on; some may not exist."""
    assert isinstance(memref.type, MemRefType)
    *outer, first = index
    with e.loop(count, "line", step=max(1, CPU_LINE_BYTES // element_bytes(memref.type.element_type))) as offset:
        at = [e.value(i) for i in (*outer, e.add(first, offset))]
        e.effect(PrefetchOp(memref, at, NEAREST, is_write=True))
