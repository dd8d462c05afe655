"""`pad-edges`: read functions beyond their edges from rows that are copied with the points beside them (level 2).

    %blur = img.group "blur" {                              %blur = img.group "blur" {
      %blur0 = img.stage "blur" (%x, %y) -> f32 {             %padded = img.stage "image_padded" (%x, %y) -> f32 {
        ... img.read %clamped[%x - 4, %y] ...                   %v = img.read %clamped[%x, %y]
                                                    =>          img.yield %v : f32
                                                              }
                                                              %blur0 = img.stage "blur" (%x, %y) -> f32 {
                                                                ... img.read %padded[%x - 4, %y] ...

Columns whose reads a boundary moves are computed one by one. In a small picture they take longer than all others. Of a
padded row all columns are computed by vectors, and only the copy is made one by one where a boundary moves it. The pass
applies where this saves instructions, in groups that compute row by row, and in pictures so small that one thread may
compute them: in larger ones a copy of each row takes longer than its ends. For CPUs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilefuse.analysis.access import accesses, behind_boundaries, free_name, function_name, reads
from tilefuse.analysis.index import Index, Span
from tilefuse.analysis.instructions import instruction_cost
from tilefuse.analysis.machine import machine
from tilefuse.analysis.points import NominalSizes, count_points, needed_spans
from tilefuse.analysis.regions import NotFusable
from tilefuse.analysis.scalars import boundary_box
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.copies import copied_read, copy_stage
from tilefuse.dialects.img.ops import BoundaryOp, GroupOp, PipelineOp, StageOp
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.execution.registry import model_named
from tilefuse.execution.search import best_schedule
from tilefuse.passes.trials import TrialPass, Trials, named

MOVED_READ = 8.0
"""Instructions of a read that a boundary moves."""
SAVED_SHARE = 0.05
"""Share of a group's instructions that must be saved."""
COPIED_ROW = 40.0
"""Instructions to begin a row of a copy, and to compute its last columns."""


@dataclass(frozen=True)
class PadEdges(TrialPass):
    """Copy rows with the points beside them, where many columns are read beyond an edge."""

    name = "pad-edges"

    def try_changes(self, trials: Trials, pipeline: PipelineOp) -> None:
        if not machine(self.target).leaves_to_one_thread(self.extent):
            return
        groups = [g for g in pipeline.body.block.ops if isinstance(g, GroupOp)]
        for name in [g.sym_name.data for g in groups if g.schedule is None and g.update is None]:
            edges = _Edges(pipeline, named(pipeline, name), self)
            if edges.saved() > SAVED_SHARE * edges.vectors() and self._is_by_rows(trials, pipeline, name):
                pipeline = trials.tried_alone(pipeline, name, _pad, always=True)

    def _is_by_rows(self, trials: Trials, pipeline: PipelineOp, name: str) -> bool:
        """Whether the schedule of a group keeps rows of its stages."""
        try:
            found = best_schedule(trials.facts(pipeline, name), machine(self.target))
        except NotFusable:
            return False
        return found is not None and model_named(found.shape).shares_rows


