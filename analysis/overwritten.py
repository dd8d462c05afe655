"""Detection of functions whose old values are dead in a call: updates overwrite all needed points before a read.

    f[x] = undef
    f[0] = a[0]
    f[r] = f[r - 1] + a[r]        // r from 1 to the end: all is written by now, and was before it was read

Nobody has to compute such a function: its memory is all that the updates take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.ir import SSAValue

from tilefuse.analysis.access import reads
from tilefuse.analysis.bounds import Box, coordinate_spans, spans_of, touched_spans
from tilefuse.analysis.index import Span
from tilefuse.analysis.index_sums import index_sum
from tilefuse.analysis.recurrence import Recurrence, recurrence
from tilefuse.analysis.sizes import AnySpan, CallSizes
from tilefuse.analysis.updates import UpdateFacts
from tilefuse.analysis.value_range import value_range
from tilefuse.dialects.img.ops import SET, GroupOp, ReadOp, UpdateOp, WriteOp

_Where = Mapping[SSAValue, AnySpan]
_Spans = Sequence[Span]


def is_overwritten(function: SSAValue, needed: Mapping[SSAValue, Box], sizes: CallSizes) -> bool:
    """Whether updates inside groups overwrite all needed points of a function before anything reads them."""
    all_of_it = spans_of(needed[function])
    covered: _Spans | None = None
    while True:
        users = [use.operation for use in function.uses]
        update = users[0] if len(users) == 1 else None
        group = update.parent_op() if isinstance(update, UpdateOp) else None
        if (
            not isinstance(update, UpdateOp)
            or not isinstance(group, GroupOp)
            or group.fused_stages
            or group.earlier_updates
        ):
            return False
        number = list(update.old_funcs).index(function)
        function = group.funcs[number]
        if function not in needed:
            return False
        where = coordinate_spans(update, spans_of(needed[function]), sizes)
        if where is None or (written := _written(update, number, where, sizes)) is None:
            return False
        if not _reads_what_is_written(update, number, where, written, covered, sizes):
            return False
        covered = written if covered is None else _together(covered, written)
        if _inside(all_of_it, covered):
            return True


def _written(update: UpdateOp, number: int, where: _Where, sizes: CallSizes) -> _Spans | None:
    """Return a box in which an update certainly writes all points; None if no such box is known."""
    write = update.write_op
    if update.combiners[number] != SET or write.predicate is not None:
        return None
    seen: set[SSAValue] = set()
    for expr in write.map.data.results:
        place = index_sum(update, expr, list(write.indices))
        if place is None:
            return None
        own = [v for v in place.terms if v in where]
        if len(own) > 1 or any(abs(place.terms[v]) != 1 or v in seen for v in own):
            return None
        seen.update(own)
        for v in place.terms:
            low, high = (0, 0) if v in where else value_range(v, where, sizes)
            if low != high:
                return None
    return _touched(write, update, where, sizes)


def _reads_what_is_written(
    update: UpdateOp, number: int, where: _Where, written: _Spans, covered: _Spans | None, sizes: CallSizes
) -> bool:
    """Whether an update reads of itself only points in the box `covered` or points that it has already written."""
    own: list[ReadOp] = [read for read in reads(update) if read.source is update.currents[number]]
    found = recurrence(UpdateFacts(update)) if own else ""
    for read in own:
        touched = _touched(read, update, where, sizes)
        if covered is not None and _inside(touched, covered):
            continue
        if not isinstance(found, Recurrence) or found.back[read] <= 0:
            return False
        # what it has not written itself must be there
        if any(covered is None or not _inside(part, covered) for part in _without(touched, written)):
            return False
    return True


def _touched(op: ReadOp | WriteOp, update: UpdateOp, where: _Where, sizes: CallSizes) -> _Spans:
    return cast(list[Span], touched_spans(op, update, where, sizes))  # of numbers, for the sizes are


def _inside(a: _Spans, b: _Spans) -> bool:
    return all(lb <= la and ha <= hb for (la, ha), (lb, hb) in zip(a, b, strict=True))


def _together(a: _Spans, b: _Spans) -> _Spans:
    """Return the union of two boxes if it is a box, else the first one."""
    if _inside(a, b) or _inside(b, a):
        return b if _inside(a, b) else a
    differing = [d for d, (p, q) in enumerate(zip(a, b, strict=True)) if p != q]
    if len(differing) == 1:
        dim = differing[0]
        (la, ha), (lb, hb) = a[dim], b[dim]
        if la <= hb + 1 and lb <= ha + 1:
            return [*a[:dim], (min(la, lb), max(ha, hb)), *a[dim + 1 :]]
    return a


def _without(a: _Spans, b: _Spans) -> list[_Spans]:
    """Return boxes that cover all points of `a` outside `b`; `a` itself if several dimensions differ."""
    beyond = [d for d, ((la, ha), (lb, hb)) in enumerate(zip(a, b, strict=True)) if la < lb or ha > hb]
    if len(beyond) != 1:
        return [a] if beyond else []
    dim, parts = beyond[0], list[_Spans]()
    (la, ha), (lb, hb) = a[dim], b[dim]
    for low, high in ((la, min(ha, lb - 1)), (max(la, hb + 1), ha)):
        if low <= high:
            parts.append([*a[:dim], (low, high), *a[dim + 1 :]])
    return parts
