"""The plan of a kernel: all that its text follows from, decided once per group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
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
from tilefuse.lowering.emit import Emitter
from tilefuse.lowering.reads import KernelBuffer, TileContext
from tilefuse.lowering.stored import follow_of, stored_stages
from tilefuse.lowering.symbols import word


class KernelPlan(ABC):
    """The kernel of one group: a grid of blocks, each of which computes a tile of the anchor, or several in turn.

    `execution/kernel.py` makes the kernel of it, which finds the tiles and calls the tile body; what is in the body,
    and what is asked before it is called, is the execution model's.
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
        self.align = origin_alignment(group, model)
        """TileContext origins are multiples of this, per dimension."""
        self.args = kernel_args(group)
        self.reads: Sequence[tuple[SSAValue, Sequence[Span], Sequence[int | None]]] = ()
        """Regions that interior tiles read beside the stages': per buffer, with the dimension of the tile whose origin
        each span is counted from, if any."""
        self.deep_first = deep_first(group, model)
        """Whether blocks behind one another begin before those beside them."""
        self.x_spill = 0
        """Columns to either side of the tile that it may store, too."""
        self.flags: Sequence[str] = ()
        """Names of the flags of a tile beside `border`: `emit_versions` gives them, as `TileContext.flags`."""
        self.register_bounded = False
        """Whether the kernel has a bound on registers that leaves room for the schedule's `blocks`."""
        self.one_version = False
        """Whether all tiles run one text, which asks itself where the picture ends: as that of border tiles."""
        self.inside = False
        """Whether the last tiles begin, in every dimension, where all of them lies in the picture: what two of them
        have is computed by both, and no tile asks which of its points are the picture's unless that is smaller."""
        self.as_they_come = False
        """Whether threads of a CPU take one tile after the other as they come, not each an equal share at once."""
        self.shared_arrays: Sequence[tuple[str, MemRefType]] = ()
        """Name and type of what the tiles of a block share: two places for each input that is copied a tile ahead."""
        self.rows_ahead = 0
        """So many rows of tiles below its own is the tile whose inputs a block asks for; 0 for none."""

    @abstractmethod
    def body(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> None:
        """Emit what computes and stores a tile."""

    def fetch(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> None:
        """Emit the copies into `shared_arrays` of the inputs of a tile that is computed later."""
        raise NotImplementedError(f"{type(self).__name__} has shared arrays and no fetch")

    def request(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> None:
        """Emit the requests for a tile's own part of the inputs, before it may be loaded, if there are `rows_ahead`."""
        raise NotImplementedError(f"{type(self).__name__} has rows ahead and no request")

    def emit_versions(
        self, versions: Versions, interior: SSAValue, tile: TileContext, outputs: Sequence[KernelBuffer]
    ) -> None:
        """Emit the call of the tile body, by what is known of the tile: whether it is interior, and `flags`."""
        versions.e.choose(interior, lambda: versions.call(versions.no), lambda: versions.call(versions.yes))


def argument_hint(value: SSAValue, fallback: str = "value") -> str:
    """Name of a kernel's argument for a function or scalar."""
    owner = value.owner
    if isinstance(owner, GroupOp):
        owner = defining_op(value)
    name = getattr(owner, "sym_name", None)
    return word(name.data if name is not None else (value.name_hint or fallback))
