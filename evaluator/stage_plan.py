"""Plans of stage bodies: the operations to compute, in order, and when each value is last used."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tilefuse.dialects.img.ops import Definition, ReadOp, UpdateOp, WriteOp


@dataclass(frozen=True)
class PlannedOp:
    """One op, and the values that are dead after it."""

    op: Operation
    dead: tuple[SSAValue, ...]


@dataclass(frozen=True)
class StagePlan:
    """The ops that the values of a stage need; nothing is computed or read for other ops."""

    steps: tuple[PlannedOp, ...]
    index_steps: tuple[PlannedOp, ...]
    """The steps that coordinates and scalars alone decide, and that indices need."""
    reads: tuple[ReadOp, ...]
    by_data: frozenset[ReadOp]
    """The reads at an index that is computed from other reads."""


def needed(body: list[Operation], roots: set[SSAValue]) -> list[Operation]:
    """Return the ops of a body that the values `roots` need."""
    wanted = set(roots)
    found = []
    for op in reversed(body):
        if any(r in wanted for r in op.results):
            found.append(op)
            wanted.update(op.operands)
    return found[::-1]


def steps(ops: list[Operation], kept: set[SSAValue]) -> tuple[PlannedOp, ...]:
    """Convert `ops` to steps, which preserve the values in `kept`."""
    seen = set(kept)
    found = []
    for op in reversed(ops):
        dead = []
        for value in (*op.results, *op.operands):
            if value not in seen:
                seen.add(value)
                dead.append(value)
        found.append(PlannedOp(op, tuple(dead)))
    return tuple(reversed(found))


def plan_stage(stage: Definition) -> StagePlan:
    """Plan a stage or an update; an update's reads of its own functions do not count as reads."""
    last = stage.body.block.last_op
    assert last is not None
    given = set(last.operands)
    own = set(stage.currents) if isinstance(stage, UpdateOp) else set()
    ops = needed([op for op in stage.body.block.ops if op is not last], given)
    from_data: set[SSAValue] = set()
    for op in ops:
        if isinstance(op, ReadOp) or any(v in from_data for v in op.operands):
            from_data.update(op.results)
    all_reads = [op for op in ops if isinstance(op, ReadOp)]
    by_data = frozenset(r for r in all_reads if any(v in from_data for v in r.indices))
    indices = {v for r in all_reads if r not in by_data for v in r.indices}
    if isinstance(last, WriteOp):
        indices |= {v for v in last.indices if v not in from_data}
    index_ops = needed([op for op in ops if not any(r in from_data for r in op.results)], indices)
    reads = tuple(r for r in all_reads if r.source not in own)
    return StagePlan(steps(ops, given), steps(index_ops, indices), reads, by_data & set(reads))
