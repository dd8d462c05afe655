"""Candidate schedules of a scatter, with their features."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilefuse.analysis.access import reads
from tilefuse.analysis.dependence import depending
from tilefuse.analysis.machine import Machine
from tilefuse.dialects.img.ops import UpdateOp
from tilefuse.execution.candidate import Candidate
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.features import Features, predict
from tilefuse.execution.scatter.attribute import ScatterSchedule
from tilefuse.execution.scatter.features import ScatterFeatures, ThreadTableFeatures
from tilefuse.execution.scatter.runs import longest_run
from tilefuse.execution.scatter.table import table_bytes, window
from tilefuse.targets.limits import STATIC_SHARED_LIMIT

SHAPES = ((1024, 1), (1024, 2), (512, 4), (256, 8))
"""Threads of a block, and the blocks that a multiprocessor is to hold."""
SCATTER_LANES = 32
STRIDED = 8
"""Elements of 4 bytes in a sector."""
LEAST_POINTS = 4096
"""Points of the domain that a block should have: with fewer, tables cost more than they save."""
FOLD_THREADS = (256, 128, 64, 32)
"""Threads of a block with a copy each."""
OWN_THREADS: tuple[tuple[tuple[int, ...], ...], ...] = ((), ((128,), (64,), (32,)), ((32, 4), (32, 2), (32, 1)))
"""Threads with tables of their own that are tried, along one and two pure coordinates."""
MOST_OWN_POINTS = 4
"""Pure points of a thread with a table for each."""
BALANCED_ROUNDS = 1.1
"""Rounds of blocks per core, over those of the best balanced distribution, up to which a distribution is as good."""
CPU_COPIES, CPU_POINTS = 4, 256
"""On a CPU, points side by side count in tables of their own, so that none waits for the one before."""


@dataclass(frozen=True)
class ScatterCandidate(Candidate):
    """A candidate with the complete schedule."""

    schedule: ScatterSchedule | None = None


def _candidate(schedule: ScatterSchedule, features: Features, machine: Machine) -> ScatterCandidate:
    microseconds = predict(features, machine)
    return ScatterCandidate(
        schedule.model, (), schedule.thread_counts, schedule.number("points"), {}, features, microseconds,
        schedule=schedule,
    )  # fmt: skip


def shared_candidates(facts: GroupFacts, machine: Machine) -> Iterator[Candidate]:
    """Return the schedules of blocks that share the domain."""
    update, work = facts.update.update, facts.update_work
    box, pure = window(update), math.prod(work.pure)
    values = float(pure * work.steps * len(update.old_funcs))
    run = longest_run(update) if machine.is_gpu else CPU_POINTS
    # points of one row side by side are what lanes load together; else each takes a sector of its own
    bytes = work.bytes * (1 if run > 1 or not machine.is_gpu else STRIDED)
    elements = float(box.size if box is not None else max(1, math.prod(facts.box) // max(1, pure)))
    for threads, resident in SHAPES if machine.is_gpu else ((1, 1),):
        most = max(1, work.steps // LEAST_POINTS)
        blocks = blocks_of_a_point(pure, machine, resident, most)
        for copies in _copies(update, box.size if box is not None else 0, machine, resident):
            features = ScatterFeatures(
                blocks=blocks * pure, bytes=bytes, instructions=work.instructions + 4 * values, values=values,
                elements=elements, copies=copies, threads=threads, resident=resident,
                in_flight=work.bytes / max(1, pure * work.steps) * run,
            )  # fmt: skip
            bounded = resident if resident > 1 else 0
            schedule = ScatterSchedule(threads=[threads], split=blocks, copies=copies, points=run, blocks=bounded)
            yield _candidate(schedule, features, machine)


def fold_candidates(facts: GroupFacts, machine: Machine) -> Iterator[Candidate]:
    """Return the schedules of threads with copies that are combined in one order."""
    update, work = facts.update.update, facts.update_work
    box, pure = window(update), math.prod(work.pure)
    assert box is not None
    run = longest_run(update) if machine.is_gpu else CPU_POINTS
    for threads in FOLD_THREADS if machine.is_gpu else (1,):
        size = table_bytes(update, box.size, threads)
        if size > (machine.most_fast_bytes - 64 if machine.is_gpu else machine.fast_bytes):
            continue
        resident = min(machine.max_threads_per_core // threads, machine.fast_bytes_per_core // (size + 1024), 8)
        resident = resident if machine.is_gpu else 1
        blocks = blocks_of_a_point(pure, machine, resident, work.steps // LEAST_POINTS)
        all_threads = float(blocks * threads * pure)
        tables = all_threads * box.size
        features = ThreadTableFeatures(
            blocks=blocks * pure, bytes=work.bytes * (1 if run > 1 or not machine.is_gpu else STRIDED),
            instructions=work.instructions + 4 * tables, steps=pure * work.steps / all_threads,
            elements=box.size * (1.0 + 2.0 * blocks / threads), threads=all_threads, resident=resident * threads,
        )  # fmt: skip
        yield _candidate(ScatterSchedule(threads=[threads], split=blocks, points=run, ordered=1), features, machine)


def own_candidates(facts: GroupFacts, machine: Machine) -> Iterator[Candidate]:
    """Return the schedules of threads with private tables."""
    update, work = facts.update.update, facts.update_work
    box = window(update)
    assert box is not None
    tables = float(math.prod(work.pure)) * box.size
    passes = 1 if facts.fused_nodes else 2
    for points, threads in itertools.product(_own_points(update, work.pure), OWN_THREADS[min(len(update.pure), 2)]):
        size = table_bytes(update, box.size, math.prod(threads) * points)
        if size > STATIC_SHARED_LIMIT:
            continue
        counts = (*threads, *(1,) * (len(update.pure) - len(threads)))
        room = min(machine.max_threads_per_core, machine.fast_bytes_per_core // (size + 1024) * math.prod(threads))
        pure = (*work.pure[:-1], -(-work.pure[-1] // points))
        features = ThreadTableFeatures(
            blocks=math.prod(-(-n // t) for n, t in zip(pure, counts, strict=True)),
            bytes=work.bytes / points + passes * tables * table_bytes(update, 1, 1),
            instructions=work.instructions * (1 + points) / (2 * points) + 4 * passes * tables,
            steps=work.steps * (1 + points) / 2, elements=box.size * points, threads=math.prod(pure), resident=room,
        )  # fmt: skip
        yield _candidate(ScatterSchedule(threads=counts, thread_tables=1, points=points), features, machine)


def blocks_of_a_point(pure: int, machine: Machine, resident: int, most: int) -> int:
    """Return the blocks that share the domain of a pure point: all cores have blocks, on a CPU equally many."""
    fewest = max(1, min(machine.cores * resident // max(1, min(pure, machine.cores)), most))
    if machine.is_gpu:
        return fewest
    more = range(fewest, max(fewest, min(2 * machine.cores, most)) + 1)
    rounds = {blocks: -(-pure * blocks // machine.cores) / blocks for blocks in more}
    return min(blocks for blocks in more if rounds[blocks] <= BALANCED_ROUNDS * min(rounds.values()))


def _own_points(update: UpdateOp, pure: Sequence[int]) -> Iterator[int]:
    """Return how many pure points a thread may take: all of a short last coordinate that no read depends on."""
    yield 1
    moving = depending(update.body.block.ops, [update.pure[-1]])
    if 1 < pure[-1] <= MOST_OWN_POINTS and all(moving.isdisjoint(r.indices) for r in reads(update)):
        yield pure[-1]


def _copies(update: UpdateOp, elements: int, machine: Machine, resident: int) -> Iterator[int]:
    """Return the numbers of copies to compare."""
    yield 0
    if not elements:
        return
    most = machine.most_fast_bytes if machine.is_gpu else machine.fast_bytes
    room = min(most, machine.fast_bytes_per_core // resident - 1024) if machine.is_gpu else most
    copies = SCATTER_LANES if machine.is_gpu else CPU_COPIES
    while copies and table_bytes(update, elements, copies) > room:
        copies //= 2
    if copies:
        yield copies
