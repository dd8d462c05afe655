"""Expansion of single ops into several simpler ones in one walk, shared by the `expand-*` passes.

A pass gives `expand_ops` the ops to expand and a function that emits what replaces one. Constants in scope
are used again, and what is emitted has the location of the op that it replaces.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove

from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.ops import GroupOp, PipelineOp, StageOp

Constants = dict[tuple[int, Attribute], SSAValue]


class Expansion:
    """Emit the replacement of one op, `anchor`, before it."""

    def __init__(self, anchor: Operation, constants: Constants):
        self.anchor = anchor
        self.constants = constants
        self.type = anchor.results[0].type

    def emit(self, op: Operation) -> SSAValue:
        """Insert `op`; return its result."""
        op.location = self.anchor.location
        block = self.anchor.parent
        assert block is not None
        block.insert_op_before(op, self.anchor)
        return op.results[0]

    def constant(self, number: int, type: Attribute | None = None) -> SSAValue:
        """Return a constant of `type`, by default of the type of the anchor's result."""
        type = type or self.type
        key = (number, type)
        if key not in self.constants:
            assert isinstance(type, IntegerType | IndexType)
            value = self.emit(arith.ConstantOp(IntegerAttr(number, type)))
            value.name_hint = f"c{number}" if number >= 0 else f"cm{-number}"
            self.constants[key] = value
        return self.constants[key]

    def compare(self, predicate: str, a: SSAValue, b: int) -> SSAValue:
        """Compare `a` with a constant."""
        return self.emit(arith.CmpiOp(a, self.constant(b, a.type), predicate))

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """Return `a` where `condition`, else `b`."""
        return self.emit(arith.SelectOp(condition, a, b))


def expand_ops(
    module: ModuleOp,
    kinds: tuple[type[Operation], ...],
    expand: Callable[[Operation, Constants], SSAValue | None],
) -> None:
    """Replace each scalar integer op of `kinds` by the value that `expand` emits; None keeps it.

    What stands between stages stays: the host computes it, and kernels that are there already count on it as it is.
    """
    for block in module.body.blocks:
        _expand_block(block, {}, kinds, expand)


def _expand_block(
    block: Block,
    constants: Constants,
    kinds: tuple[type[Operation], ...],
    expand: Callable[[Operation, Constants], SSAValue | None],
) -> None:
    """Expand the ops of a block and of nested ones; `constants` dominate the block."""
    for op in list(block.ops):
        kind = type(op)  # `isinstance` takes ten times as long, and all operations of all kernels come by
        if kind is arith.ConstantOp:
            if (number := integer_constant(op.results[0])) is not None:
                constants.setdefault((number, op.results[0].type), op.results[0])
            continue
        if kind in kinds and not isinstance(block.parent_op(), PipelineOp | GroupOp):
            # arith compares no vectors here, so theirs stay.
            if not isinstance(op.results[0].type, IntegerType | IndexType):
                continue
            result = expand(op, constants)
            if result is None:
                continue
            if result.name_hint is None:
                result.name_hint = op.results[0].name_hint
            op.results[0].replace_all_uses_with(result)
            op.detach()
            op.erase()
            continue
        if not op.regions:
            continue
        # A constant outside a stage would become an argument of its kernel.
        closed = isinstance(op, StageOp) or op.has_trait(IsolatedFromAbove)
        for region in op.regions:
            for inner in region.blocks:
                _expand_block(inner, {} if closed else dict(constants), kinds, expand)
