"""Loads of a block-tile thread: adjacent points share their neighbourhoods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from tilefuse.analysis.index import AnyIndex, GeneralIndex, Index
from tilefuse.analysis.model import Node
from tilefuse.execution.block_tile.pieces import runs

MOST_LOADED_AHEAD = 48
"""Values of one function that a thread loads ahead (`execution/block_tile/pieces.py`)."""
PHASE_COST = 40.0
"""Instructions of each thread for each stage in shared memory: a barrier, and lanes without work before it."""
INDEX_COST = 1.5
"""Instructions of address arithmetic per load that the threads do not share."""
BANKS = 32
"""Banks of shared memory, each of 4 bytes."""
MOST_AT_ONCE = 128
"""Bytes of a load that all lanes of a warp share in one pass."""

FEW_GATHERED_LOADS = 16
"""Loads for a point in x and y at computed places, up to which these count as those of other places do."""

ReadOffsets = tuple[tuple[int, ...], ...]


@lru_cache(maxsize=4096)
def shared_loads(reads: ReadOffsets, rows_per_thread: int, times: int = 1) -> float:
    """Count the loads per point of distinct offsets if a thread keeps values that adjacent points share.

    `times`: rows of what is read from one row of the points to the next.
    """
    if not reads:
        return 0.0
    rows: dict[tuple[int, ...], set[int]] = {}
    for offset in reads:
        rows.setdefault(tuple(offset[:1]) + tuple(offset[2:]), set()).add(offset[1] if len(offset) > 1 else 0)
    p = rows_per_thread
    return sum(len({y + j * times for y in ys for j in range(p)}) for ys in rows.values()) / p


@lru_cache(maxsize=4096)
def piece_loads(
    reads: ReadOffsets, piece: int, rows_per_thread: int, bytes: int, times: tuple[int, int] = (1, 1)
) -> tuple[float, int]:
    """Return (loads per point, values in registers) of a thread that computes `piece` points along x of each row.

    What these read is loaded by accesses of at most 16 bytes, once; (0, 0) for more values than `MOST_LOADED_AHEAD`.
    `times`: columns and rows of what is read from one point to the next.
    """
    windows: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    if not all(reads):
        return 0.0, 0
    if not times[0]:
        values = len({(at[0], *place) for j in range(rows_per_thread) for at, place in _in_row(reads, j, times[1])})
        return (values / (piece * rows_per_thread), values) if values <= MOST_LOADED_AHEAD else (0.0, 0)
    for x, *rest in reads:
        windows.setdefault(tuple(rest[1:]), []).append((x, rest[0] if rest else 0))
    loads, values = 0, 0
    for offsets in windows.values():
        xs, ys = [x for x, _ in offsets], [y for _, y in offsets]
        rows = max(ys) - min(ys) + (rows_per_thread - 1) * times[1] + 1
        values += (max(xs) - min(xs) + (piece - 1) * times[0] + 1) * rows
        # whole accesses, and narrower ones at the ends
        beyond = max(xs) - (times[0] - 1)
        beside = max(0, -min(xs)).bit_count() + max(0, beyond).bit_count()
        loads += (max(1, piece * times[0] * bytes // 16) + beside) * rows
    return (loads / (piece * rows_per_thread), values) if values <= MOST_LOADED_AHEAD else (0.0, 0)


@lru_cache(maxsize=1024)
def passes(bytes: int, stride: int) -> int:
    """Count the bank passes of a shared load of `bytes` per lane, `stride` bytes from lane to lane."""
    lanes = max(1, min(32, MOST_AT_ONCE // bytes))
    words = {(lane * stride + byte) // 4 for lane in range(lanes) for byte in range(0, bytes, min(4, bytes))}
    return 32 // lanes * max(Counter(word % BANKS for word in words).values())


@lru_cache(maxsize=4096)
def warp_passes(reads: ReadOffsets, piece: int, rows_per_thread: int, bytes: int, times: tuple[int, int]) -> float:
    """Count the bank passes of a warp per point of each lane, if a thread computes `piece` points of each row.

    These read shared memory at `reads` from `times` their own coordinates.
    """
    if not all(reads):
        return 1 / (piece * rows_per_thread)  # one value, which all lanes get at once
    windows: dict[tuple[int, ...], set[int]] = {}
    for j in range(rows_per_thread):
        for (x, *_), row in _in_row(reads, j, times[1]):
            windows.setdefault(row, set()).update(x + i * times[0] for i in range(piece))
    together = times[0] and piece_loads(reads, piece, rows_per_thread, bytes, times)[1]
    width = piece & -piece if together else 1
    width, stride, found = min(width, max(1, 16 // bytes)), piece * times[0] * bytes, 0
    for columns in windows.values():
        for low, high in _near(columns, width):
            for first, count in runs(low, high, width):
                if not columns.isdisjoint(range(first, first + count)):
                    found += passes(count * bytes, stride)
    return found / (piece * rows_per_thread)


def _in_row(reads: ReadOffsets, row: int, times: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Give the reads of a row of a thread's points, each with the coordinates of its place after x."""
    for at in reads:
        yield at, ((at[1] if len(at) > 1 else 0) + row * times, *at[2:])


