"""Updates along the lines of a recurrence: before it, others of the functions that it updates.

    f[x, 0] = g[x, 0]                        // a constant place of each line
    f[x, r] = a * f[x, r - 1] + g[x, r]      // down all lines
    f[x, n - r] = a * f[x, n - r + 1] + ...  // up, the recurrence

No line sees another one in any of them, so a thread may take a line, or some side by side, through all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilefuse.analysis.access import own_reads, touching
from tilefuse.analysis.index_sums import IndexSum, index_sum
from tilefuse.analysis.recurrence import Recurrence, has_all_points, recurrence
from tilefuse.analysis.updates import UpdateFacts
from tilefuse.dialects.img.ops import SET, PrintOp, UpdateOp, WriteOp


def why_not_along_lines(updates: Sequence[UpdateOp]) -> str | None:
    """Explain in one sentence why a chain of updates does not go along lines; None if all updates do.

    Each updates the functions of the one before it. The last one must be a recurrence along another dimension than x,
    whose lines have all points.
    """
    last = updates[-1]
    found = recurrence(UpdateFacts(last))
    if isinstance(found, str):
        return f"'{last.sym_name.data}' is no recurrence: {found}"
    if not has_all_points(found, last) or found.dim == 0:
        return f"the lines of '{last.sym_name.data}' do not have all points, or go along x"
    for update in updates[:-1]:
        if (reason := _why_not_along(update, found.dim)) is not None:
            return f"'{update.sym_name.data}' does not go along the lines of '{last.sym_name.data}': {reason}"
    return None


def places_along(update: UpdateOp, found: Recurrence) -> Iterator[IndexSum]:
    """Yield the places along the lines that an update writes, or reads of itself."""
    for op in touching(update):
        place = index_sum(update, op.map.data.results[found.dim], list(op.indices))
        assert place is not None
        yield place


@dataclass(frozen=True)
class Run:
    """Adjacent places of a line, which an update sets one after the other."""

    places: IndexSum
    goes_up: bool
    reads: int
    """Places just before the first one that its first step reads."""


def run_of_places(update: UpdateOp, found: Recurrence) -> Run | None:
    """Find the run of places along lines that an update sets without a condition; None if they are no run."""
    if any(way != SET for way in update.combiners) or update.write_op.predicate is not None:
        return None
    place = next(places_along(update, found))
    along = [axis.coordinate for axis in update.domain]
    if len(along) > 1 or any(abs(place.terms.get(c, 0)) != 1 for c in along):
        return None
    goes_up = all(place.terms[c] > 0 for c in along)
    if not own_reads(update):
        return Run(place, goes_up, 0)
    own = recurrence(UpdateFacts(update))
    if isinstance(own, str) or min(own.back.values()) <= 0:
        return None
    return Run(place, goes_up, own.depth)


def chain_of(update: UpdateOp) -> list[UpdateOp]:
    """Return the update, and those behind it of which each is the only user of the functions of the one before."""
    chain = [update]
    while True:
        used = [use.operation for f in chain[-1].funcs for use in f.uses]
        then = used[0] if used else None
        if not isinstance(then, UpdateOp) or any(op is not then for op in used):
            return chain
        if list(then.old_funcs) != list(chain[-1].funcs):
            return chain
        chain.append(then)


def _why_not_along(update: UpdateOp, dim: int) -> str | None:
    """Explain in one sentence why an update does not go along the lines of a dimension; None if it does."""
    if any(isinstance(op, PrintOp) for op in update.body.block.ops):
        return "it prints"
    pure = dict(zip(update.pure_dims, update.pure, strict=True))
    if len(pure) + 1 != update.rank or dim in pure:
        return "its pure coordinates differ from theirs"
    for op in touching(update):
        what = "writes" if isinstance(op, WriteOp) else "reads itself"
        places = [index_sum(update, x, list(op.indices)) for x in op.map.data.results]
        if places[dim] is None or any(c in places[dim].terms for c in update.pure):  # type: ignore[union-attr]
            return f"it {what} at computed places"
        if any(places[d] != IndexSum({c: 1}, 0) for d, c in pure.items()):
            return f"it {what} on other lines"
    return None
