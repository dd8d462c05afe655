"""Accesses: the domain of an op that computes functions, the reads of its body, and the functions behind boundaries.

Analyses, passes and execution models find them here. A new op with a body is known to all of them once `reads`
finds its reads and `coordinates` its domain.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from tilefuse.analysis.index import AnyIndex, classify
from tilefuse.dialects.img.ops import BoundaryOp, Definition, GroupOp, InputOp, ReadOp, StageOp, UpdateOp, WriteOp


@dataclass(frozen=True, slots=True)
class StageRead:
    """One read in a stage's body, with its source and its indices."""

    op: ReadOp
    indices: tuple[AnyIndex, ...]
    """Per dimension of the function, x first, in the coordinates of the reader."""

    @property
    def function(self) -> SSAValue:
        """The function that is read, boundaries included."""
        return self.op.source

    @property
    def base(self) -> SSAValue:
        """The input, stage or group result that is read, boundaries removed."""
        return behind_boundaries(self.op.source)[0]

    @property
    def boundaries(self) -> tuple[BoundaryOp, ...]:
        """The boundaries that the read goes through, outermost first."""
        return behind_boundaries(self.op.source)[1]


def coordinates(op: Definition) -> dict[SSAValue, int]:
    """Number the coordinates of a stage's domain from 0, x first; an update's reduction domain comes last."""
    return {argument: dim for dim, argument in enumerate(op.body.block.args)}


def reads(op: Definition) -> Iterator[ReadOp]:
    """Yield the reads of a stage's body in program order, reads in nested regions included."""
    for inner in op.body.block.ops:
        if isinstance(inner, ReadOp):
            yield inner
        elif inner.regions:
            yield from (nested for nested in inner.walk() if isinstance(nested, ReadOp))


def own_reads(op: Definition) -> list[ReadOp]:
    """Return the reads of an update of the functions that it updates; a stage has none."""
    return [read for read in reads(op) if read.source in op.currents] if isinstance(op, UpdateOp) else []


def outer_reads(op: Definition) -> list[ReadOp]:
    """Return the reads of a body of functions that are complete before it runs: all but `own_reads`."""
    return [read for read in reads(op) if not (isinstance(op, UpdateOp) and read.source in op.currents)]


def touching(update: UpdateOp) -> list[ReadOp | WriteOp]:
    """Return the write of an update, and its reads of the functions that it updates."""
    return [update.write_op, *own_reads(update)]


def functions_read(op: Definition) -> list[SSAValue]:
    """Return the functions that a stage or update takes values of, boundaries included; an update's old ones first."""
    return [*(op.old_funcs if isinstance(op, UpdateOp) else ()), *(read.source for read in outer_reads(op))]


def indices_of(access: ReadOp | WriteOp, of: dict[SSAValue, int]) -> tuple[AnyIndex, ...]:
    """Classify each index of a read or write, x first, by the coordinate `of` its op (see `coordinates`) it follows."""
    return _classified(access.map.data, tuple([of.get(value) for value in access.indices]))


@functools.lru_cache(maxsize=4096)
def _classified(map: AffineMap, dims: tuple[int | None, ...]) -> tuple[AnyIndex, ...]:
    return tuple(classify(expr, dims) for expr in map.results)


def accesses(op: Definition) -> Iterator[StageRead]:
    """Yield the reads of a stage's body in program order, with their indices."""
    of = coordinates(op)
    return (StageRead(read, indices_of(read, of)) for read in reads(op))


ReadSite = tuple[Definition, AffineMap, tuple[SSAValue, ...]]
"""A stage or update that reads, and where: as many reads of one site are one."""


def read_sites(stage: StageOp) -> list[ReadSite] | None:
    """Find the distinct places where `stage` is read; None if something other than a read uses it."""
    sites: dict[ReadSite, None] = {}
    for function in stage.funcs:
        for use in function.uses:
            op = use.operation
            consumer = op.parent_op()
            if not isinstance(op, ReadOp) or not isinstance(consumer, Definition):
                return None
            sites[(consumer, op.map.data, tuple(op.indices))] = None
    return list(sites)


def behind_boundaries(function: SSAValue) -> tuple[SSAValue, tuple[BoundaryOp, ...]]:
    """Strip the boundaries from `function`; return the function below them and the boundaries, outermost first."""
    boundaries = []
    while isinstance(owner := function.owner, BoundaryOp):
        boundaries.append(owner)
        function = owner.source
    return function, tuple(boundaries)


def boundaries_over(functions: Iterator[SSAValue] | list[SSAValue]) -> Iterator[BoundaryOp]:
    """Yield the boundaries applied to functions, directly or over other boundaries; inner ones first."""
    waiting = list(functions)
    while waiting:
        function = waiting.pop(0)
        for use in function.uses:
            if isinstance(use.operation, BoundaryOp):
                yield use.operation
                waiting.append(use.operation.func)


def defining_op(function: SSAValue) -> InputOp | Definition:
    """Find the input, stage or update that computes a function, through boundaries and groups."""
    while True:
        function, _ = behind_boundaries(function)
        op = function.owner
        if not isinstance(op, GroupOp):
            assert isinstance(op, InputOp | Definition)
            return op
        function = op.yield_op.values[op.results.index(function)]


def function_name(function: SSAValue) -> str:
    """Return the name of the input, stage or group that a function comes from, boundaries removed."""
    owner: Operation | object = behind_boundaries(function)[0].owner
    if isinstance(owner, Definition | InputOp | GroupOp):
        return owner.sym_name.data
    return function.name_hint or "?"


def free_name(base: str, taken: Collection[str]) -> str:
    """Return a name for a new stage: `base`, with a number appended if the name is taken."""
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name
