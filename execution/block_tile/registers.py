"""Block tiles whose threads hold less in registers."""

from __future__ import annotations

import math

from tilefuse.execution.base import Spill
from tilefuse.execution.block_tile.attribute import BlockSchedule


def fewer_points(schedule: BlockSchedule, spill: Spill) -> BlockSchedule | None:
    """Have a thread compute fewer points together, by as much as its registers spill; None where it is one already.

    Fewer rounds are written out, then fewer points along x: the tile stays as it is. Fewer threads would not do, as
    each would hold as much as before.
    """
    need = spill.registers + spill.bytes // 4  # what was given, and what was missing, at 4 bytes each
    enough = math.prod(schedule.micro_tile) * spill.registers // need
    found = schedule
    while math.prod(found.micro_tile) > enough and (less := _halved(found)) is not None:
        found = less
    return None if found == schedule else found


def _halved(schedule: BlockSchedule) -> BlockSchedule | None:
    """Half as many rounds of the dimension with most of them, or the largest divisor below; else half the vector."""
    factors = list(schedule.unroll_factors or schedule.rounds)
    if (most := max(factors[1:], default=1)) > 1:
        d = factors.index(most, 1)
        factors[d] = next(n for n in range(most // 2, 0, -1) if schedule.rounds[d] % n == 0)
        return schedule.changed(unroll=factors)
    return schedule.changed(vector=schedule.vector_width // 2) if schedule.piece > 1 else None
