"""Recognition of running sums: recurrences that add each point to its predecessor, so that chunks of a line combine.

f[r] += f[r - 1]              // of what stands there
f[r] = f[r - 1] + e(r)        // of a term that reads no more of f than what stands there
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tilefuse.analysis.dependence import depending
from tilefuse.analysis.recurrence import Recurrence, recurrence
from tilefuse.analysis.updates import UpdateFacts
from tilefuse.dialects.img.combiners import combiner_of
from tilefuse.dialects.img.ops import SET
from tilefuse.dialects.img.types import FuncType


@dataclass(frozen=True)
class RunningSum:
    """A running sum: a combiner along an axis, and its terms."""

    recurrence: Recurrence
    way: str
    """A combiner."""
    term: SSAValue | None
    """Term of a step; None for the old value."""


def running_sum(facts: UpdateFacts) -> RunningSum | str:
    """Analyse an update as a running sum; return it, or one sentence that says why it is none."""
    found, update = recurrence(facts), facts.update
    if isinstance(found, str):
        return found
    if (
        len(update.old_funcs) > 1
        or update.write_op.predicate is not None
        or sorted(found.back.values())[-2:] not in ([1], [0, 1])
    ):
        return "it does not only combine each point with the previous one"
    read = next(read for read, back in found.back.items() if back == 1)
    if min(found.back.values()) < 0:
        return "it reads itself ahead, where another block may have written"
    type = update.old_funcs[0].type
    assert isinstance(type, FuncType)
    (way,), (value,) = facts.combiners, update.write_op.values
    if way != SET and value is read.value:
        return RunningSum(found, way, None)
    made = value.owner
    if way == SET and isinstance(made, Operation) and len(made.operands) == 2 and read.value in made.operands:
        term = made.operands[0] if made.operands[1] is read.value else made.operands[1]
        joined_by = combiner_of(made, type.element)
        if joined_by is not None and term not in depending(update.body.block.ops, [read.value]):
            return RunningSum(found, joined_by, term)
    return "it does not only combine each point with the previous one"
