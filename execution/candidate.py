"""Candidate schedules of the search, with their predicted time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tilefuse.dialects.img.attrs import Level, Memory
from tilefuse.dialects.img.schedule import ParameterValue
from tilefuse.execution.features import Features

Kind = tuple[str, tuple[int, ...], tuple[int, ...], int, bool]
"""Key under which registers of a kernel are known: model, tile, threads, vector, whether blocks compute rows once."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The place of one stage."""

    level: Level
    memory: Memory
    slot: int = 0
    pad: int = 0


@dataclass(frozen=True)
class SearchOptions:
    """Requests to the search besides the lowest predicted time."""

    shape: str | None = None
    """The execution model, by name; None for any."""
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    """Parameters of that model that restrict the search (`ExecutionModel.search_parameters`)."""
    needs: Mapping[Kind, int] = field(default_factory=dict)
    """Registers per thread that the compiler reported for schedules."""
    float_order: bool = False
    """Whether sums and products of floats are computed in the order of their domain."""
    redundant_tables: bool = True
    """Whether each block may compute the whole of a fused table, redundantly."""
    thorough: bool = True
    """False for the comparison of groups: fewer schedules, without surely more expensive ones than before."""


@dataclass(frozen=True)
class Candidate:
    """A schedule for one group, its places, and its predicted time."""

    shape: str
    """The execution model, by name."""
    tile: tuple[int, ...]
    threads: tuple[int, ...]
    vector: int
    places: Mapping[int, Placement]
    features: Features
    microseconds: float
    """Result of `predict` on the features; less if it is compared with schedules of known registers."""
    blocks: int = 0
    """Resident blocks per multiprocessor for which registers are bounded; 0 for no bound."""

    def by_itself(self, alone: bool) -> Candidate:
        """Return the candidate for a group with or without other groups, whose results may be in the cache."""
        return self

    def discounted(self, share: float) -> Candidate:
        """Return the candidate with a discount on its time, as a handicap for less certain predictions."""
        return replace(self, microseconds=self.microseconds * (1.0 - share))

    @property
    def kind(self) -> Kind:
        """Key under which register needs are recorded."""
        return (self.shape, self.tile, self.threads, self.vector, self.exchanges)

    @property
    def exchanges(self) -> bool:
        """Whether stages are computed once per block; in a warp tile, warps then exchange rows."""
        return any(p.level is Level.Block for p in self.places.values())
