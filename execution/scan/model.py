"""The door of `scan`: a thread per line of a recurrence, which keeps the last steps' results.

Running sums, summed-area tables, recursive filters either way: whatever reads itself a number of steps before.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tilefuse.dialects.img.ops import SET, UpdateOp
from tilefuse.execution.across import ACROSS_WIDTH
from tilefuse.execution.base import ByHand, Code, ExecutionModel, Needs
from tilefuse.execution.scan.attribute import ScanSchedule
from tilefuse.targets.limits import STATIC_SHARED_LIMIT

if TYPE_CHECKING:
    from xdsl.dialects import func
    from xdsl.ir import SSAValue

    from tilefuse.analysis.bounds import Box
    from tilefuse.analysis.machine import Machine
    from tilefuse.analysis.model import PipelineModel
    from tilefuse.analysis.recurrence import Recurrence
    from tilefuse.dialects.img.ops import GroupOp, StageOp
    from tilefuse.execution.candidate import Candidate, SearchOptions
    from tilefuse.execution.facts import GroupFacts
    from tilefuse.lowering.workspaces import Workspace

UNROLL = (1, 4, 8, 16, 32)
SLICE_LANES = 32
SLICES = (
    (32, 32, 4),
    (32, 16, 4),
    (64, 32, 4),
    (64, 16, 4),
    (32, 16, 3),
    (64, 16, 3),
    (32, 8, 5),
    (16, 16, 5),
    (32, 8, 2),
)
"""Steps that are staged at once, steps that are written out, and buffers."""
ROWS = 4
"""Rows of threads that share the copies."""
CHUNKS = ((256, 16), (256, 8), (128, 8), (128, 16), (256, 32))
"""Threads, and steps of each, of a block that has a chunk of a line."""
CHUNKS_ACROSS = ((8, 32), (8, 16), (8, 8), (4, 16))
"""Threads along a line, and steps of each, of a block that has chunks of lines across memory, side by side."""
CPU_WIDTH, CPU_ROWS = 64, 4
"""Lines side by side that are one loop, and lines along x that are written out: a step takes four cycles. Of lines
that read along rows there are `ACROSS_WIDTH` in a loop."""
CPU_STRIP = 32
"""Lines side by side of a strip, which several updates go along one after the other while it is in the cache."""
CPU_SLICE = 64
"""Steps of lines that are stored along rows: four lines of the cache of each are written at once."""
MOST_WRITTEN = 600
"""Operations that are written out, at most."""


class _Shape(NamedTuple):
    """Threads of a block, adjacent lines per thread, and unrolled steps."""

    threads: tuple[int, ...]
    width: int = 1
    unroll: int = 1


class Scan(ExecutionModel):
    """Parallel over the lines of a recurrence, in order along them, with the last values in registers."""

    name = "scan"
    schedule = ScanSchedule
    runs: ClassVar = UpdateOp
    smaller_schedule = "fewer buffers, or a smaller slice or chunk"
    no_smaller_schedule = "No fewer buffers and no smaller slice or chunk are left"
    fuses_stages = True
    fuses_updates = True

    def legal(self, facts: GroupFacts) -> str | None:
        from tilefuse.analysis.recurrence import has_all_points, recurrence
        from tilefuse.execution.scan.line_updates import why_not_along_lines

        found = recurrence(facts.update)
        if isinstance(found, str):
            return found
        if facts.earlier_nodes:
            return why_not_along_lines([*facts.earlier_updates, facts.update.update])
        if facts.has_prologue and len(facts.update.update.pure) != facts.update.update.rank:
            return "it has a prologue, and not all its dimensions are pure coordinates"
        if facts.fused_nodes and not has_all_points(found, facts.update.update):
            return "it has an epilogue, and its lines do not cover all points"
        return None

    def updates_to_fuse(self, update: UpdateOp, *, warps: bool) -> Sequence[UpdateOp]:
        from tilefuse.execution.scan.line_updates import chain_of, why_not_along_lines

        chain = [update] if warps else chain_of(update)
        while len(chain) > 1 and why_not_along_lines(chain) is not None:
            chain.pop()
        return chain

    def fuses_reader(self, update: UpdateOp, stage: StageOp, *, warps: bool, several: bool) -> bool:
        from tilefuse.analysis.recurrence import Recurrence, has_all_points, recurrence, transposes_lines
        from tilefuse.analysis.updates import UpdateFacts

        if not warps and not several:
            return transposes_lines(stage, update)
        found = recurrence(UpdateFacts(update))
        return isinstance(found, Recurrence) and has_all_points(found, update)

    def candidates(self, facts: GroupFacts, machine: Machine, options: SearchOptions) -> Iterator[Candidate]:
        from tilefuse.analysis.recurrence import recurrence
        from tilefuse.execution.scan.transposed import is_stored_along_rows
        from tilefuse.lowering.prefetch import STEPS_AHEAD

        found = recurrence(facts.update)
        if isinstance(found, str) or self.legal(facts) is not None:
            return
        rank = len(found.lines)
        if not machine.is_gpu:
            one = (1,) * rank
            if facts.earlier_nodes:
                slice = CPU_SLICE * is_stored_along_rows(found, facts.permutation)
                schedule = ScanSchedule(
                    threads=one, width=CPU_STRIP, slice=slice, workers=machine.cores, prefetch=int(slice > 0)
                )
                yield self._candidate(facts, machine, found, _Shape(one, CPU_STRIP), schedule)
                return
            if is_stored_along_rows(found, facts.permutation):
                schedule = ScanSchedule(threads=one, width=CPU_WIDTH, slice=CPU_SLICE, prefetch=1)
                yield self._candidate(facts, machine, found, _Shape(one, CPU_WIDTH), schedule)
                return
            for width in (_cpu_width(facts, found), 1) if self._has_adjacent_lines(found) else (1,):
                schedule = ScanSchedule(threads=one, width=width, prefetch=STEPS_AHEAD * (width == CPU_WIDTH))
                yield self._candidate(facts, machine, found, _Shape(one, width), schedule)
            return
        if facts.earlier_nodes:
            return
        operations = len(facts.update.update.body.block.ops)
        for unroll in UNROLL:
            if unroll == 1 or unroll * operations <= MOST_WRITTEN:
                threads = (SLICE_LANES, *[1] * (rank - 1))[:rank]
                yield self._candidate(facts, machine, found, _Shape(threads, unroll=unroll))
        if rank and 0 not in (*facts.update_work.pure, *facts.update_work.domain):
            yield from self._staged(facts, machine, found)
        if self._why_no_chunks(facts) is None and (exact(facts.update.update) or not options.float_order):
            yield from self._chunks(facts, machine, found)

    def _chunks(self, facts: GroupFacts, machine: Machine, found: Recurrence) -> Iterator[Candidate]:
        """Return the schedules whose blocks share lines; across memory, each block has several adjacent lines."""
        from tilefuse.execution.scan.chunks import chunk_shared_bytes

        if 0 in (*facts.update_work.pure, *facts.update_work.domain):
            return
        across = found.dim != 0 and bool(found.lines)
        threads = (SLICE_LANES if across else 1, *[1] * len(found.lines))[: len(found.lines)]
        for rows, chunk in CHUNKS_ACROSS if across else CHUNKS:
            schedule = ScanSchedule(threads=threads, rows=rows, chunk=chunk)
            if chunk_shared_bytes(schedule, facts.model.nodes[facts.output].bytes, not across) <= STATIC_SHARED_LIMIT:
                yield self._candidate(facts, machine, found, _Shape(threads), schedule)

    def _staged(self, facts: GroupFacts, machine: Machine, found: Recurrence) -> Iterator[Candidate]:
        """Return the schedules whose blocks stage the operands of lines in shared memory."""
        from tilefuse.execution.scan.staged import scan_shared_bytes

        update = facts.update.update
        threads = (SLICE_LANES, *[1] * (len(found.lines) - 1))
        for steps, unroll, buffers in SLICES:
            schedule = ScanSchedule(threads=threads, unroll=unroll, slice=steps, buffers=buffers, rows=ROWS)
            if unroll * len(update.body.block.ops) > MOST_WRITTEN:
                continue
            if scan_shared_bytes(update, found, facts.permutation, schedule) <= STATIC_SHARED_LIMIT:
                yield self._candidate(facts, machine, found, _Shape(threads, unroll=unroll), schedule)

    def _has_adjacent_lines(self, found: Recurrence) -> bool:
        """Whether a thread's lines are rows, or adjacent in memory."""
        return bool(found.lines) and (found.dim == 0 or found.lines[0].dim == 0)

    def _candidate(
        self,
        facts: GroupFacts,
        machine: Machine,
        found: Recurrence,
        shape: _Shape,
        staged: ScanSchedule | None = None,
    ) -> Candidate:
        from tilefuse.analysis.access import reads
        from tilefuse.execution.features import predict
        from tilefuse.execution.scan.features import ScanCandidate, ScanFeatures
        from tilefuse.execution.scan.staged import is_along_rows

        work, update = facts.update_work, facts.update.update
        threads, width, unroll = shape
        extents = _extents(facts)
        lines, steps = [extents[line.coordinate] for line in found.lines], extents[found.along]
        nodes, own = facts.model.nodes, set(update.currents)
        each = sum(nodes[facts.model.node_of[r.source]].bytes for r in reads(update) if r.source not in own)
        reads_old = update.write_op.predicate is not None or min(found.back.values()) <= 0
        accesses = len(update.old_funcs) + sum(reads_old or way != SET for way in update.combiners)
        count = math.prod(lines) * steps
        tile = (threads[0] * width, *threads[1:]) if threads else ()
        chunks = _chunk_counts(machine, staged, steps, facts)
        features = ScanFeatures(
            blocks=math.prod(-(-n // t) for n, t in zip(lines, tile, strict=True)) * chunks.each,
            bytes=float(count * (each + nodes[facts.output].bytes * accesses)),
            instructions=work.instructions, steps=float(steps), chain=float(len(update.body.block.ops)),
            lines=float(math.prod(lines)), unroll=unroll, width=width,
            is_along_rows=is_along_rows(update, found, facts.permutation), is_along_x=found.dim == 0,
            slice=staged.slice if staged else 0, buffers=staged.buffers if staged else 1,
            chunks=chunks.each if staged and staged.chunk else 0, windows=chunks.windows, at_once=chunks.at_once,
            steps_of_chunk=staged.steps_of_block if staged else 0,
        )  # fmt: skip
        return ScanCandidate(self.name, tile, threads, unroll, {}, features, predict(features, machine), staged=staged)

    def by_hand(self, group: GroupOp, facts: GroupFacts, given: ByHand) -> ScanSchedule:
        from tilefuse.analysis.recurrence import recurrence
        from tilefuse.analysis.regions import NotFusable

        found = recurrence(facts.update)
        if isinstance(found, str):
            raise NotFusable(found)
        rank = len(found.lines)
        threads = [*given.threads, *[1] * rank][:rank]
        width = given.sizes[0] // given.threads[0] if rank and given.threads else 1
        return ScanSchedule(threads=threads, width=width, unroll=given.vector)

    def apply(self, group: GroupOp, candidate: Candidate, members: Sequence[int]) -> None:
        from tilefuse.execution.scan.features import ScanCandidate

        if isinstance(candidate, ScanCandidate) and candidate.staged is not None:
            group.schedule = candidate.staged
            return
        width = candidate.tile[0] // candidate.threads[0] if candidate.threads else 1
        group.schedule = ScanSchedule(threads=candidate.threads, width=width, unroll=candidate.vector)

    def check(self, group: GroupOp, model: PipelineModel) -> None:
        from tilefuse.analysis.recurrence import recurrence
        from tilefuse.analysis.regions import NotFusable
        from tilefuse.execution.facts import GroupFacts
        from tilefuse.execution.scan.transposed import is_stored_along_rows

        super().check(group, model)
        facts = GroupFacts.of(group, model)
        found = recurrence(facts.update)
        if isinstance(found, str) or (reason := self.legal(facts)) is not None:
            raise NotFusable(found if isinstance(found, str) else reason)
        schedule = ScanSchedule.expect(group.schedule)
        if bool(schedule.workers) != bool(facts.earlier_nodes):
            raise NotFusable("several updates in a group need workers, and one takes none; change workers")
        if schedule.chunk and (reason := self._why_no_chunks(facts)) is not None:
            raise NotFusable(f"blocks cannot share its lines: {reason}")
        if schedule.stores_slices and not is_stored_along_rows(found, facts.permutation):
            raise NotFusable("a slice with a width of several lines needs lines that are stored along rows")
        if schedule.prefetch and found.dim == 0:
            raise NotFusable("its steps go along rows, which need no prefetch; write prefetch = 0")
        threads = schedule.lines
        if len(threads) != len(found.lines):
            raise NotFusable(f"there are {len(found.lines)} line coordinates, but threads has {len(threads)}")

    def _why_no_chunks(self, facts: GroupFacts) -> str | None:
        """Explain in one sentence why blocks cannot share lines; None if they can."""
        from tilefuse.analysis.running_sums import running_sum

        found = running_sum(facts.update)
        return found if isinstance(found, str) else None

    def workspaces(self, group: GroupOp) -> Sequence[Workspace]:
        from tilefuse.execution.scan.chunks import chunk_workspaces
        from tilefuse.execution.scan.strip import strip_workspaces

        schedule = ScanSchedule.expect(group.schedule)
        if schedule.workers:
            return strip_workspaces(group)
        return chunk_workspaces(group) if schedule.chunk else ()

    def reorders(self, group: GroupOp) -> bool:
        assert group.update is not None
        return bool(ScanSchedule.expect(group.schedule).chunk) and not exact(group.update)

    def code(self, group: GroupOp, model: PipelineModel, *, warps: bool) -> Code:
        from tilefuse.analysis.recurrence import Recurrence, recurrence
        from tilefuse.analysis.updates import UpdateFacts

        assert group.update is not None
        schedule = ScanSchedule.expect(group.schedule)
        points = schedule.unroll
        if schedule.width > 1:
            found = recurrence(UpdateFacts(group.update))
            # along x lines that are taken together are written out; along y they are a loop
            points = schedule.width if isinstance(found, Recurrence) and found.dim == 0 else 1
        return Code(len(group.update.body.block.ops) * points, group.update.sym_name.data, points)

    def shared_memory(self, group: GroupOp, model: PipelineModel) -> Needs:
        return Needs(_shared_bytes(group), group.sym_name.data, self.dynamic_shared(group))

    def stack_memory(self, group: GroupOp, model: PipelineModel) -> Needs:
        from tilefuse.execution.scan.transposed import transposed_scan_bytes

        assert group.update is not None
        schedule = ScanSchedule.expect(group.schedule)
        bytes = transposed_scan_bytes(group.update, schedule) if schedule.stores_slices else 0
        return Needs(bytes, group.sym_name.data)

    def smaller(self, group: GroupOp, model: PipelineModel) -> ScanSchedule | None:
        schedule = ScanSchedule.expect(group.schedule)
        if schedule.chunk:
            return schedule.changed(chunk=schedule.chunk // 2) if schedule.chunk > 1 else None
        if _shared_bytes(group) > STATIC_SHARED_LIMIT:
            return schedule.changed(buffers=schedule.buffers - 1) if schedule.buffers > 1 else None
        return schedule.changed(unroll=schedule.unroll // 2) if schedule.unroll > 1 else None

    def grid(self, group: GroupOp, boxes: Sequence[Box]) -> tuple[int, int, int]:
        from tilefuse.analysis.recurrence import Recurrence, recurrence
        from tilefuse.analysis.updates import UpdateFacts
        from tilefuse.execution.tile_grid import blocks_along
        from tilefuse.lowering.abi import update_box

        assert group.update is not None
        found = recurrence(UpdateFacts(group.update))
        assert isinstance(found, Recurrence)
        sizes, workers = ScanSchedule.expect(group.schedule).tile_sizes, ScanSchedule.expect(group.schedule).workers
        if workers:
            return workers, 1, 1
        box = update_box(group, boxes[0])
        if ScanSchedule.expect(group.schedule).chunk:
            from tilefuse.execution.scan.chunks import chunk_counts

            lines, chunks = chunk_counts(group, box)
            return blocks_along([*lines[:1], chunks, *lines[1:]])
        return blocks_along([-(-box[line.dim][1] // size) for line, size in zip(found.lines, sizes, strict=True)])

    def emit(self, group: GroupOp, model: PipelineModel, differing: Collection[SSAValue]) -> list[func.FuncOp]:
        from tilefuse.execution.scan.chunks import chunked_scan_kernel
        from tilefuse.execution.scan.emission import scan_kernel
        from tilefuse.execution.scan.staged import staged_scan_kernel
        from tilefuse.execution.scan.strip import strip_scan_kernel
        from tilefuse.execution.scan.transposed import transposed_scan_kernel

        schedule = ScanSchedule.expect(group.schedule)
        if schedule.chunk:
            return [chunked_scan_kernel(group)]
        if schedule.workers:
            return [strip_scan_kernel(group)]
        if schedule.stores_slices:
            return [transposed_scan_kernel(group)]
        return [staged_scan_kernel(group) if schedule.slice else scan_kernel(group)]


def _cpu_width(facts: GroupFacts, found: Recurrence) -> int:
    """Return the lines that a CPU thread takes together."""
    from tilefuse.execution.scan.staged import is_along_rows

    if found.dim == 0:
        return CPU_ROWS
    return ACROSS_WIDTH if is_along_rows(facts.update.update, found, facts.permutation) else CPU_WIDTH


def _extents(facts: GroupFacts) -> dict[SSAValue, int]:
    """Return the extent of each coordinate of the update."""
    work = facts.update_work
    return dict(zip(facts.update.update.coordinates, (*work.pure, *work.domain), strict=True))


def exact(update: UpdateOp) -> bool:
    """Whether a running sum has equal bits in any order: true of integers, minima and maxima."""
    from xdsl.dialects.builtin import IntegerType

    from tilefuse.analysis.running_sums import RunningSum, running_sum
    from tilefuse.analysis.updates import UpdateFacts

    found = running_sum(UpdateFacts(update))
    best = isinstance(found, RunningSum) and found.way in ("min", "max")
    return best or isinstance(update.old_funcs[0].type.storage, IntegerType)  # type: ignore[attr-defined]


class _ChunkCounts(NamedTuple):
    each: int
    """Chunks of a line."""
    windows: float
    at_once: int


def _chunk_counts(machine: Machine, schedule: ScanSchedule | None, steps: int, facts: GroupFacts) -> _ChunkCounts:
    from tilefuse.execution.scan.chunks import chunk_shared_bytes

    if schedule is None or not schedule.chunk:
        return _ChunkCounts(1, 0.0, 0)
    each, rows = -(-steps // schedule.steps_of_block), schedule.number("rows")
    shared = chunk_shared_bytes(schedule, facts.model.nodes[facts.output].bytes, schedule.adjacent_lines == 1)
    at_once = min(
        machine.fast_bytes_per_core // shared, machine.max_threads_per_core // math.prod(schedule.thread_counts)
    )
    return _ChunkCounts(each, max(1.0, each / rows), max(1, at_once))


def _shared_bytes(group: GroupOp) -> int:
    """Return the shared memory of a block."""
    from tilefuse.analysis.recurrence import Recurrence, recurrence
    from tilefuse.analysis.updates import UpdateFacts
    from tilefuse.execution.scan.staged import scan_shared_bytes

    assert group.update is not None
    schedule = ScanSchedule.expect(group.schedule)
    if schedule.chunk:
        from tilefuse.execution.scan.chunks import chunk_bytes

        return chunk_bytes(group)
    found = recurrence(UpdateFacts(group.update))
    assert isinstance(found, Recurrence)
    return scan_shared_bytes(group.update, found, group.permutation, schedule)
