"""Recognition of recurrences: updates whose points along one axis need results of the points just before them.

    f[x, r] += a * f[x, r - 1]        // a line per x, of which each step reads the one before

Lines do not see one another, so they may run at once, and what a step reads of earlier ones can stay in registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilefuse.analysis.access import own_reads, reads
from tilefuse.analysis.index_sums import IndexSum, index_sum
from tilefuse.analysis.updates import Axis, UpdateFacts
from tilefuse.dialects.img.ops import PrintOp, ReadOp, StageOp, UpdateOp
from tilefuse.dialects.img.ops.group import permutation_of

DEEPEST = 8
"""Steps back that a step may read: so many values of each function are kept."""


@dataclass(frozen=True)
class Line:
    """A coordinate along which the lines of a recurrence are independent."""

    coordinate: SSAValue
    dim: int
    """Dimension of the written function that the coordinate indexes."""
    is_pure: bool
    """Whether it runs over the box of the functions, or over the domain."""


@dataclass(frozen=True)
class Recurrence:
    """A recurrence: its axes, and the distance of each read of the functions themselves."""

    along: SSAValue
    """The coordinate of the domain along which steps follow one another."""
    dim: int
    """Dimension of the written function along which steps follow one another."""
    lines: tuple[Line, ...]
    """Lines in the order of their dimensions, x first."""
    goes_up: bool
    """Whether steps go up along that dimension, not down."""
    back: Mapping[ReadOp, int]
    """Steps from a read to the one that wrote there; 0 and less for places that no step has written by then."""

    @property
    def depth(self) -> int:
        """Number of earlier values of each function that a step needs, at least 1."""
        return max([1, *self.back.values()])


def recurrence(facts: UpdateFacts) -> Recurrence | str:
    """Analyse an update as a recurrence; return it, or one sentence that says why it is none."""
    update = facts.update
    scans = [c for c, axis in zip(update.coordinates, facts.axes, strict=True) if axis is Axis.Scan]
    if len(scans) != 1:
        return "not exactly one dimension of it has steps that depend on earlier steps"
    (along,) = scans
    if any(axis not in (Axis.Pure, Axis.Parallel, Axis.Scan) for axis in facts.axes):
        return "several steps of its domain write one point"
    if any(isinstance(op, PrintOp) for op in update.body.block.ops):
        return "it prints"
    write = update.write_op
    written = [index_sum(update, x, list(write.indices)) for x in write.map.data.results]
    dims = [d for d, place in enumerate(written) if place is not None and along in place.terms]
    if any(place is None for place in written) or len(dims) != 1:
        return "it writes at computed places"
    (dim,) = dims
    lines = []
    for c, axis in zip(update.coordinates, facts.axes, strict=True):
        if axis is not Axis.Scan:
            lines.append(Line(c, write.positions.index(c), axis is Axis.Pure))
    back = {}
    for read in own_reads(update):
        there = [index_sum(update, x, list(read.indices)) for x in read.map.data.results]
        steps = _steps_back(there, written, dim, along)
        if steps is None:
            return "it reads itself at points other than those of earlier or later steps"
        back[read] = steps
    if max(back.values()) > DEEPEST:
        return f"it reads itself {max(back.values())} steps back; at most {DEEPEST} are supported"
    place = written[dim]
    assert place is not None
    return Recurrence(along, dim, tuple(sorted(lines, key=lambda line: line.dim)), place.terms[along] > 0, back)


def has_all_points(found: Recurrence, update: UpdateOp) -> bool:
    """Whether lines and steps of a recurrence cover every point of its functions, not only a plane or a diagonal."""
    return all(line.is_pure for line in found.lines) and len(found.lines) + 1 == update.rank


def transposes_recurrence(stage: StageOp) -> bool:
    """Whether a recurrence with full lines has one reader, a stage that transposes its lines across memory rows."""
    updates = {read.source.owner for read in reads(stage) if isinstance(read.source.owner, UpdateOp)}
    return any(transposes_lines(stage, update) for update in updates)


def transposes_lines(stage: StageOp, update: UpdateOp) -> bool:
    """Whether a stage reads an update's recurrence with its lines transposed across memory rows."""
    permutations = {permutation_of(use.operation, stage) for f in update.funcs for use in f.uses}
    permutation = permutations.pop() if len(permutations) == 1 else None
    found = recurrence(UpdateFacts(update)) if permutation is not None else ""
    if permutation is None or not isinstance(found, Recurrence) or not has_all_points(found, update):
        return False
    return found.dim > 0 and permutation[found.dim] == 0


def _steps_back(
    there: Sequence[IndexSum | None], written: Sequence[IndexSum | None], dim: int, along: SSAValue
) -> int | None:
    """Return the number of steps from a read back to the step that wrote the value; None if it varies."""
    place, here = there[dim], written[dim]
    if place is None or here is None or place.terms != here.terms or abs(here.terms[along]) != 1:
        return None
    if any(there[d] != written[d] for d in range(len(written)) if d != dim):
        return None
    return (here.constant - place.constant) * here.terms[along]