class _Edges:
    """Counts of the columns of a group that a boundary moves, for a picture of nominal size."""

    def __init__(self, pipeline: PipelineOp, group: GroupOp, options: PadEdges):
        self._spans = needed_spans(pipeline, options.extent)
        self._sizes = NominalSizes(options.extent)
        self._bytes = machine(options.target).vector_bytes
        self._group = group

    def saved(self) -> float:
        """Return the instructions that a padded copy of all functions with edges saves."""
        functions = _padded(self._group)
        if not functions:
            return -math.inf
        return sum(map(self._beside, self._group.stages)) - sum(map(self._copy, functions))

    def vectors(self) -> float:
        """Return the instructions of all columns by vectors."""
        return sum(
            count_points(self._spans[stage.funcs[0]])
            / self._lanes(stage.funcs[0])
            * (_instructions(stage) + len(list(reads(stage))))
            for stage in self._group.stages
        )

    def _lanes(self, function: SSAValue) -> float:
        assert isinstance(function.type, FuncType)
        return self._bytes / element_bytes(function.type.element)

    def _beside(self, stage: StageOp) -> float:
        """Return the instructions of a stage's columns that a boundary moves, if all are of padded functions."""
        read = [a for a in accesses(stage) if isinstance(a.function.owner, BoundaryOp)]
        if not read or not all(map(_moves_along, (a.indices for a in read))):
            return 0.0
        (low, high), *rest = self._spans[stage.funcs[0]]
        first, last = low, high
        for access in read:
            x, (start, end) = access.indices[0], self._inside(access.function, (low, high))
            assert isinstance(x, Index)
            first = max(first, -((x.offset - start) // x.num))
            last = min(last, (end - x.offset) // x.num)
        beside = (high - low + 1) - max(0, last - first + 1)
        return count_points(rest) * beside * (MOVED_READ * len(read) + _instructions(stage))

    def _copy(self, function: SSAValue) -> float:
        (low, high), *rest = self._spans[function]
        start, end = self._inside(function, (low, high))
        beside = (high - low + 1) - max(0, min(end, high) - max(start, low) + 1)
        return count_points(rest) * (2 * (high - low + 1) / self._lanes(function) + COPIED_ROW + MOVED_READ * beside)

    def _inside(self, function: SSAValue, otherwise: Span) -> Span:
        """Return the columns that no boundary of a function moves."""
        first, last = -math.inf, math.inf
        for boundary in behind_boundaries(function)[1]:
            try:
                found = boundary_box(boundary, self._sizes).get(0)
            except PipelineError:  # which whoever calls the program is told
                continue
            if found is not None and isinstance(found[0], int) and isinstance(found[1], int):
                first, last = max(first, found[0]), min(last, found[1])
        return (otherwise[0] if first == -math.inf else int(first), otherwise[1] if last == math.inf else int(last))


def _instructions(stage: StageOp) -> float:
    return sum(map(instruction_cost, stage.body.block.ops))


def _padded(group: GroupOp) -> list[SSAValue]:
    """Return the functions with edges whose reads all move along with rows and columns, and are not mere copies."""
    read: dict[SSAValue, bool] = {}
    for stage in group.stages:
        for access in accesses(stage):
            if isinstance(access.function.owner, BoundaryOp) and access.function.owner.parent_op() is not group:
                along = stage.rank > 1 and _moves_along(access.indices) and copied_read(stage) is None
                read[access.function] = read.get(access.function, True) and along
    return [function for function, along in read.items() if along]


def _moves_along(indices: Sequence[object]) -> bool:
    """Whether a read moves by whole points with x and y of its reader, other dimensions each with its own or none."""
    return len(indices) > 1 and all(
        isinstance(i, Index) and i.den == 1 and (i.num > 0 and i.var == d if d < 2 else i.var in (None, d))
        for d, i in enumerate(indices)
    )


def _pad(group: GroupOp) -> None:
    """Make stages that copy functions with edges, which all others of the group read in place of these."""
    names = {s.sym_name.data for s in group.stages}
    made: Mapping[SSAValue, StageOp] = {f: copy_stage(name, f) for f, name in _named(_padded(group), names)}
    first = next(iter(group.body.block.ops))
    for function, stage in made.items():
        stage.location = group.location
        for inner in stage.body.block.ops:
            inner.location = group.location
        for reader in group.stages:
            for access in list(accesses(reader)):
                if access.function is function:
                    access.op.operands[0] = stage.funcs[0]
        group.body.block.insert_op_before(stage, first)


def _named(functions: Sequence[SSAValue], names: set[str]) -> Iterator[tuple[SSAValue, str]]:
    for function in functions:
        name = free_name(f"{function_name(function)}_padded", names)
        names.add(name)
        yield function, name
