"""The warp dialect: tiles in the registers of a block's warps, and operations on whole tiles."""

from xdsl.ir import Dialect

from tilefuse.dialects.warp.layout import LayoutAttr, TileType
from tilefuse.dialects.warp.memory import BorderLoad, BorderStore, LoadOp, StoreOp
from tilefuse.dialects.warp.ops import AtOp, MapOp, NeighboursOp, WarpYieldOp
from tilefuse.dialects.warp.prefetch import WarpPrefetchOp

WARP = Dialect(
    "warp", [AtOp, LoadOp, MapOp, NeighboursOp, WarpPrefetchOp, StoreOp, WarpYieldOp], [LayoutAttr, TileType]
)

__all__ = [
    "WARP",
    "AtOp",
    "BorderLoad",
    "BorderStore",
    "LayoutAttr",
    "LoadOp",
    "MapOp",
    "NeighboursOp",
    "StoreOp",
    "TileType",
    "WarpPrefetchOp",
    "WarpYieldOp",
]  # fmt: skip
