"""Data dependence inside a body: the values computed from given values, and the values that they are computed from."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from xdsl.ir import Block, Operation, SSAValue


def depending(ops: Iterable[Operation], sources: Iterable[SSAValue]) -> set[SSAValue]:
    """Return `sources` and all values that ops, in program order, compute from them."""
    found = set(sources)
    if found:
        for op in ops:
            if not found.isdisjoint(op.operands):
                found.update(op.results)
    return found


def is_defined_in(value: SSAValue, body: Block) -> bool:
    """Whether a value is an argument of a body, or a result of one of its operations."""
    return value.owner is body or (isinstance(value.owner, Operation) and value.owner.parent is body)


def behind(values: Iterable[SSAValue], body: Block | None, ends: Collection[SSAValue] = ()) -> list[SSAValue]:
    """Return values and all values that operations of a body compute them from, each value before its sources.

    `ends`: values whose sources are left out.
    """
    found: dict[SSAValue, None] = {}
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if value not in found:
            found[value] = None
            if isinstance(value.owner, Operation) and value.owner.parent is body and value not in ends:
                waiting += value.owner.operands
    return list(found)


def operations_behind(
    values: Iterable[SSAValue], body: Block | None, ends: Collection[SSAValue] = ()
) -> list[Operation]:
    """Return the operations of a body that compute values, each before the operations of its operands.

    `ends`: values whose operands are left out.
    """
    owners = (value.owner for value in behind(values, body, ends))
    return list(dict.fromkeys(op for op in owners if isinstance(op, Operation) and op.parent is body))
