"""Loads of a thread in a block tile: its points share their neighbourhoods."""

from __future__ import annotations

from functools import lru_cache

MOST_LOADED_AHEAD = 48
"""Values of one function that a thread loads ahead (`execution/block_tile/pieces.py`)."""
PHASE_COST = 40.0
"""Instructions of each thread for each stage in shared memory: a barrier, and lanes without work before it."""
INDEX_COST = 1.5
"""Instructions of address arithmetic per load that the threads do not share."""


@lru_cache(maxsize=4096)
def shared_loads(reads: tuple[tuple[int, ...], ...], rows_per_thread: int) -> float:
    """Loads per point of distinct offsets, when a thread keeps values that its neighbouring points share."""
    if not reads:
        return 0.0
    rows: dict[tuple[int, ...], set[int]] = {}
    for offset in reads:
        rows.setdefault(tuple(offset[:1]) + tuple(offset[2:]), set()).add(offset[1] if len(offset) > 1 else 0)
    p = rows_per_thread
    return sum(len({y + j for y in ys for j in range(p)}) for ys in rows.values()) / p


@lru_cache(maxsize=4096)
def piece_loads(reads: tuple[tuple[int, ...], ...], piece: int, rows_per_thread: int, bytes: int) -> tuple[float, int]:
    """(loads per point, values in registers) of a thread that computes `piece` points along x of each of its rows.

    What these read is loaded by accesses of at most 16 bytes, once; (0, 0) for more values than `MOST_LOADED_AHEAD`.
    """
    windows: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    if not all(reads):
        return 0.0, 0
    for x, *rest in reads:
        windows.setdefault(tuple(rest[1:]), []).append((x, rest[0] if rest else 0))
    loads, values = 0, 0
    for offsets in windows.values():
        xs, ys = [x for x, _ in offsets], [y for _, y in offsets]
        rows = max(ys) - min(ys) + rows_per_thread
        values += (max(xs) - min(xs) + piece) * rows
        # whole accesses, and narrower ones at the ends
        beside = max(0, -min(xs)).bit_count() + max(0, max(xs)).bit_count()
        loads += (max(1, piece * bytes // 16) + beside) * rows
    return (loads / (piece * rows_per_thread), values) if values <= MOST_LOADED_AHEAD else (0.0, 0)
