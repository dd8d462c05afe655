"""Flags of a warp tile's body: facts about its tile, constant in each version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.ir import SSAValue


@dataclass(frozen=True)
class TileFlags:
    """Facts about the tile that a version serves."""

    vectors_uniform: SSAValue | None = None
    """Whether, in a border tile, each lane's vector of a row lies inside its box, or outside, with all its columns."""
    stores_uniform: SSAValue | None = None
    """Whether that holds for the vectors that are stored, whatever those that are loaded do."""
    x_edge_only: SSAValue | None = None
    """Whether such a tile is cut off along x only: none of its rows is moved, or the first or last of a buffer."""
    aligned: Mapping[SSAValue, SSAValue] = field(default_factory=dict)
    """Whether that is one access: it starts at a multiple of its size. Of functions of which the kernel asks."""
    moves_in: bool = False
    """Whether the last tile of a row begins where all of it lies in the picture, if it is at a border."""
