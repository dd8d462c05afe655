"""Data dependence inside a body: the values computed from given values, and the values that they are computed from."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Block, Operation, SSAValue


def depending(ops: Iterable[Operation], sources: Iterable[SSAValue]) -> set[SSAValue]:
    """Return `sources` and all values that ops, in program order, compute from them."""
    found = set(sources)
    if found:
        for op in ops:
            if not found.isdisjoint(op.operands):
                found.update(op.results)
    return found


def behind(values: Iterable[SSAValue], body: Block | None) -> list[SSAValue]:
    """Return values and all values that operations of a body compute them from, each value before its sources."""
    found: dict[SSAValue, None] = {}
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if value not in found:
            found[value] = None
            if isinstance(value.owner, Operation) and value.owner.parent is body:
                waiting += value.owner.operands
    return list(found)


def operations_behind(values: Iterable[SSAValue], body: Block | None) -> list[Operation]:
    """Return the operations of a body that compute values, each before the operations of its operands."""
    owners = (value.owner for value in behind(values, body))
    return list(dict.fromkeys(op for op in owners if isinstance(op, Operation) and op.parent is body))
