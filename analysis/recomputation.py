"""Cost comparison of inlining and storing a stage: counts points, and instructions per point.

A stage that is read at one place is still computed many times over if its reader has more points: a table that is
read through data, a row that a picture reads, an `x / 2`. Recomputing a stage costs its instructions at every point
of its readers. Storing it costs them at its own points, a kernel, its bytes to memory and back, and a read at every
point of the readers. What a stage costs takes in what would be computed inside of it, so a chain of small steps counts
as one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from tilefuse.analysis.access import ReadSite, defining_op, read_sites, reads
from tilefuse.analysis.dependence import operations_behind
from tilefuse.analysis.instructions import instruction_cost
from tilefuse.analysis.machine import Machine
from tilefuse.analysis.points import needed_extents, nominal_domain
from tilefuse.analysis.recurrence import transposes_recurrence
from tilefuse.analysis.regions import PLANES_AT_ONCE, SMALL_DIMENSION, is_small
from tilefuse.analysis.small_dimensions import KnownBox
from tilefuse.analysis.updates import sums_points
from tilefuse.dialects.img.ops import (
    Definition,
    GroupOp,
    InputOp,
    PipelineOp,
    ReadOp,
    StageOp,
    UpdateOp,
    YieldOp,
    prints,
)
from tilefuse.dialects.img.types import FuncType, element_bytes

STORED_READ = 8.0
"""Instructions of reading a stored value: a load, its address, and that points of a table are no vector."""
INPUT_READ = 2.5
"""Instructions of a read that stays a read in either case."""


REPEATED_WORK = 1.8
"""Operations and loads of computing a stage where it is read, over those of keeping its rows, from which on a CPU keeps
them."""


def _own_cost(stage: StageOp) -> tuple[float, int]:
    """Return the instructions per point, reads excluded, and the reads."""
    cost, reads = 0.0, 0
    for op in stage.body.block.ops:
        if isinstance(op, ReadOp):
            reads += 1
        elif not isinstance(op, YieldOp):
            cost += instruction_cost(op)
    return cost, reads


def may_be_inlined(stage: StageOp) -> bool:
    """Whether a stage may be inlined: it has no place set by hand, is in no group, and prints nothing."""
    return stage.place is None and not isinstance(stage.parent_op(), GroupOp) and not prints(stage)


def _is_stored_for_updates(sites: Sequence[ReadSite]) -> bool:
    """Whether a stage must be stored for its readers: an update is among them, so no single kernel can hold them.

    Each reads at one place, so that none computes more than a kernel of its own stages would.
    """
    readers = [reader for reader, _, _ in sites]
    return any(isinstance(r, UpdateOp) for r in readers) and len(set(readers)) == len(readers)


def _is_read_as_its_source(stage: StageOp, sites: Sequence[ReadSite]) -> bool:
    """Whether a stage passes on one value, at its own point, from memory, and only updates read the stage.

    As a network's layer, which is read once for each weight of the next: a maximum with 0 of its sum.
    """
    found = list(reads(stage))
    if len(found) != 1 or not all(isinstance(reader, UpdateOp) for reader, _, _ in sites):
        return False
    (read,) = found
    own = list(read.indices) == list(stage.body.block.args) and read.map.data == AffineMap.identity(stage.rank)
    return own and isinstance(read.source.owner, InputOp | UpdateOp)


def _is_read_across(site: ReadSite) -> bool:
    """Whether neighbours of a reader along x read different rows."""
    reader, map, indices = site
    x = reader.body.block.args[:1]
    return all(indices[d] not in x for d in map.results[0].used_dims())


def _used_by(site: ReadSite) -> set[SSAValue]:
    """Return the values of its reader that a site's indices depend on."""
    _, map, indices = site
    return {indices[d] for e in map.results for d in e.used_dims()}


