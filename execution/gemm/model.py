"""The execution model `gemm`: a reduction with register blocks, whose points share loaded operands.

Products of matrices, convolutions over channels, windows whose rows slide: whatever has many pure points, of which
some read the same. Each point goes over the domain in order.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tilefuse.dialects.img.ops import PrintOp, UpdateOp
from tilefuse.execution.base import ByHand, Code, ExecutionModel, Needs
from tilefuse.execution.gemm.attribute import GemmSchedule
from tilefuse.targets.limits import STATIC_SHARED_LIMIT

if TYPE_CHECKING:
    from xdsl.dialects import func
    from xdsl.ir import SSAValue

    from tilefuse.analysis.bounds import Box
    from tilefuse.analysis.machine import Machine
    from tilefuse.analysis.model import PipelineModel
    from tilefuse.dialects.img.ops import GroupOp
    from tilefuse.execution.candidate import Candidate, SearchOptions
    from tilefuse.execution.facts import GroupFacts

WARPS_OF_BLOCK = (1, 2, 4, 8)
POINTS_ALONG_X = (1, 2, 4, 8)
POINTS_ALONG_OTHERS = (1, 2, 4, 5, 8, 10)
ROWS_SHARE = 8
"""Rows of a block up to which they load together what each reads around its own."""
MOST_UNROLLED = 256
"""Points times steps that are written out, at most."""
LEAST_SLICE = 4
"""Steps of a slice: shorter ones wait more than they compute."""


class _Searched(NamedTuple):
    """Facts shared by all candidates of a search."""

    facts: GroupFacts
    machine: Machine
    bytes: float
    """Bytes of the functions that are read, each counted once."""
    streams: bool


class Gemm(ExecutionModel):
    """Parallel over blocks of pure points, serial over the domain, with sums in registers."""

    name = "gemm"
    schedule = GemmSchedule
    runs: ClassVar = UpdateOp
    smaller_schedule = "a smaller slice, or fewer points"
    no_smaller_schedule = "No smaller slice and no fewer points are left"
    fuses_stages = True

    def legal(self, facts: GroupFacts) -> str | None:
        from tilefuse.analysis.updates import Axis, WriteMap

        update = facts.update
        if not update.commutes:
            return "its steps do not only combine a term with the old value"
        if update.write_map is not WriteMap.Identity or None in update.update.write_op.positions:
            return "it does not write at its pure coordinates"
        if not update.update.domain:
            return "it has no reduction domain"
        if not update.update.pure or any(axis is not Axis.Reduce for axis in update.domain_axes):
            return "it has no pure coordinates, or does not reduce over all dimensions of its domain"
        if any(isinstance(op, PrintOp) for op in update.update.body.block.ops):
            return "it prints"
        return None

    def candidates(self, facts: GroupFacts, machine: Machine, options: SearchOptions) -> Iterator[Candidate]:
        from tilefuse.execution.gemm.features import operand_bytes, streams
        from tilefuse.execution.gemm.search import staged_candidates

        if self.legal(facts) is not None:
            return
        rank = len(facts.update.update.pure)
        others = [d for d in range(1, rank) if facts.update_work.pure[d] > 1] or [1]
        if not machine.is_gpu:
            yield from self._on_cpu(facts, machine)
            return
        of = _Searched(facts, machine, operand_bytes(facts), streams(facts.update.update))
        staged = list(staged_candidates(facts, machine, of.bytes))
        if any(c.schedule is not None and c.schedule.adjacent for c in staged):
            # of windows that overlap each thread would load anew what a block has once
            yield from staged
            return
        for d, along_x, along_d in product(others, POINTS_ALONG_X, POINTS_ALONG_OTHERS if rank > 1 else (1,)):
            unroll = max(1, min(8, MOST_UNROLLED // (along_x * along_d)))
            for warps, beside in product(WARPS_OF_BLOCK if rank > 1 else (1,), dict.fromkeys((d if d < 3 else 1, 1))):
                threads, points = [1] * rank, [1] * rank
                threads[0], points[0] = (32 if rank > 1 else 128), along_x
                if rank > 1:
                    # threads must be in the first three dimensions, and rows of them share what they read around them
                    threads[beside], points[d] = warps, along_d
                yield self._candidate(of, tuple(threads), tuple(points), unroll)
        yield from staged

    def _on_cpu(self, facts: GroupFacts, machine: Machine) -> Iterator[Candidate]:
        from tilefuse.execution.features import predict
        from tilefuse.execution.gemm.candidate import GemmCandidate
        from tilefuse.execution.gemm.cpu import cpu_schedules

        for schedule, features in cpu_schedules(facts, machine):
            yield GemmCandidate(
                self.name, schedule.tile_sizes, schedule.thread_counts, schedule.lanes, {}, features,
                predict(features, machine), schedule=schedule,
            )  # fmt: skip

    def _candidate(self, of: _Searched, threads: tuple[int, ...], points: tuple[int, ...], unroll: int) -> Candidate:
        from tilefuse.execution.features import predict
        from tilefuse.execution.gemm.candidate import GemmCandidate
        from tilefuse.execution.gemm.features import GemmFeatures, around, operand_bytes, shared

        facts, machine = of.facts, of.machine
        work, update = facts.update_work, facts.update.update
        steps = work.domain[0] if work.domain else 1
        unroll = min(unroll, max(1, steps))
        each = shared(update, points, unroll)
        pure = math.prod(work.pure)
        tile = tuple(t * p for t, p in zip(threads, points, strict=True))
        count = math.prod(points)
        beside = around(update, points) if of.streams else 0.0
        operands = operand_bytes(facts, tile) if beside else of.bytes
        features = GemmFeatures(
            blocks=math.prod(-(-n // t) for n, t in zip(work.pure, tile, strict=True)),
            bytes=pure * facts.ends_bytes + operands, instructions=each.operations, reads=each.reads,
            steps=work.steps, threads=math.prod(threads), registers=min(255, 24 + 2 * each.reads + count),
            parallel=count, around=beside / min(ROWS_SHARE, math.prod(tile[1:2])),
            spread=max([1, *(d for d, p in enumerate(points) if p > 1)]),
        )  # fmt: skip
        schedule = GemmSchedule(threads=threads, points=points, unroll=unroll)
        return GemmCandidate(
            self.name, tile, threads, unroll, {}, features, predict(features, machine), schedule=schedule
        )

    def by_hand(self, group: GroupOp, facts: GroupFacts, given: ByHand) -> GemmSchedule:
        from tilefuse.analysis.regions import NotFusable

        if (reason := self.legal(facts)) is not None:
            raise NotFusable(reason)
        points = [size // count for size, count in zip(given.sizes, given.threads, strict=True)]
        return GemmSchedule(threads=given.threads, points=points, unroll=given.vector)

    def apply(self, group: GroupOp, candidate: Candidate, members: Sequence[int]) -> None:
        from tilefuse.execution.gemm.candidate import GemmCandidate

        assert isinstance(candidate, GemmCandidate)
        group.schedule = candidate.schedule

    def check(self, group: GroupOp, model: PipelineModel) -> None:
        from tilefuse.analysis.regions import NotFusable
        from tilefuse.execution.facts import GroupFacts
        from tilefuse.execution.gemm.slices import why_not_sliced

        super().check(group, model)
        if (reason := self.legal(GroupFacts.of(group, model))) is not None:
            raise NotFusable(reason)
        assert group.update is not None
        schedule = GemmSchedule.expect(group.schedule)
        if (reason := why_not_sliced(group.update, schedule.slice)) is not None:
            raise NotFusable(reason)
        if schedule.lanes > 1:
            from tilefuse.execution.gemm.vector_values import vector_values

            found = vector_values(group.update, schedule.rows_dim, bool(schedule.pack))
            if isinstance(found, str):
                raise NotFusable(f"its sums cannot be vectors: {found}; write vector = 1")
            if schedule.planes > 1 and not found.shares(group.update, schedule.planes_dim):
                raise NotFusable("the packed operands differ from plane to plane; write planes = 1")

    def shared_memory(self, group: GroupOp, model: PipelineModel) -> Needs:
        return Needs(_staged_bytes(group), group.sym_name.data, self.dynamic_shared(group))

    def dynamic_shared(self, group: GroupOp) -> int:
        size = _staged_bytes(group)
        return size if size > STATIC_SHARED_LIMIT else 0

    def stack_memory(self, group: GroupOp, model: PipelineModel) -> Needs:
        from tilefuse.execution.gemm.register_blocks import block_bytes

        return Needs(block_bytes(group), group.sym_name.data)

    def code(self, group: GroupOp, model: PipelineModel, *, warps: bool) -> Code:
        from tilefuse.execution.gemm.features import shared

        assert group.update is not None
        schedule = GemmSchedule.expect(group.schedule)
        points = schedule.points if not schedule.one_thread else (1, *schedule.points[1:])
        each = shared(group.update, points, schedule.unroll)
        written = math.prod(points)
        return Code(int((each.operations + each.reads) * schedule.unroll), group.update.sym_name.data, written)

    def smaller(self, group: GroupOp, model: PipelineModel) -> GemmSchedule | None:
        schedule = GemmSchedule.expect(group.schedule)
        if schedule.lanes > 1:
            return self._smaller_vectors(schedule)
        if schedule.slice and (less := self._smaller_slice(group, schedule)) is not None:
            return less
        if schedule.unroll > 1:
            return schedule.changed(unroll=schedule.unroll // 2)
        most = max(schedule.points, default=1)
        if most == 1:
            return None
        at = schedule.points.index(most)
        points = [p // 2 if d == at else p for d, p in enumerate(schedule.points)]
        # what has no slice has no vectors here
        return schedule.changed(points=points, vector=math.gcd(points[0], schedule.run))

    def _smaller_slice(self, group: GroupOp, schedule: GemmSchedule) -> GemmSchedule | None:
        if _staged_bytes(group) <= STATIC_SHARED_LIMIT:
            return None
        *inner, cut = schedule.slice
        if schedule.buffers > 2:
            return schedule.changed(buffers=schedule.buffers - 1)
        return schedule.changed(slice=[*inner, cut // 2]) if cut > LEAST_SLICE else None

    def _smaller_vectors(self, schedule: GemmSchedule) -> GemmSchedule | None:
        if schedule.pack > 1:
            return schedule.changed(pack=schedule.pack // 2)
        if schedule.planes > 1:
            return schedule.changed(planes=schedule.planes // 2)
        if schedule.repeat > 1:
            return schedule.changed(repeat=schedule.repeat // 2)
        if (dim := schedule.rows_dim) is None or schedule.rows == 1:
            return None
        return schedule.changed(points=[p // 2 if d == dim else p for d, p in enumerate(schedule.points)])

    def grid(self, group: GroupOp, boxes: Sequence[Box]) -> tuple[int, int, int]:
        from tilefuse.execution.tile_grid import blocks_along
        from tilefuse.lowering.abi import update_box

        assert group.update is not None
        sizes = GemmSchedule.expect(group.schedule).tile_sizes
        box = update_box(group, boxes[0])
        pure = (box[d] for d in group.update.pure_dims)
        return blocks_along([-(-extent // size) for (_, extent), size in zip(pure, sizes, strict=True)])

    def emit(self, group: GroupOp, model: PipelineModel, differing: Collection[SSAValue]) -> list[func.FuncOp]:
        from tilefuse.execution.gemm.emission import gemm_kernel
        from tilefuse.execution.gemm.staged import staged_kernel

        return [staged_kernel(group) if GemmSchedule.expect(group.schedule).slice else gemm_kernel(group)]


def _staged_bytes(group: GroupOp) -> int:
    """Return the shared memory of a block."""
    from tilefuse.execution.gemm.slices import staged_bytes

    assert group.update is not None
    return staged_bytes(group.update, GemmSchedule.expect(group.schedule))
