"""Legality of warp tiles: stages must follow the tile one to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilefuse.analysis.index import AnyIndex, Index
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import Follow, NotFusable


def check_warp_group(model: PipelineModel, members: Sequence[int], follow: Mapping[int, tuple[Follow, ...]]) -> None:
    """Raise NotFusable unless every stage follows the warp's tile one to one in x and y.

    Of further dimensions a lane has all points, or they are tiled plane by plane, one to one too.
    """
    for id in members:
        node = model.nodes[id]
        dims = follow[id]
        if node.rank < 2 or dims[0] != Follow(0) or dims[1] != Follow(1):
            raise NotFusable(f"'{node.name}' does not follow x and y one to one, as warp tiles must")
        for d in dims[2:]:
            if d.dim is not None and (d.dim < 2 or d.ratio != 1):
                raise NotFusable(f"'{node.name}' does not follow the planes of the tile one to one, as warp tiles must")
    _check_sources(model, members, follow)


def _check_sources(model: PipelineModel, members: Sequence[int], follow: Mapping[int, tuple[Follow, ...]]) -> None:
    """Raise NotFusable if one input is loaded both at the tile's plane and at others."""
    known: dict[tuple[int, object], tuple[int | None, ...]] = {}
    for id in members:
        for access in model.nodes[id].hull:
            if access.producer in follow or not access.is_staged:
                continue
            along, name = followed_dimensions(access.indices, follow[id]), model.nodes[access.producer].name
            for i, d in zip(access.indices[2:], along, strict=True):
                if d is not None and (i.num, i.den) != (1, 1):  # type: ignore[union-attr]
                    raise NotFusable(f"'{name}' is read at planes that do not follow the tile one to one")
            if known.setdefault((access.producer, access.source), along) != along:
                raise NotFusable(f"'{name}' is read at planes that follow the tile, and at others")


def followed_dimensions(indices: Sequence[AnyIndex], reader_maps: Sequence[Follow]) -> tuple[int | None, ...]:
    """Return the tile dimension that each further index follows, given its reader's maps."""
    return tuple(reader_maps[i.var].dim if isinstance(i, Index) and i.var is not None else None for i in indices[2:])