def _is_read_through_data(sites: Sequence[ReadSite]) -> bool:
    """Whether every read of a stage has a data-dependent index, so that no reader's kernel can compute the stage."""
    return all(any(_follows_data(i) for i in indices) for _, _, indices in sites)


def _beside_plane(index: AffineExpr, dimension: int) -> AffineExpr | None:
    """Return an index without the constant that selects a plane; None if the index is only this constant.

    Of `4 * c + 1`, which is never another `4 * c + 2`, it gives `4 * c`: in a dimension after x and y.
    """
    if not index.used_dims():
        return None
    match index:
        case AffineBinaryOpExpr(
            AffineBinaryOpKind.Add,
            AffineBinaryOpExpr(AffineBinaryOpKind.Mul, AffineDimExpr(), AffineConstantExpr(step)) as planes,
            AffineConstantExpr(plane),
        ) if dimension > 1 and 0 <= plane < step:
            return planes
    return index


def _follows_data(index: SSAValue) -> bool:
    """Whether an index depends on a value that is read."""
    body = index.owner.parent if isinstance(index.owner, Operation) else None
    return any(isinstance(op, ReadOp) for op in operations_behind([index], body))


def _looks_up(stage: StageOp) -> bool:
    """Whether a stage has data-dependent reads."""
    return any(_follows_data(index) for read in reads(stage) for index in read.indices)


