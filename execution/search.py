"""The search over the schedules of a group: those of every execution model, and the cheapest of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from tilefuse.analysis.machine import Machine
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.points import nominal_extents
from tilefuse.analysis.regions import NotFusable, alignment, follow_chain
from tilefuse.dialects.img.attrs import Level, Memory, Shape
from tilefuse.execution.block_tile.cost import BlockTiles, estimate, tile_candidates, whole_where_fixed
from tilefuse.execution.block_tile.placement import Placement
from tilefuse.execution.candidate import Candidate
from tilefuse.execution.warp_tile.cost import Kind, warp_candidates

CODE_KEPT = 5000
"""Instructions that stay in the instruction caches from one launch to the next: about 80 KB."""
FETCH_US = 0.0018
"""Microseconds to fetch an instruction that does not, by all multiprocessors together."""
VERSIONS = 2.2
"""Instructions of a kernel that run over those of a tile inside the picture: tiles at the edges have their version."""


def nominal_box(model: PipelineModel, output: int, extent: Sequence[int]) -> tuple[int, ...]:
    """The extents that costs are computed for: declared ones, else those of a picture, or what is needed, if less."""
    node = model.nodes[output]
    picture = nominal_extents(node.bounds, extent)
    # a halo around the picture counts as none: it is small, and stages of a chain are alike without it
    needed = node.needed or picture
    return tuple(
        n if declared is not None else min(n, needed[d])
        for d, (n, declared) in enumerate(zip(picture, node.bounds, strict=True))
    )


def schedules(
    model: PipelineModel,
    members: Sequence[int],
    output: int,
    machine: Machine,
    extent: Sequence[int],
    shape: Shape | None = None,
    exchange: bool | None = None,
    needs: Mapping[Kind, int] | None = None,
    thorough: bool = True,
) -> Iterator[Candidate]:
    """Every schedule of a group that the search compares, with its cost; options as for `best_schedule`.

    Raises NotFusable for an illegal group.
    """
    if model.nodes[output].rank == 0:
        if len(members) > 1:
            raise NotFusable("a single value is a kernel of its own")
        yield Candidate(Shape.BlockTile, (), (), 1, {}, machine.launch_us, 0)
        return
    follow = follow_chain(model, members, output)
    box = nominal_box(model, output, extent)
    if machine.is_gpu and (shape is None or shape is Shape.WarpTile):
        inner = [id for id in members if id != output]
        all_places: dict[tuple[int, ...], dict[int, Placement]] = {}
        for w in warp_candidates(model, members, output, follow, machine, box, exchange, needs, thorough):
            if (places := all_places.get(w.exchanged)) is None:
                places = all_places[w.exchanged] = {
                    id: Placement(Level.Block if id in w.exchanged else Level.Warp, Memory.Register) for id in inner
                }
            yield Candidate(
                Shape.WarpTile, w.tile, w.threads, w.vector, places, w.microseconds, 0, w.blocks, w.work,
                w.ahead, w.ahead_us, w.even,
            )  # fmt: skip
    if shape is Shape.WarpTile:
        return
    align = alignment(follow, model.nodes[output].rank)
    bounds = model.nodes[output].bounds
    tiles = BlockTiles(model, members, output, follow)
    for tile, threads, vector in tile_candidates(machine, box, bounds, model.nodes[output].bytes, thorough):
        tile, threads, vector = whole_where_fixed(model, output, tile, threads, vector)
        if any(t % a for t, a in zip(tile, align, strict=True)):
            continue
        candidate = estimate(tiles, machine, box, tile, threads, vector)
        if candidate is not None:
            yield candidate


def best_for_like(found: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """Of the schedules of groups that differ only in how their pictures lie, one each, all alike if that is cheaper.

    Groups with one schedule are one kernel. Several with much code push each other out of the instruction caches, and
    each launch fetches its code again.
    """
    apart = [min(candidates, key=lambda c: c.microseconds) for candidates in found]
    hot = {_kind(c): VERSIONS * c.work.code for c in apart if c.work is not None}
    if len(hot) < 2 or sum(hot.values()) < CODE_KEPT:
        return apart
    fetched = sum(hot.get(_kind(c), 0.0) for c, before in zip(apart, [apart[-1], *apart]) if _kind(c) != _kind(before))
    least = sum(c.microseconds for c in apart) + fetched * FETCH_US
    first, *others = ({_kind(c): c for c in candidates} for candidates in found)
    best = apart
    for kind in first:
        together = [first[kind], *(other[kind] for other in others if kind in other)]
        if len(together) == len(found) and (cost := sum(c.microseconds for c in together)) < least:
            best, least = together, cost
    return best


def _kind(c: Candidate) -> Hashable:
    return c.shape, c.tile, c.threads, c.vector, c.blocks, c.exchanges


def best_schedule(
    model: PipelineModel,
    members: Sequence[int],
    output: int,
    machine: Machine,
    extent: Sequence[int],
    shape: Shape | None = None,
    exchange: bool | None = None,
    needs: Mapping[Kind, int] | None = None,
    thorough: bool = True,
) -> Candidate | None:
    """The cheapest schedule of a group, of one execution model or of any; None if none fits.

    `exchange`: whether rows of a warp tile go from warp to warp; None for what is cheaper. `needs`: registers that
    warp tiles were found to need. Not `thorough`: without blocks of other numbers of warps, to compare groups.

    Raises NotFusable for an illegal group.
    """
    found = schedules(model, members, output, machine, extent, shape, exchange, needs, thorough)
    return min(found, key=lambda c: c.microseconds, default=None)
