"""Candidate schedules of a reduction with staged operands: tiles and slices worth comparing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

from tilefuse.analysis.machine import Machine
from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.ops import UpdateOp
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.features import predict
from tilefuse.execution.gemm.attribute import MOST_POINTS_OF_THREAD, PATCH, GemmSchedule, fits_zigzag
from tilefuse.execution.gemm.candidate import GemmCandidate
from tilefuse.execution.gemm.features import StagedFeatures, shared, staged_loads
from tilefuse.execution.gemm.slices import sizes_of, slice_bytes, unrolled_steps
from tilefuse.execution.operands import Operand, affine_operands, worth_staging

SPLITS_ALONG_X = ((32, 4), (16, 4), (16, 8), (8, 8), (8, 4), (4, 4))
"""Threads and points of each along the first coordinate."""
SPLITS_ALONG_OTHERS = (
    (16, 8),
    (8, 8),
    (16, 4),
    (8, 4),
    (8, 10),
    (16, 10),
    (4, 5),
    (8, 2),
    (4, 2),
    (4, 4),
    (2, 4),
    (2, 5),
)
"""Threads and points of each along another coordinate."""
LEAST_AND_MOST_THREADS = (64, 256)
"""Least and largest number of threads of a block."""
WRITTEN_OUT = 576
"""Points times steps that are written out, at most."""
MOST_TILES = 96
"""Schedules that are compared."""
MOST_COVER = 1.25
"""Points of all tiles over those that are there, at most."""
SLICE_STEPS = 16
MOST_SLICE_STEPS = 32
SHORT_STEPS = 8
"""Steps of a dimension that lies whole in a slice."""
FULL_BUFFERS = 96 * 1024
"""Bytes of a block's arrays up to which there are three buffers."""