class Recomputation:
    """Cost of recomputing the stages of a pipeline on a machine, for pictures of `extent`.

    A stage of at most `cheap` instructions and `reads` reads may be computed at several places. Made before any stage
    is inlined.
    """

    def __init__(
        self,
        pipeline: PipelineOp,
        machine: Machine,
        extent: Sequence[int],
        cheap: float,
        reads: int,
        bounds: Mapping[StageOp, KnownBox] | None = None,
    ):
        """Prepare the costs; `bounds` are bounds of stages beside their declared ones."""
        self._machine = machine
        self._bounds = bounds or {}
        extents = needed_extents(pipeline, extent)
        stages = [s for s in pipeline.body.walk() if isinstance(s, StageOp)]
        self._extents: dict[Definition, tuple[int, ...]] = {s: extents.get(s.funcs[0], (0,)) for s in stages}
        for op in pipeline.body.walk():
            if isinstance(op, UpdateOp):
                self._extents[op] = nominal_domain(op, extents.get(op.funcs[0], (0,) * op.rank), extent)
        self._cost: dict[tuple[StageOp, bool], float] = {}
        """Instructions per point, of a stage at one place or at several."""
        self._reads = reads
        self._own = {s: _own_cost(s) for s in stages}
        self._cheap = {s for s, (cost, count) in self._own.items() if cost <= cheap and count <= reads}
        if not machine.is_gpu:  # whose vectors look up one lane after the other
            self._cheap = {stage for stage in self._cheap if not _looks_up(stage)}
        self._sites = {s: read_sites(s) for s in stages if may_be_inlined(s)}
        self._is_inlined_now: dict[StageOp, bool] = {}
        """Whether each stage is inlined where it is read, as the pipeline is given."""
        for stage in stages:
            self._note_cost(stage)

    def is_inlined(self, stage: StageOp, sites: Sequence[ReadSite] | None) -> bool:
        """Whether `stage` is best inlined at `sites`, all its reads; None if an op other than a read uses it."""
        if not sites:
            return False
        if not self._machine.is_gpu and transposes_recurrence(stage) and not all(map(_is_read_across, sites)):
            # the recurrence's kernel stores it in place of its own results: as many bytes, and read along rows
            return False
        if len(sites) > 1 and stage not in self._cheap and not _is_stored_for_updates(sites):
            return (
                self._is_read_in_part(stage, sites)
                or self._is_planes_of_memory(stage, sites)
                or self._is_planes_of_loop(stage, sites)
            )
        return not self._repeats_work(stage, sites) and not self._costs_more(stage, sites)

    def cost(self, stage: StageOp) -> float:
        """Return the instructions per point of a stage that is computed where it is read."""
        return self._cost[stage, False]

    def _repeats_work(self, stage: StageOp, sites: Sequence[ReadSite]) -> bool:
        """Whether a CPU that keeps rows of a stage does far less than one that computes the stage at several sites.

        There one of its operations costs nothing: a product that is added takes one instruction (Harris corners).
        """
        if self._machine.is_gpu or len(sites) == 1 or stage not in self._cheap:
            return False
        operations, loads = self._own[stage]
        again = len(sites) * (max(0.0, operations - 1.0) + loads)
        return again > REPEATED_WORK * (operations + loads + 1.0 + len(sites))

    def _is_read_in_part(self, stage: StageOp, sites: Sequence[ReadSite]) -> bool:
        """Whether all `sites` together read fewer values than the stage has, as data-dependent reads of a table may.

        On a GPU, whose threads share less of what they compute, only of what reads little itself, and stands in no
        kernel with its readers.
        """
        if self._machine.is_gpu and (len(list(reads(stage))) > self._reads or not _is_read_through_data(sites)):
            return False
        return 2 * sum(self.evaluations(site) for site in sites) <= math.prod(self._extents[stage])

    def _is_planes_of_memory(self, stage: StageOp, sites: Sequence[ReadSite]) -> bool:
        """Whether one reader combines a few planes of a stage at its own points, and they come from memory alone.

        There a thread of a GPU computes no more than if they were stored, and no block waits for them. Planes are
        constants, or such as the `4 * c + 1` of each `c`: no point of the reader reads those of another.
        """
        if not self._machine.is_gpu or len(sites) > SMALL_DIMENSION or len({reader for reader, _, _ in sites}) > 1:
            return False
        if sum(self.evaluations(site) for site in sites) > math.prod(self._extents[stage]):
            return False
        beside = ((indices, [_beside_plane(e, d) for d, e in enumerate(map.results)]) for _, map, indices in sites)
        first = next(beside)
        # the chains of stages last, as it takes time to follow them
        return all(other == first for other in beside) and self._is_of_memory(stage)

    def _is_planes_of_loop(self, stage: StageOp, sites: Sequence[ReadSite]) -> bool:
        """Whether one reader on a CPU combines planes of a stage at its own points, in a loop over all of its planes.

        There planes that all planes of the reader need are computed once, and the loop loads and computes meanwhile.
        """
        reader = sites[0][0]
        if self._machine.is_gpu or not isinstance(reader, StageOp) or any(other is not reader for other, _, _ in sites):
            return False
        planes, coordinates = self._few_planes(reader), reader.body.block.args
        beside = all(
            isinstance(e, AffineDimExpr) and indices[e.position] is coordinates[n]
            for _, map, indices in sites for n, e in enumerate(map.results[:2])
        )  # fmt: skip
        if planes == 1 or not beside:
            return False
        return sum(self.evaluations(s, together=True) for s in sites) <= math.prod(self._extents[stage])

    def _few_planes(self, reader: StageOp) -> int:
        """Count the planes of a reader, if they are few and all declared; else 1."""
        bounds, planes = self._bounds_of(reader), self._extents[reader][2:]
        fits = len(bounds) == reader.rank and all(is_small(b) for b in bounds[2:])
        return count if fits and 1 < (count := math.prod(planes)) <= PLANES_AT_ONCE else 1

    def _is_of_memory(self, stage: StageOp) -> bool:
        """Whether a stage reads, directly or through pointwise stages, only functions that no reader can compute."""
        return all(
            isinstance(source := defining_op(read.source), InputOp | UpdateOp)
            or any(map(_follows_data, read.indices))
            or (
                isinstance(source, StageOp)
                and list(read.indices) == list(stage.body.block.args)[: source.rank]
                and read.map.data == AffineMap.identity(source.rank)
                and self._is_of_memory(source)
            )
            for read in reads(stage)
        )

    def _costs_more(self, stage: StageOp, sites: Sequence[ReadSite]) -> bool:
        """Whether computing `stage` at all `sites` takes longer than storing it."""
        on, mine = self._machine, math.prod(self._extents[stage])
        theirs = sum(self.evaluations(site) // self._planes_at_once(stage, site) for site in sites)
        bytes = sum(element_bytes(f.type.element) for f in stage.funcs if isinstance(f.type, FuncType))
        read = INPUT_READ if _is_read_as_its_source(stage, sites) else STORED_READ
        saved = on.microseconds(instructions=(theirs - mine) * self._cost[stage, len(sites) > 1])
        return saved > on.microseconds(instructions=theirs * read, bytes=2 * mine * bytes, kernels=1)

    def _planes_at_once(self, stage: StageOp, site: ReadSite) -> int:
        """Count the planes of a reader that one loop of a CPU computes, and for which it evaluates `stage` once.

        These are few, all declared, and have most of their work in common: what `stage` computes.
        """
        reader, _, _ = site
        if self._machine.is_gpu or not isinstance(reader, StageOp) or self._cost[stage, False] < self._own[reader][0]:
            return 1
        return self._few_planes(reader) if _used_by(site).issubset(reader.body.block.args[:2]) else 1

    def _bounds_of(self, stage: StageOp) -> KnownBox:
        """Return the known bounds of a stage per dimension, or its declared ones; none if it has neither."""
        return self._bounds.get(stage, stage.bounds.data if stage.bounds is not None else ())

    def evaluations(self, site: ReadSite, *, together: bool = False) -> int:
        """Count how often a reader that alone needs an expression evaluates it.

        A thread of a GPU has all points of a small dimension, and computes once what does not depend on it: `together`,
        of sums, too, whose threads may have few points of a dimension that nobody declared; and of the few planes that
        a loop of a CPU computes together.
        """
        reader, _, _ = site
        coordinates, used = reader.body.block.args, _used_by(site)
        once: set[int] = set()
        if isinstance(reader, UpdateOp):
            if together and self._machine.is_gpu and used.issubset(coordinates) and sums_points(reader):
                few = range(1, len(reader.pure))
                once = {d for d in few if coordinates[d] not in used and self._extents[reader][d] <= SMALL_DIMENSION}
        elif self._machine.is_gpu and used.issubset(coordinates):
            bounds = self._bounds_of(reader)
            once = {d for d, a in enumerate(coordinates) if a not in used and is_small(bounds[d] if bounds else None)}
        elif together and used.issubset(coordinates[:2]) and self._few_planes(reader) > 1:
            once = set(range(2, reader.rank))
        return math.prod(n for d, n in enumerate(self._extents[reader]) if d not in once)

    def _note_cost(self, stage: StageOp) -> None:
        """Record the instructions per point, with those instructions of stages that would be inlined into it.

        In what is computed at several places, these are the cheap ones: what it reads is read at several then, too.
        """
        at_one, _ = self._own[stage]
        at_several = at_one
        for source, _, _ in {(op.source, op.map.data, tuple(op.indices)): None for op in reads(stage)}:
            inner = source.owner
            if not isinstance(inner, StageOp) or not self._may_be_inside(inner):
                at_one += INPUT_READ
                at_several += INPUT_READ
                continue
            at_one += self._cost[inner, False]
            at_several += self._cost[inner, True] if inner in self._cheap else INPUT_READ
        self._cost[stage, False], self._cost[stage, True] = at_one, at_several

    def _may_be_inside(self, stage: StageOp) -> bool:
        """Whether a stage of known cost is inlined into its readers under the current decisions."""
        found = self._is_inlined_now.get(stage)
        if found is None:
            found = self._is_inlined_now[stage] = self.is_inlined(stage, self._sites.get(stage))
        return found
