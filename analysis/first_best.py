"""Recognition of updates that keep the first (or last) best point of a domain, as argmin and argmax do.

    f[x] = Tuple(select(v < f[x][1], e, f[x][0]), select(v < f[x][1], v, f[x][1]))

What they give is the least of a total order: by the key `v`, and of equal keys the one that comes first; with `<=` the
one that comes last. So points of the domain may be compared in any order if each carries its place in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Operation, SSAValue

from tilefuse.analysis.dependence import depending
from tilefuse.dialects.img.ops import SET, ReadOp, UpdateOp, WriteOp
from tilefuse.dialects.img.types import FuncType

_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
_NEGATED = {"le": "gt", "ge": "lt", "lt": "ge", "gt": "le"}


@dataclass(frozen=True)
class FirstBest:
    """An update that keeps its first best point: the functions that a better point replaces."""

    functions: tuple[int, ...]
    """Their numbers in the update."""
    key: int
    """The number of the one that is compared."""
    better: str
    """Comparison of keys: `lt` or `gt`."""
    last: bool
    """Whether of equal keys the last one is kept."""
    terms: tuple[SSAValue, ...]
    """The new value of each of the functions."""
    skipped: frozenset[Operation]
    """Ops that read the functions themselves, and those that depend on them."""


def first_best(update: UpdateOp) -> FirstBest | None:
    """Find the keys whose first best an update keeps; None if it does anything else with the old values.

    Functions beside these have combiners.
    """
    functions = tuple(n for n, way in enumerate(update.combiners) if way == SET)
    own, dependent = _own_reads(update), _dependent(update)
    selects = [update.write_op.values[n].owner for n in functions]
    if not functions or own is None or not dependent.issuperset(selects):
        return None
    replaced = [found for s, n in zip(selects, functions, strict=True) if (found := _replaced(s, own, n)) is not None]
    conditions = {(condition, holds) for condition, holds, _ in replaced}
    if len(replaced) != len(functions) or len(conditions) != 1:
        return None
    terms = tuple(new for _, _, new in replaced)
    ((condition, holds),) = conditions
    order = _order(condition.owner, own, holds)
    if order is None or order[0] not in functions or terms[functions.index(order[0])] is not order[1]:
        return None
    skipped = frozenset({*own.values(), condition.owner, *selects})
    write = update.write_op
    others = [v for n, v in enumerate(write.values) if n not in functions]
    for value in (*terms, *others, *write.indices, *((write.predicate,) if write.predicate is not None else ())):
        if value.owner in skipped:
            return None
    if not dependent <= skipped:
        return None
    key, _, better = order
    return FirstBest(functions, key, f"{better[0]}t", better[1] == "e", terms, skipped)  # type: ignore[arg-type]


def _own_reads(update: UpdateOp) -> dict[SSAValue, ReadOp] | None:
    """Return the reads of the updated functions, by value; None if a read is at another place than the write."""
    found: dict[SSAValue, ReadOp] = {}
    for current in update.currents:
        for use in current.uses:
            read = use.operation
            assert isinstance(read, ReadOp)
            if not update.write_op.is_at(read):
                return None
            found[read.value] = read
    return found


def _dependent(update: UpdateOp) -> set[Operation]:
    """Return the operations of the body that depend on the old values, except for the write."""
    seen = depending(update.body.block.ops, update.currents)
    ops = (op for op in update.body.block.ops if not isinstance(op, WriteOp))
    return {op for op in ops if not seen.isdisjoint(op.operands)}


def _replaced(op: object, own: dict[SSAValue, ReadOp], function: int) -> tuple[SSAValue, bool, SSAValue] | None:
    """Return the condition that replaces function `function`, its truth value then, and the new value."""
    if not isinstance(op, arith.SelectOp):
        return None
    for old, new, holds in ((op.rhs, op.lhs, True), (op.lhs, op.rhs, False)):
        if old in own and new not in own and _number(own[old]) == function:
            return op.cond, holds, new
    return None


def _number(read: ReadOp) -> int:
    """Return the number of the function that a read of the update's own functions reads."""
    update = read.parent_op()
    assert isinstance(update, UpdateOp)
    return update.currents.index(read.source)  # type: ignore[arg-type]


def _order(op: object, own: dict[SSAValue, ReadOp], holds: bool) -> tuple[int, SSAValue, str] | None:
    """Take a comparison apart: the function compared, the new value, and the order of new to old value.

    `holds`: whether the new value is the better one where the comparison holds.
    """
    if not isinstance(op, arith.CmpiOp | arith.CmpfOp):
        return None
    is_old = [v in own for v in (op.lhs, op.rhs)]
    if is_old.count(True) != 1:
        return None
    old, new = (op.lhs, op.rhs) if is_old[0] else (op.rhs, op.lhs)
    function = own[old].source.type
    assert isinstance(function, FuncType)
    way = _way(op, function)
    if way is None or (not holds and isinstance(op, arith.CmpfOp)):
        # of a NaN neither holds
        return None
    better = way if holds else _NEGATED[way]
    return _number(own[old]), new, _MIRRORED[better] if is_old[0] else better


def _way(op: arith.CmpiOp | arith.CmpfOp, function: FuncType) -> str | None:
    """Return the comparison without its kind (ordered, signed, unsigned) if the kind matches the element; else None."""
    number = op.predicate.value.data
    element = function.element
    if isinstance(op, arith.CmpfOp):
        name, kind = arith.CMPF_COMPARISON_OPERATIONS[number], "o"
    else:
        assert isinstance(element, IntegerType)
        name = arith.CMPI_COMPARISON_OPERATIONS[number]
        kind = "s" if element.signedness.data is Signedness.SIGNED else "u"
    return name[1:] if name[0] == kind and name[1:] in ("lt", "le", "gt", "ge") else None