def staged_candidates(facts: GroupFacts, machine: Machine, read_bytes: float) -> Iterator[GemmCandidate]:
    """Return the sliced schedules worth comparing; `read_bytes`: of all functions read, each counted once."""
    update, work = facts.update.update, facts.update_work
    steps, affine = slice_steps(update), affine_operands(update)
    if not steps or math.prod(work.domain) < 2 or min(work.domain) < 1:
        return
    for threads, points in sorted(_tiles(work.pure), key=lambda tile: _rank(*tile))[:MOST_TILES]:
        most = max(1, WRITTEN_OUT // math.prod(points))
        small = math.prod(unrolled_steps(steps, most))
        unroll = small if small > 1 else min(4 if steps[0] % 4 == 0 else steps[0], most)
        schedule = GemmSchedule(
            threads=threads,
            points=points,
            unroll=unroll,
            slice=steps,
            buffers=2,
            vector=math.gcd(4, points[0]),
            zigzag=int(fits_zigzag(threads)),
        )
        if all(n <= s for n, s in zip(work.domain, [*steps, *[1] * len(work.domain)], strict=False)):
            # of several slices neighbours are not measured yet
            schedule = schedule.changed(buffers=1, adjacent=int(has_windows(update, schedule)))
        staged = worth_staging(affine, sizes_of(update, schedule))
        size = slice_bytes(staged, schedule.buffers)
        if size == 0 or size > machine.most_fast_bytes:
            continue
        if schedule.buffers > 1 and size * 3 // 2 <= FULL_BUFFERS:
            schedule = schedule.changed(buffers=3)
        yield _candidate(facts, machine, schedule, staged, read_bytes)


def _rank(threads: list[int], points: list[int]) -> tuple[float, float]:
    """Return a sort key, smaller for tiles whose points share more operands."""
    x, others = points[0], math.prod(points[1:])
    wide, high = threads[0] * x, math.prod(threads[1:]) * others
    return (1 / x + 1 / max(1, others) + 4 / wide + 4 / max(1, high), abs(x - others))


def slice_steps(update: UpdateOp) -> list[int]:
    """Return the steps of a slice: short dimensions wholly, then part of the next one."""
    found: list[int] = []
    for dimension in update.domain:
        extent, before = integer_constant(dimension.extent), math.prod(found)
        if extent is not None and 0 < extent <= SHORT_STEPS and before * extent <= MOST_SLICE_STEPS:
            found.append(extent)
            continue
        most = (
            MOST_SLICE_STEPS // before
            if extent is not None and extent % MOST_SLICE_STEPS == 0
            else SLICE_STEPS // before
        )
        return [*found, max(1, most if extent is None else min(most, extent))]
    return found


def has_windows(update: UpdateOp, schedule: GemmSchedule) -> bool:
    """Whether adjacent points of a thread, except along the first coordinate, share reads."""
    sizes = sizes_of(update, schedule)
    steps = {d.coordinate for d in update.domain if sizes.get(d.coordinate, 1) > 1}
    several = {c for c, n in zip(update.pure[1:], schedule.points[1:], strict=True) if n > 1}
    axes = (axis for o in worth_staging(affine_operands(update), sizes) for axis in o.axes)
    return any(not several.isdisjoint(axis.terms) and not steps.isdisjoint(axis.terms) for axis in axes)


def _tiles(pure: tuple[int, ...]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield threads and points per coordinate: of the first, and of one or two others."""
    rank = len(pure)
    along: list[list[tuple[int, int]]] = [[(1, 1)] for _ in range(rank)]
    along[0] = list(SPLITS_ALONG_X)
    for d in range(1, min(rank, 3)):
        along[d] = [*SPLITS_ALONG_OTHERS, (1, 1)] if pure[d] > 1 else [(1, 1)]
    for each in product(*along):
        threads, points = [t for t, _ in each], [p for _, p in each]
        if (
            not LEAST_AND_MOST_THREADS[0] <= math.prod(threads) <= LEAST_AND_MOST_THREADS[1]
            or not 8 <= math.prod(points) <= MOST_POINTS_OF_THREAD
        ):
            continue
        sizes = [t * p for t, p in each]
        if any(size > n for size, n in zip(sizes, pure, strict=True) if size > 1):
            continue
        cover = math.prod(-(-n // size) * size / n for n, size in zip(pure, sizes, strict=True))
        if cover <= MOST_COVER:
            yield threads, points


def _candidate(
    facts: GroupFacts, machine: Machine, schedule: GemmSchedule, found: Sequence[Operand], read_bytes: float
) -> GemmCandidate:
    work, update = facts.update_work, facts.update.update
    tile, threads = schedule.tile_sizes, math.prod(schedule.thread_counts)
    slices = math.prod(
        -(-n // s) for n, s in zip(work.domain, [*schedule.slice, *[1] * len(work.domain)], strict=False)
    )
    elements = [math.prod(o.extents) for o in found]
    count = math.prod(schedule.points)
    loads = staged_loads(update, schedule, found)
    # of few slices that are written out, what is loaded is used at once
    operands_in_registers = 6 * loads if slices == 1 else 4 * loads * schedule.unroll
    features = StagedFeatures(
        blocks=math.prod(-(-n // t) for n, t in zip(work.pure, tile, strict=True)),
        bytes=math.prod(work.pure) * facts.ends_bytes + read_bytes,
        staged_bytes=float(sum(n * o.bytes for n, o in zip(elements, found, strict=True))),
        copies=sum(n / o.width / threads for n, o in zip(elements, found, strict=True)),
        operations=shared(update, schedule.points, schedule.unroll).operations, loads=loads, steps=float(work.steps),
        slices=float(slices), threads=threads, registers=int(min(255, 32 + count * 1.2 + operands_in_registers)),
        shared=slice_bytes(found, schedule.buffers), parallel=float(count), buffers=schedule.buffers,
        shares=schedule.zigzag or (schedule.thread_counts[0] == PATCH[1] and not schedule.adjacent),
    )  # fmt: skip
    return GemmCandidate(
        "gemm",
        tile,
        schedule.thread_counts,
        schedule.unroll,
        {},
        features,
        predict(features, machine),
        schedule=schedule,
    )
