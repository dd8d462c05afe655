"""Slices of a reduction's domain: points and steps of a block, and the shared memory of their operands."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.ops import UpdateOp
from tilefuse.execution.gemm.attribute import GemmSchedule
from tilefuse.execution.operands import DomainSizes, Operand, staged_operands
from tilefuse.lowering.emit import Num


def sizes_of(update: UpdateOp, schedule: GemmSchedule) -> DomainSizes:
    """Return the points of a tile and the steps of a slice."""
    found: dict[SSAValue, int] = dict(zip(update.pure, schedule.tile_sizes, strict=True))
    found |= {d.coordinate: n for d, n in zip(update.domain, schedule.slice, strict=False)}
    return {v: n for v, n in found.items() if n > 1}


def staged_bytes(update: UpdateOp, schedule: GemmSchedule) -> int:
    """Return the shared memory of a block."""
    if not schedule.slice:
        return 0
    return slice_bytes(staged_operands(update, sizes_of(update, schedule)), schedule.buffers)


def slice_bytes(staged: Sequence[Operand], buffers: int) -> int:
    """Return the shared memory of operands in several buffers."""
    return sum(-(-o.elements * o.bytes * buffers // 16) * 16 for o in staged)


def why_not_sliced(update: UpdateOp, sizes: Sequence[int]) -> str | None:
    """Explain in one sentence why a slice is not contiguous in domain order; None if it is."""
    if len(sizes) > len(update.domain):
        return f"a slice has {len(sizes)} dimensions but the domain has {len(update.domain)}"
    last = max((d for d, n in enumerate(sizes) if n > 1), default=0)
    for d, n in enumerate(sizes[:last]):
        extent = integer_constant(update.domain[d].extent)
        if extent != n:
            given = f"{n} steps along dimension {d} of the domain, and several further out"
            return f"a slice has {given}, but that has {'no constant extent' if extent is None else extent}"
    return None


def unrolled_steps(counts: Sequence[Num], unroll: int) -> list[int]:
    """Return the innermost steps of a slice that are unrolled, at most `unroll` together."""
    found: list[int] = []
    for n in counts:
        if not isinstance(n, int) or math.prod(found) * n > unroll:
            break
        found.append(n)
    return found
