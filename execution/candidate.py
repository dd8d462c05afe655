"""A schedule that the search compares, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilefuse.dialects.img.attrs import Level, Shape
from tilefuse.execution.block_tile.placement import Placement
from tilefuse.execution.warp_tile.cost import Kind
from tilefuse.execution.warp_tile.prediction import Work


@dataclass(frozen=True)
class Candidate:
    """A schedule for one group, its places, and what it costs."""

    shape: Shape
    tile: tuple[int, ...]
    threads: tuple[int, ...]
    vector: int
    places: dict[int, Placement]
    microseconds: float
    shared: int
    blocks: int = 0
    """Blocks per multiprocessor that there should be registers for; 0 to leave it to the compiler."""
    work: Work | None = None
    """Of a warp tile: what its time follows from."""
    ahead: int = 0
    """`ahead` of the schedule."""
    ahead_us: float = 0.0
    """What that saves a group that is all of its pipeline; not taken off `microseconds` yet."""
    even: bool = False
    """Whether no more than `blocks` are to share a multiprocessor, either."""

    def by_itself(self, alone: bool) -> Candidate:
        """The candidate for a group that is all of its pipeline, or not: what other groups give is in the cache."""
        if not alone:
            return replace(self, ahead=0, ahead_us=0.0)
        return replace(self, microseconds=self.microseconds - self.ahead_us, ahead_us=0.0)

    def as_known(self, share: float) -> Candidate:
        """The candidate where it is compared with what is not known as well: by so much less time."""
        return replace(self, microseconds=self.microseconds * (1.0 - share))

    @property
    def kind(self) -> Kind | None:
        """What registers are known by; None of block tiles, whose are not."""
        return (self.tile, self.threads, self.vector, self.exchanges) if self.shape is Shape.WarpTile else None

    @property
    def exchanges(self) -> bool:
        """Of a warp tile: whether rows go from warp to warp."""
        return any(p.level is Level.Block for p in self.places.values())
