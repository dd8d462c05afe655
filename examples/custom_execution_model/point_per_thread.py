"""An execution model outside of tilefuse: each thread computes one point, with all values that the point needs.

No tile is shared, so nothing waits for a barrier: little to gain but where stages read no neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack

from xdsl.ir import SSAValue
from xdsl.irdl import irdl_attr_definition

from tilefuse.analysis.machine import Machine
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import alignment, fixed_span
from tilefuse.dialects.img.attrs import Level, Memory, PlaceAttr
from tilefuse.dialects.img.ops import GroupOp, StageOp
from tilefuse.execution.base import Code, group_error
from tilefuse.execution.candidate import Candidate, Placement, SearchOptions
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.features import Roofline, predict
from tilefuse.execution.plan import KernelPlan
from tilefuse.execution.tile_schedule import TileSchedule
from tilefuse.execution.tiled import TiledModel
from tilefuse.execution.written_out import MOST_WRITTEN_OUT, operations
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.reads import Point, Resident, TileContext, emit_stage

BLOCKS = ((32, 8), (64, 4), (128, 2))
"""Threads along the first two dimensions that are tiled."""
PER_LOAD = 2.5
"""Instructions of a read: the load, and its address."""


@irdl_attr_definition(init=False)
class PointSchedule(TileSchedule):
    """`#schedule.point_per_thread<tile = [32, 8], threads = [32, 8]>`."""

    name = "schedule.point_per_thread"


class PointPerThread(TiledModel):
    """One thread per point of the output; a declared small dimension is a loop of the thread."""

    name = "point_per_thread"
    schedule = PointSchedule
    places = ((Level.Thread, Memory.Register),)

    def legal(self, facts: GroupFacts) -> str | None:
        if not facts.rank:
            return "a single value has no points to share out"
        total = sum(n * max(1.0, facts.model.nodes[id].instructions) for id, n in evaluations(facts).items())
        return None if total <= MOST_WRITTEN_OUT else f"a thread would compute {total:.0f} operations for one point"

    def candidates(self, facts: GroupFacts, machine: Machine, options: SearchOptions) -> Iterator[Candidate]:
        if not machine.is_gpu or self.legal(facts) is not None:
            return
        places = {id: Placement(Level.Thread, Memory.Register) for id in facts.members if id != facts.output}
        for block in BLOCKS:
            tile, threads = shared_out(facts, block)
            if any(t % step for t, step in zip(tile, alignment(facts.follow, facts.rank), strict=True)):
                continue
            features = self._features(facts, math.prod(-(-n // t) for n, t in zip(facts.box, tile, strict=True)))
            yield Candidate(self.name, tile, threads, 1, places, features, predict(features, machine))

    def _features(self, facts: GroupFacts, blocks: int) -> Roofline:
        nodes, points = facts.model.nodes, math.prod(facts.box)
        outside = {a.producer for id in facts.members for a in nodes[id].accesses} - {*facts.members}
        bytes = sum(nodes[id].bytes for id in (*outside, facts.output))
        times = evaluations(facts).items()
        each = sum(n * (nodes[id].instructions + PER_LOAD * len(nodes[id].accesses)) for id, n in times)
        return Roofline(blocks=blocks, bytes=float(points * bytes), instructions=points * (each + PER_LOAD))

    def place(self, group: GroupOp, model: PipelineModel) -> Mapping[StageOp, PlaceAttr]:
        return {s: PlaceAttr(Level.Thread, Memory.Register) for s in group.stages if s is not group.anchor}

    def check(self, group: GroupOp, model: PipelineModel) -> None:
        super().check(group, model)
        facts, schedule = GroupFacts.of(group, model), PointSchedule.expect(group.schedule)
        if reason := self.legal(facts):
            raise group_error(group, reason)
        (wanted, _), steps = shared_out(facts, schedule.thread_counts), alignment(facts.follow, facts.rank)
        if schedule.tile_sizes != wanted or any(t % s for t, s in zip(wanted, steps, strict=True)):
            raise group_error(group, f"with these threads a tile is {list(wanted)}, of multiples of {list(steps)}")

    def code(self, group: GroupOp, model: PipelineModel, *, warps: bool) -> Code:
        counts = evaluations(GroupFacts.of(group, model))
        each = [(counts[model.node_of[s.funcs[0]]] * len(operations(s)), s.sym_name.data) for s in group.stages]
        return Code(sum(n for n, _ in each), max(each)[1])

    def plan(self, group: GroupOp, model: PipelineModel, differing: Collection[SSAValue]) -> KernelPlan:
        return PointPlan(group, model)


def evaluations(facts: GroupFacts) -> dict[int, int]:
    """Count how often a thread computes each stage for one point of the output."""
    counts = dict.fromkeys(sorted(facts.members, reverse=True), 0)
    counts[facts.output] = 1
    for id in counts:  # consumers first
        for access in facts.model.nodes[id].accesses:
            if access.producer in counts:
                counts[access.producer] += counts[id]
    return counts


def shared_out(facts: GroupFacts, block: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return (tile, threads): a thread per point, but all points of declared small dimensions."""
    left, tile, threads = [n for n in block if n > 1], [], []
    for d in range(facts.rank):
        fixed = fixed_span(facts.model, facts.output, d)
        threads.append(left.pop(0) if fixed is None and left and d < 3 else 1)
        tile.append(threads[-1] if fixed is None else fixed[1] - fixed[0] + 1)
    return tuple(tile), tuple(threads)


class PointPlan(KernelPlan):
    """Loops over the threads of a block, around the stores of one point."""

    def body(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> None:
        facts = GroupFacts.of(self.group, self.model)
        for stage, id in zip(self.group.stages, facts.members, strict=True):
            for i, f in enumerate(stage.funcs):

                def load(e: Emitter, at: Sequence[Num], stage: StageOp = stage, id: int = id, i: int = i) -> SSAValue:
                    return emit_stage(e, tile, stage, Point(facts.follow[id], at))[i]

                tile.resident[f] = Resident(load)
        x, y, z = [*self.schedule.thread_counts, 1, 1, 1][:3]
        with (
            e.loop(z, "tz", level="thread_z") as tz,
            e.loop(y, "ty", level="thread_y") as ty,
            e.loop(x, "tx", level="thread_x") as tx,
            ExitStack() as loops,
        ):
            point: list[Num] = [tx, ty, tz, *([0] * self.rank)][: self.rank]
            for d in range(self.rank):
                if (fixed := fixed_span(self.model, facts.output, d)) is not None:
                    point[d] = e.add(loops.enter_context(e.loop(fixed[1] - fixed[0] + 1, "k")), fixed[0])
            at = Point(facts.follow[facts.output], point)
            where = [tile.absolute(e, f, p) for f, p in zip(at.follow, point, strict=True)]
            inside: SSAValue | None = None
            for d, x in enumerate(where):
                inside = e.both(inside, e.within(e.sub(x, outputs[0].mins[d]), outputs[0].extent(d, e)))
            with e.when(inside):
                for value, buffer in zip(emit_stage(e, tile, self.group.anchor, at), outputs, strict=True):
                    e.store(value, buffer.memref, buffer.index(where, e))
