"""Versions of a tile body: calls of one function with constant flags, which the compiler specialises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, SymbolRefAttr, i64
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilefuse.dialects.img.ops import MOSTLY_BORDER, SINGLE_WAVE, GroupOp
from tilefuse.lowering.emit import Emitter, Num


class Versions:
    """Emit the calls of a tile function for one tile, of which one runs.

    `arguments`: the kernel's; `last`: the last tile's origin in a dimension.
    """

    def __init__(
        self,
        e: Emitter,
        name: str,
        arguments: Sequence[SSAValue],
        origin: Sequence[Num],
        last: Callable[[int], Num],
    ):
        self.e, self._name, self._arguments, self.last = e, name, arguments, last
        self.origin = origin
        self.yes, self.no = e.true(), e.false()

    def call(
        self,
        border: SSAValue,
        flags: Sequence[SSAValue] = (),
        origin: Sequence[Num] | None = None,
        *,
        no_cse: bool = False,
    ) -> None:
        """Call the version for these flags: `KernelPlan.flags` after `border`; `origin`: if the tile is moved."""
        places = self.origin if origin is None else origin
        operands = [*self._arguments, *(self.e.value(o) for o in places), border, *flags]
        version = func.CallOp(SymbolRefAttr(self._name), operands, [])
        if no_cse:
            # without it the compiler computes before the branch what versions have in common: it takes up to
            # half as many registers again
            version.attributes["kernel.no_cse"] = IntegerAttr(len(self._arguments), i64)
        self.e.effect(version)


def keeps_versions(group: GroupOp) -> bool:
    """Whether border tiles determine the kernel's time."""
    if SINGLE_WAVE in group.attributes or MOSTLY_BORDER in group.attributes:
        return True
    return group.schedule is not None and group.schedule.few_waves


def outermost_branches(block: Block) -> Iterator[scf.IfOp]:
    """Return the branches of a block and of its loops, without nested branches."""
    for op in block.ops:
        if isinstance(op, scf.IfOp):
            yield op
        elif isinstance(op, scf.ForOp):
            yield from outermost_branches(op.body.block)


def leave_interior(kernel: func.FuncOp) -> bool:
    """Keep only the interior version of a kernel's tile body; return whether it had others.

    It is the first one where a kernel chooses between calls.
    """
    chosen = False
    branches = list(outermost_branches(kernel.body.block))
    while branches:
        branch = branches.pop()
        if branch.results or not all(_calls(region) for region in branch.regions):
            continue
        chosen = True
        for op in list(branch.true_region.block.ops):
            if isinstance(op, scf.YieldOp):
                continue
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(branch))
            branches += [op] if isinstance(op, scf.IfOp) else []
        Rewriter.erase_op(branch)
    return chosen


def _calls(region: Region) -> bool:
    return any(isinstance(op, func.CallOp) for op in region.walk())
