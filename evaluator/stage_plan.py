"""Plans of stage bodies: the operations to compute, in order, and when each value is last used."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tilefuse.dialects.img.ops import ReadOp, StageOp


@dataclass(frozen=True)
class Step:
    """One op, and the values that nobody needs after it."""

    op: Operation
    dead: tuple[SSAValue, ...]


@dataclass(frozen=True)
class StagePlan:
    """The ops that the values of a stage need; nothing is computed or read for what is not needed."""

    steps: tuple[Step, ...]
    index_steps: tuple[Step, ...]
    """The steps that coordinates and scalars alone decide, and that indices need."""
    reads: tuple[ReadOp, ...]
    by_data: frozenset[ReadOp]
    """The reads at an index that is computed from other reads."""


def _needed(body: list[Operation], roots: set[SSAValue]) -> list[Operation]:
    wanted = set(roots)
    found = []
    for op in reversed(body):
        if any(r in wanted for r in op.results):
            found.append(op)
            wanted.update(op.operands)
    return found[::-1]


def _steps(ops: list[Operation], kept: set[SSAValue]) -> tuple[Step, ...]:
    seen = set(kept)
    steps = []
    for op in reversed(ops):
        dead = []
        for value in (*op.results, *op.operands):
            if value not in seen:
                seen.add(value)
                dead.append(value)
        steps.append(Step(op, tuple(dead)))
    return tuple(reversed(steps))


def plan_stage(stage: StageOp) -> StagePlan:
    """The plan of a stage."""
    yielded = set(stage.yield_op.values)
    ops = _needed([op for op in stage.body.block.ops if op is not stage.yield_op], yielded)
    from_data: set[SSAValue] = set()
    for op in ops:
        if isinstance(op, ReadOp) or any(v in from_data for v in op.operands):
            from_data.update(op.results)
    reads = tuple(op for op in ops if isinstance(op, ReadOp))
    by_data = frozenset(r for r in reads if any(v in from_data for v in r.indices))
    indices = {v for r in reads if r not in by_data for v in r.indices}
    index_ops = _needed([op for op in ops if not any(r in from_data for r in op.results)], indices)
    return StagePlan(_steps(ops, yielded), _steps(index_ops, indices), reads, by_data)
