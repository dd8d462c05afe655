"""The plan of a kernel: all that its text follows from, decided once per group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from tilefuse.analysis.index import Span
from tilefuse.analysis.model import PipelineModel
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.block_order import deep_first
from tilefuse.execution.tile_grid import origin_alignment
from tilefuse.execution.tile_schedule import TileSchedule
from tilefuse.lowering.abi import kernel_args
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.reads import KernelBuffer, TileContext
from tilefuse.lowering.stored import follow_of, stored_stages


class KernelPlan(ABC):
    """The kernel of one group: a grid of blocks, each of which computes a tile of the anchor, or several in turn.

    `execution/kernel.py` makes the kernel of it, which finds the tiles and calls the tile body; what is in the body,
    and what is asked before it is called, is the execution model's.
    """

    def __init__(self, group: GroupOp, model: PipelineModel):
        self.group, self.model = group, model
        self.schedule = TileSchedule.expect(group.schedule)
        self.rank = group.anchor.rank
        self.follow = follow_of(group, model)
        """Relation of the dimensions of each stage, by its node, to the tile's."""
        self.stored = stored_stages(group, model, self.follow)
        """Stages that a tile stores, the anchor first."""
        self.sizes = self.schedule.tile_sizes
        self.align = origin_alignment(group, model)
        """TileContext origins are multiples of this, per dimension."""
        self.args = kernel_args(group)
        self.reads: Sequence[tuple[SSAValue, Sequence[Span]]] = ()
        """Regions that interior tiles read beside the stages': per buffer, relative to the tile's origin in x and y."""
        self.deep_first = deep_first(group, model)
        """Whether blocks behind one another begin before those beside them."""
        self.x_spill = 0
        """Columns to either side of the tile that it may store, too."""
        self.checked: Sequence[SSAValue] = ()
        """The functions of which the kernel asks whether their rows start where vectors may (`aligned`)."""
        self.one_by_one = False
        """Whether the tile body is told that of each function, instead of having a version for all and for others."""
        self.x_edge_version = False
        """Whether border tiles that are cut off along x only have a version (`at_x_edges`)."""
        self.one_version = False
        """Whether all tiles run one text, which asks itself where the picture ends: as that of border tiles."""
        self.moves_in = False
        """Whether the last tile of a row begins where all of it lies in the picture, if it is at a border."""
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

    def aligned(self, e: Emitter, buffers: dict[SSAValue, KernelBuffer], origin: Sequence[Num]) -> list[SSAValue]:
        """Whether rows of each `checked` function start where vectors may."""
        return []

    def vectors_uniform(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> SSAValue | None:
        """Whether each vector that a thread of a border tile moves lies inside its box with all columns, or outside.

        None where that is never so: border tiles have one version then.
        """
        return None

    def at_x_edges(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> SSAValue | None:
        """Whether a border tile is cut off along x only, if there is an `x_edge_version`."""
        return None
