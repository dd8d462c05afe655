"""Register estimates of block tiles, and schedules with fewer live values per thread."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tilefuse.analysis.index import Index
from tilefuse.analysis.model import Node
from tilefuse.execution.base import Spill
from tilefuse.execution.block_tile.attribute import BlockSchedule

OTHER_REGISTERS = 11.0
"""Registers of a thread beside all that follows."""
OF_DIMENSION, OF_BUFFER = 3.7, 2.0
"""Registers per coordinate of the anchor, and per function in global memory (addresses, sizes, strides)."""
STORED, LOADED, GATHERED_REGISTERS = 0.5, 0.6, 0.3
"""Registers per value that a thread stores, loads, and loads at a computed place; their lives overlap in part."""
MOST_LOADED, MOST_GATHERED = 100, 200
"""Values from which on no more are loaded ahead."""
BESIDE_LONGER = 0.15
"""Share of the fewer of what a thread holds for its own points and for such a stage that is kept beside the others."""
IN_PHASE, MOST_IN_PHASE = 0.65, 48.0
"""Registers per value that a thread loads and stores for a stage in shared memory, and the most values that count."""


@dataclass(slots=True)
class LiveValues:
    """Live values of a thread while it computes its own points, and the maximum over shared-memory stages."""

    stored: float = 0.0
    loaded: float = 0.0
    gathered: float = 0.0
    in_phase: float = 0.0

    def add_own(self, node: Node, points: Sequence[int], kept: Collection[int]) -> None:
        """Count a thread's loads for its own points of a stage; functions in `kept` are in registers already."""
        values, gathered = loaded_values(node, points, kept)
        self.loaded += values
        self.gathered += gathered

    def add_phase(self, node: Node, points: Sequence[int], kept: Collection[int]) -> None:
        """Count a thread's values while it computes points of a stage for shared memory."""
        self.in_phase = max(self.in_phase, sum(loaded_values(node, points, kept)) + math.prod(points) * words(node))

    def registers(self, rank: int, buffers: int, rounds: int = 1) -> float:
        """Estimate the registers that a CUDA compiler allocates; fitted to NVRTC's reports (benchmarks/results).

        `rounds`: how often the thread computes as many points further along x; their loads and stores overlap.
        """
        own = STORED * self.stored * rounds + LOADED * min(self.loaded * rounds, MOST_LOADED)
        own += GATHERED_REGISTERS * min(self.gathered, MOST_GATHERED)
        phase = IN_PHASE * min(self.in_phase, MOST_IN_PHASE)
        return (
            OTHER_REGISTERS
            + OF_DIMENSION * rank
            + OF_BUFFER * buffers
            + max(own, phase)
            + BESIDE_LONGER * min(own, phase)
        )


def words(node: Node) -> float:
    """Return the registers of a point's values: a narrow value has a whole one."""
    return sum(max(1.0, bytes / 4) for bytes in node.element_bytes)


def loaded_values(node: Node, points: Sequence[int], kept: Collection[int]) -> tuple[float, float]:
    """Return (values that a stage's points load together, values at computed places), without functions in `kept`."""
    offsets: dict[tuple[int, tuple[tuple[int | None, int, int], ...]], list[tuple[int, ...]]] = {}
    gathered, count = 0, math.prod(points)
    for access in node.accesses:
        if access.producer in kept:
            continue
        if not all(isinstance(i, Index) for i in access.indices):
            gathered += count
            continue
        steps = tuple((i.var, i.num, i.den) for i in access.indices if isinstance(i, Index))
        at = tuple(i.offset for i in access.indices if isinstance(i, Index))
        offsets.setdefault((access.producer, steps), []).append(at)
    found = 0
    for (_, steps), places in offsets.items():
        most = 1
        for d, (var, num, den) in enumerate(steps):
            extent = points[var] if var is not None and var < len(points) else 1
            most *= len({(x * num + place[d]) // den for x in range(extent) for place in places})
        found += min(most, len(places) * count)
    return found, gathered


def fewer_points(schedule: BlockSchedule, spill: Spill) -> BlockSchedule | None:
    """Reduce the points per thread in proportion to its spills; None if it has only one.

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
    """Halve the iterations of the dimension with most (or take the largest smaller divisor); else halve the vector."""
    factors = list(schedule.unroll_factors or schedule.rounds)
    if (most := max(factors[1:], default=1)) > 1:
        d = factors.index(most, 1)
        factors[d] = next(n for n in range(most // 2, 0, -1) if schedule.rounds[d] % n == 0)
        return schedule.changed(unroll=factors)
    return schedule.changed(vector=schedule.vector_width // 2) if schedule.piece > 1 else None
