"""Data dependence inside a body: the values computed from given values."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue


def depending(ops: Iterable[Operation], sources: Iterable[SSAValue]) -> set[SSAValue]:
    """Return `sources` and all values that ops, in program order, compute from them."""
    found = set(sources)
    if found:
        for op in ops:
            if not found.isdisjoint(op.operands):
                found.update(op.results)
    return found
