"""Parallel threshold on CPUs: the least work for which waking several threads pays."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, i64

from tilefuse.analysis.access import reads
from tilefuse.analysis.instructions import instruction_cost
from tilefuse.analysis.regions import regions
from tilefuse.analysis.updates import Axis, UpdateFacts
from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.ops import Definition, GroupOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.registry import model_of
from tilefuse.lowering.abi import KernelArg, kernel_args

LANE_INSTRUCTIONS = 12.0
"""Instructions of vector lanes that take as long as one of a loop without vectors."""


def parallel_threshold(facts: GroupFacts, tile: tuple[int, ...]) -> int:
    """Return the number of output points from which on several threads compute the tiles."""
    nodes, work = facts.model.nodes, 1.0
    for id, region in regions(facts.model, list(facts.members), facts.output, tile, facts.follow).items():
        reads = sum(len(set(offsets)) for offsets in nodes[id].offsets.values())
        work += region.points * (nodes[id].instructions + nodes[id].values + reads)
    return math.ceil(facts.model.parallel_instructions * math.prod(tile) / work)


def share_few(group: GroupOp, kernel: func.FuncOp, parallel: float) -> None:
    """Write the parallel threshold on an update's kernel, in pure points times points of the domain.

    `parallel`: instructions of a kernel from which several threads compute it. A kernel of tiles has its threshold
    already.
    """
    op = group.update
    if op is None or "kernel.parallel_threshold" in kernel.attributes:
        return
    args = kernel_args(group)
    numbers = _numbers(args)
    steps, factors = 1, list[int]()
    for extent in op.extents:
        if (known := integer_constant(extent)) is None:
            factors += [numbers[[a.value for a in args].index(extent)], -1]
        else:
            steps *= max(known, 1)
    out = numbers[[a.value for a in args].index(group.funcs[0])]
    for dim in op.pure_dims:
        factors += [out, op.rank - 1 - group.permutation[dim]]
    work = _of_a_point(op)
    if Axis.Scatter in UpdateFacts(op).axes:
        work = work + LANE_INSTRUCTIONS if model_of(group).computes_places_first else LANE_INSTRUCTIONS * work
    work = steps * (work + sum(map(_of_a_point, group.earlier_updates))) + sum(map(_of_a_point, group.fused_stages))
    kernel.attributes["kernel.parallel_threshold"] = DenseArrayBase.from_list(
        i64, [math.ceil(parallel / work), *factors]
    )


def _numbers(args: Sequence[KernelArg]) -> list[int]:
    """Return the positions of a kernel's arguments: a function's memory (its mins come next), or a scalar."""
    found, count = [], 0
    for arg in args:
        found.append(count)
        count += 1 + (arg.value.type.rank.data if isinstance(arg.value.type, FuncType) else 0)
    return found


def _of_a_point(op: Definition) -> float:
    """Return the vector-lane instructions of a point."""
    return sum(map(instruction_cost, op.body.block.ops)) + sum(1 for _ in reads(op)) + len(op.results)