def _near(columns: set[int], width: int) -> list[tuple[int, int]]:
    """Return the first and last column of each cluster of accesses: clusters far apart are counted separately."""
    known = sorted(columns)
    gaps = [(a, b) for a, b in pairwise(known) if b - a > 4 * width]
    firsts = [known[0], *(b - b % width for _, b in gaps)]
    return list(zip(firsts, [*(a - a % width + width - 1 for a, _ in gaps), known[-1]], strict=True))


@dataclass(frozen=True, slots=True)
class Read:
    """The reads of one function by a stage at constant offsets, with equally scaled coordinates."""

    producer: int
    offsets: ReadOffsets
    times: tuple[int, int]
    """Columns and rows of the function from one point to the next."""
    alike: bool
    """Whether all points beside one another in the dimensions after x and y have the same ones."""


def times_of(indices: Sequence[AnyIndex]) -> tuple[int, int]:
    """Return the columns and rows of the function per step of its reader; 1 along an index of another kind.

    No columns where all points of a row read the same: a load of one place serves all of a warp.
    """
    found = [1, 1]
    if all(isinstance(index, Index) and index.var != 0 for index in indices):
        found[0] = 0
    for d, index in enumerate(indices[:2]):
        if isinstance(index, Index) and index.var == d and index.den == 1:
            found[d] = max(1, index.num)
    return found[0], found[1]


class Loads(NamedTuple):
    """The loads of one function by a stage, per point."""

    loads: float
    values: int
    """Loaded ahead by a thread, for all of its points."""
    passes: float
    """Passes of a warp through the banks of shared memory, if the function is there."""


def loads_of(node: Node, read: Read, piece: int, rows: int, deep: int, bytes: int) -> Loads:
    """Count the loads of a function of `bytes` per element, by threads with `piece` points in each of `rows`."""
    loads, values = piece_loads(read.offsets, piece, rows, bytes, read.times) if piece > 1 else (0.0, 0)
    if piece > 1 and deep * (gathered := _computed_places(node, read.producer)) > FEW_GATHERED_LOADS:
        loads = float(gathered)  # of several points side by side, each has its own
    alike = deep if read.alike else 1
    loads = loads or shared_loads(read.offsets, rows, read.times[1])
    return Loads(loads / alike, values, warp_passes(read.offsets, piece, rows, bytes, read.times) / alike)


def _computed_places(node: Node, producer: int) -> int:
    """Return the reads of a producer at places that do not follow the reader's points."""
    reads = (access.indices for access in node.accesses if access.producer == producer)
    return sum(any(isinstance(i, GeneralIndex) for i in indices) for indices in reads)
