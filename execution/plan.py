"""The kernel plan: everything on which a kernel's text depends, computed once per group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from xdsl.dialects import func
from xdsl.ir import SSAValue

from tilefuse.analysis.access import defining_op
from tilefuse.analysis.index import Span
from tilefuse.analysis.model import PipelineModel
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.block_order import deep_first
from tilefuse.execution.tile_grid import origin_alignment
from tilefuse.execution.tile_schedule import TileSchedule
from tilefuse.execution.versions import Versions
from tilefuse.lowering.abi import kernel_args
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.reads import TileContext
from tilefuse.lowering.stored import follow_of, stored_stages
from tilefuse.lowering.symbols import identifier


class TileFunction(NamedTuple):
    """A function of a tile that the kernel calls besides the tile body: it takes the origin of the tile."""

    role: str
    """Role of the function in the kernel, the end of its name."""
    emit: Callable[[Emitter, TileContext, Sequence[KernelBuffer]], None]


class TileOfBlock(Protocol):
    """Emitter of one block's tile, as seen by plans."""

    e: Emitter

    def call_of_origin(self, role: str, row: Num) -> func.CallOp:
        """Build the call of a `TileFunction` for the tile in tile row `row`, for later insertion."""

    def last_origin(self, d: int) -> Num:
        """Return the origin of the last tile in the picture; of the first tile if the picture is empty."""


class KernelPlan(ABC):
    """Kernel plan of one group: a grid of blocks, each of which computes a tile of the anchor.

    `execution/kernel.py` makes the kernel of it, which finds the tiles and calls the tile body; what is in the body,
    and the conditions that are computed before it is called, are the execution model's.
    """

    def __init__(self, group: GroupOp, model: PipelineModel):
        self.group, self.model = group, model
        self.schedule = TileSchedule.expect(group.schedule)
        self.domain = [] if not group.steps or group.update is None else group.update.domain
        """The dimensions of an update's domain, whose steps a tile computes one after the other."""
        self.rank = group.anchor.rank - len(self.domain)
        self.follow = follow_of(group, model)
        """Relation of the dimensions of each stage, by its node, to the tile's."""
        self.stored = stored_stages(group, model, self.follow)
        """Stages that a tile stores, the anchor first."""
        self.sizes = self.schedule.tile_sizes
        self.own_sizes = list(self.sizes[: self.rank])
        """Points of a tile that it stores, per dimension, of what lies in its box."""
        if group.steps and group.epilogue is not None and group.epilogue.bounds is not None:
            # of a small dimension, of which it has all that is added up, perhaps fewer
            declared = group.epilogue.bounds.data
            self.own_sizes = [n if b is None else b[1] for n, b in zip(self.own_sizes, declared, strict=True)]
        self.align = origin_alignment(group, model)
        """TileContext origins are multiples of this, per dimension."""
        self.args = kernel_args(group)
        self.reads: Sequence[tuple[SSAValue, Sequence[Span], Sequence[int | None]]] = ()
        """Regions that interior tiles read beside the stages': per buffer, with the dimension of the tile whose origin
        each span is counted from, if any."""
        self.deep_first = deep_first(group, model)
        """Whether blocks behind one another begin before those beside them."""
        self.flags: Sequence[str] = ()
        """Names of the flags of a tile beside `border`: `emit_versions` gives them, as `TileContext.flags`."""
        self.register_bounded = False
        """Whether the kernel has a bound on registers that leaves room for the schedule's `blocks`."""
        self.one_version = False
        """Whether all tiles run one text, which tests where the picture ends: as that of border tiles."""
        self.is_dynamic = False
        """Whether tiles are distributed dynamically over CPU threads (OpenMP: `schedule(dynamic)`)."""

    @abstractmethod
    def body(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> None:
        """Emit the operations that compute and store a tile."""

    def functions(self) -> Sequence[TileFunction]:
        """Return the functions that the kernel calls besides the tile body."""
        return ()

    def begin_block(self, block: TileOfBlock, row: Num) -> None:
        """Emit the operations of a block before its tile; `row`: its row of the grid."""

    def moved_origin(self, block: TileOfBlock, origin: Sequence[Num]) -> Sequence[Num]:
        """Return the origin of a tile that would begin at `origin`, if the last tiles are moved inwards."""
        return origin

    def stored_beyond(self, dim: int | None) -> int:
        """Return the points before and after a tile's own, along a dimension of the tile, that it may store, too."""
        return 0

    def emit_versions(
        self, versions: Versions, interior: SSAValue, tile: TileContext, outputs: Sequence[KernelBuffer]
    ) -> None:
        """Emit the calls of the tile body's versions, chosen by facts of the tile: interior or not, and `flags`."""
        versions.e.choose(interior, lambda: versions.call(versions.no), lambda: versions.call(versions.yes))


def argument_hint(value: SSAValue, fallback: str = "value") -> str:
    """Return the argument name of a function or scalar."""
    owner = value.owner
    if isinstance(owner, GroupOp):
        owner = defining_op(value)
    name = getattr(owner, "sym_name", None)
    return identifier(name.data if name is not None else (value.name_hint or fallback))
