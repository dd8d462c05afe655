"""Tiles, threads and vectors of the block-tiled schedules that are worth comparing."""

from __future__ import annotations

from collections.abc import Iterator

from tilefuse.analysis.machine import Machine
from tilefuse.analysis.regions import SMALL_DIMENSION
from tilefuse.execution.facts import GroupFacts

ONE_ROW = {1: ((8, 8),), 2: ((8, 8),), 8: ((2, 2),)}
"""Further vectors, and points along x, of a thread where there is no other dimension, by the bytes of a point."""
ONE_ROW_STORED = {1: ((8, 16), (8, 32)), 2: ((8, 16),), 4: ((4, 8),), 8: ((2, 4),)}
"""Further ones where nothing is loaded, in blocks that do little more than begin."""
NARROW = 24
"""Points along x up to which warps are folded: lanes beside the picture would have nothing to do."""


def tile_candidates(
    facts: GroupFacts, machine: Machine, thorough: bool, *, loads: bool
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """Yield (tile, threads, vector): warps along x, powers of two elsewhere (the search space of Anderson 2021).

    Not `thorough`: with blocks of one size on GPUs, to compare groups. `loads`: whether the group loads anything.
    """
    rank = facts.rank - facts.domain
    box, bounds, bytes = facts.box[:rank], facts.bounds[:rank], facts.model.nodes[facts.output].bytes
    tail = [box[d] if bounds[d] is not None and box[d] <= SMALL_DIMENSION else 1 for d in range(rank)]
    if rank and bounds[0] is not None and box[0] <= SMALL_DIMENSION and rank > 1:
        # a small innermost dimension (interleaved channels): the next ones carry the threads
        small = box[0]
        for ty, py in ((32, 1), (64, 1), (128, 1)):
            for tz, pz in ((4, 1), (4, 2), (2, 4)) if rank > 2 else ((1, 1),):
                tile = [small, ty * py, *([tz * pz] if rank > 2 else []), *tail[3:]]
                threads = [1, ty, *([tz] if rank > 2 else []), *([1] * (rank - 3))]
                yield tuple(tile), tuple(threads if machine.is_gpu else [1] * rank), 1
        return
    if not machine.is_gpu:
        few = (1,) if rank > 1 and box[1] == 1 else ()  # rows beside the picture are computed, too
        for x in (64, 128, 256, 512, 1024):
            for y in (*few, 8, 16, 32, 64, 128) if rank > 1 else (1,):
                tile = [x, *([y] if rank > 1 else []), *tail[2:]]
                yield tuple(tile), (1,) * rank, 1
        return
    # (vector, points along x): pieces of 16 bytes take registers, so single points of 4 bytes are tried, too
    widths = {1: ((4, 4), (4, 8)), 2: ((2, 2), (2, 4)), 4: ((1, 1), (1, 2), (4, 4))}.get(bytes, ((1, 1), (1, 2)))
    widths += {2: ((4, 4),), 4: ((2, 2),)}.get(bytes, ())
    if rank == 1:
        widths = ONE_ROW.get(bytes, ()) + widths + (() if loads else ONE_ROW_STORED.get(bytes, ()))
    blocks = ((32, 4), (32, 8), (64, 4)) if rank > 1 else ((128, 1), (256, 1))
    if rank > 1 and box[0] <= NARROW:  # half a warp beside the other
        blocks = ((16, 8), (16, 16))
    for tx, ty in blocks if thorough else blocks[1:2]:
        for vector, px in widths:
            for py in (1, 2, 4, 8) if rank > 1 else (1,):
                tile = [tx * px, *([ty * py] if rank > 1 else []), *tail[2:]]
                yield tuple(tile), tuple([tx, *([ty] if rank > 1 else []), *([1] * (rank - 2))]), vector
