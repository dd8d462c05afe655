"""Detection of old values that are dead in a call: points of a function that updates overwrite before a read.

    f[x] = undef
    f[0] = a[0]
    f[r] = f[r - 1] + a[r]        // r from 1 to the end: all is written by now, and was before it was read

Nobody has to compute these points: their memory is all that the updates take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.ir import SSAValue

from tilefuse.analysis.access import own_reads
from tilefuse.analysis.bounds import Box, coordinate_spans, spans_of, touched_spans
from tilefuse.analysis.index import Span
from tilefuse.analysis.index_sums import index_sum
from tilefuse.analysis.sizes import AnySpan, CallSizes
from tilefuse.analysis.value_range import value_range
from tilefuse.dialects.img.ops import SET, GroupOp, ReadOp, UpdateOp, WriteOp

_CoordinateSpans = Mapping[SSAValue, AnySpan]
_BoxSpans = Sequence[Span]


def unwritten_boxes(function: SSAValue, needed: Mapping[SSAValue, Box], sizes: CallSizes) -> list[Box]:
    """Return boxes (min, extent) with all points of a function that something reads before updates overwrite them.

    The updates are those inside groups, each in memory. The boxes are inside the function's needed box; no box is
    returned if updates overwrite all of it first.
    """
    all_of_it = spans_of(needed[function])
    covered: _BoxSpans | None = None
    found: list[_BoxSpans] = []
    while (step := _next_update(function, needed)) is not None:
        update, number, function = step
        where = coordinate_spans(update, spans_of(needed[function]), sizes)
        if where is None or (written := _written(update, number, where, sizes)) is None:
            break
        for read in (r for r in own_reads(update) if r.source is update.currents[number]):
            seen = _touched(read, update, where, sizes)
            parts = [seen] if covered is None else _without(seen, covered)
            if _reads_earlier_steps(read, update):
                parts = [left for part in parts for left in _without(part, written)]
            found += parts
        covered = written if covered is None else _together(covered, written)
    found += [all_of_it] if covered is None else _without(all_of_it, covered)
    inside = [[(max(la, lb), min(ha, hb)) for (la, ha), (lb, hb) in zip(p, all_of_it, strict=True)] for p in found]
    return [tuple((low, high - low + 1) for low, high in spans) for spans in _largest(inside)]


def _next_update(function: SSAValue, needed: Mapping[SSAValue, Box]) -> tuple[UpdateOp, int, SSAValue] | None:
    """Return the update that alone uses a function, the function's number among the updated, and its new version."""
    users = [use.operation for use in function.uses]
    update = users[0] if len(users) == 1 else None
    group = update.parent_op() if isinstance(update, UpdateOp) else None
    if (
        not isinstance(update, UpdateOp)
        or not isinstance(group, GroupOp)
        or group.fused_stages
        or group.earlier_updates
    ):
        return None
    number = list(update.old_funcs).index(function)
    return (update, number, group.funcs[number]) if group.funcs[number] in needed else None


def _written(update: UpdateOp, number: int, where: _CoordinateSpans, sizes: CallSizes) -> _BoxSpans | None:
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


def _reads_earlier_steps(read: ReadOp, update: UpdateOp) -> bool:
    """Whether an update reads, of all points that it writes itself, only points of earlier steps.

    The last coordinate of the domain is the outermost loop. The first that differs between read and write decides.
    """
    write = update.write_op
    written = [index_sum(update, x, list(write.indices)) for x in write.map.data.results]
    for axis in reversed(update.domain):
        dims = [d for d, place in enumerate(written) if place is not None and axis.coordinate in place.terms]
        if len(dims) != 1:
            return False
        here, there = written[dims[0]], index_sum(update, read.map.data.results[dims[0]], list(read.indices))
        if here is None or there is None or here.terms != there.terms:
            return False
        if steps := (here.constant - there.constant) * here.terms[axis.coordinate]:
            return steps > 0
    return False


def _touched(op: ReadOp | WriteOp, update: UpdateOp, where: _CoordinateSpans, sizes: CallSizes) -> _BoxSpans:
    return cast(list[Span], touched_spans(op, update, where, sizes))  # of numbers, for the sizes are


def _inside(a: _BoxSpans, b: _BoxSpans) -> bool:
    return all(lb <= la and ha <= hb for (la, ha), (lb, hb) in zip(a, b, strict=True))


def _together(a: _BoxSpans, b: _BoxSpans) -> _BoxSpans:
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


def _without(a: _BoxSpans, b: _BoxSpans) -> list[_BoxSpans]:
    """Return disjoint boxes that together hold the points of box `a` outside box `b`; cut along x last."""
    parts = list[_BoxSpans]()
    for dim in reversed(range(len(a))):
        (la, ha), (lb, hb) = a[dim], b[dim]
        parts += [
            [*a[:dim], (low, high), *a[dim + 1 :]]
            for low, high in ((la, min(ha, lb - 1)), (max(la, hb + 1), ha))
            if low <= high
        ]
        if la > hb or ha < lb:
            return parts
        a = [*a[:dim], (max(la, lb), min(ha, hb)), *a[dim + 1 :]]
    return parts


def _largest(boxes: Sequence[_BoxSpans]) -> list[_BoxSpans]:
    """Return the boxes that are not empty and not inside another one."""
    boxes = [b for b in boxes if all(low <= high for low, high in b)]
    covers = [[_inside(b, c) and (b != c or j < i) for j, c in enumerate(boxes)] for i, b in enumerate(boxes)]
    return [b for b, by in zip(boxes, covers, strict=True) if not any(by)]
