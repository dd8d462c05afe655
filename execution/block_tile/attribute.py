"""The schedule attribute of a block tile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from tilefuse.execution.tile_schedule import TileSchedule


@irdl_attr_definition(init=False)
class BlockSchedule(TileSchedule):
    """`#schedule.block_tile<tile = [128, 32], threads = [32, 8], vector = 4, unroll = [1, 2]>`.

    `unroll = [2, 4]`: unroll factors of a thread's loops over its points, x first. A thread has `tile / threads`
    points; an iteration computes `vector` of them along x, one along other dimensions. Unrolled rows are computed
    together, and load common values once. Default: fully unrolled, except that a block of a single thread has factors
    of 1, and the compiler vectorises its loop over x.

    `cache_inputs = 1`: a block that computes the steps of an update first copies to shared memory all input points that
    the steps read at places that depend on the step.
    """

    name = "schedule.block_tile"

    PARAMETERS: ClassVar = {"tile": None, "threads": None, "vector": 1, "unroll": (), "blocks": 0, "cache_inputs": 0}

    @property
    def unroll_factors(self) -> tuple[int, ...]:
        """Unroll factors of a thread's loops, x first; empty if all are fully unrolled."""
        return self.numbers("unroll")

    @property
    def caches_inputs(self) -> bool:
        """Whether a block keeps in shared memory the input points that all steps of an update read."""
        return bool(self.number("cache_inputs"))

    @property
    def one_thread(self) -> bool:
        """Whether a block is a single thread, as on CPUs."""
        return math.prod(self.thread_counts) == 1

    @property
    def piece(self) -> int:
        """Consecutive points in x that a thread computes together."""
        if self.one_thread or not self.tile_sizes:
            return 1
        return max(1, min(self.vector_width, self.tile_sizes[0] // self.thread_counts[0]))

    @property
    def rounds(self) -> tuple[int, ...]:
        """Iterations of a thread's loops over its points, x first."""
        points = [size // count for size, count in zip(self.tile_sizes, self.thread_counts, strict=True)]
        return tuple(n if d else n // self.piece for d, n in enumerate(points))

    @property
    def micro_tile(self) -> tuple[int, ...]:
        """Points that a thread computes together, x first."""
        if self.one_thread:
            return self.unroll_factors or (1,) * len(self.tile_sizes)
        return (self.piece, *(self.unroll_factors or self.rounds)[1:])[: len(self.tile_sizes)]

    def changed(self, **changes: int | Sequence[int]) -> Self:
        """Copy the schedule with changed parameters; `unroll` factors that no longer divide shrink until they do."""
        if "unroll" in changes or not self.unroll_factors:
            return super().changed(**changes)
        new = super().changed(**changes, unroll=())
        factors = [math.gcd(f, n) for f, n in zip(self.unroll_factors, new.rounds, strict=True)]
        return new.changed(unroll=factors)

    def verify(self) -> None:
        super().verify()
        for d, (size, threads) in enumerate(zip(self.tile_sizes, self.thread_counts, strict=True)):
            if size < threads:
                raise VerifyException(f"a tile of {size} points in dimension {d} has too few for {threads} threads")
        if not (factors := self.unroll_factors):
            return
        if len(factors) != len(self.tile_sizes):
            raise VerifyException(f"tile has {len(self.tile_sizes)} dimensions but unroll has {len(factors)}")
        for d, (factor, rounds) in enumerate(zip(factors, self.rounds, strict=True)):
            if factor <= 0 or rounds % factor:
                raise VerifyException(
                    f"unroll = {factor} in dimension {d} does not divide the {rounds} rounds of a thread's loop there"
                )
