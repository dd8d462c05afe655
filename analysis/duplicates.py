"""Groups that become the same kernel: a chain of like stages is compiled once and launched many times.

Two groups are alike when they differ only in names, and in where in memory their pictures lie: same schedule, places
and bodies, over functions of the same types and known strides, under like boundaries.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tilefuse.analysis.model import is_temporary
from tilefuse.analysis.strides import static_strides
from tilefuse.dialects.img.ops import BoundaryOp, GroupOp, StageOp
from tilefuse.dialects.img.types import FuncType

_NAMES = ("sym_name", "kernel", "kernel.comment", "occupancy", "registers", "register_needs")
"""Attributes that an op may have without changing its kernel."""


def fingerprint(group: GroupOp) -> Hashable:
    """Equal for two groups of a pipeline exactly if one kernel serves both."""
    read: list[SSAValue] = []
    numbers: dict[SSAValue, Hashable] = {}

    def facts(op: Operation) -> Hashable:
        attributes = {**op.attributes, **op.properties}
        return (
            op.name,
            tuple(sorted((k, _hashable(a)) for k, a in attributes.items() if k not in _NAMES)),
            op.result_types,
        )

    def outside(value: SSAValue) -> Hashable:
        owner = value.owner
        if isinstance(owner, BoundaryOp):
            return (facts(owner), tuple(number(v) for v in owner.operands))
        if isinstance(value.type, FuncType):
            read.append(value)
            return (len(numbers), _known(value))
        if isinstance(owner, arith.ConstantOp):
            return facts(owner)
        return (len(numbers), str(value.type))

    def number(value: SSAValue) -> Hashable:
        if value not in numbers:
            numbers[value] = outside(value)
        return numbers[value]

    def add(op: Operation) -> Hashable:
        for region in op.regions:
            for arg in region.block.args:
                numbers[arg] = len(numbers)
        inner = tuple(add(o) for region in op.regions for o in region.block.ops)
        found = (facts(op), tuple(number(v) for v in op.operands), inner)
        for result in op.results:
            numbers[result] = len(numbers)
        return found

    body = tuple(add(op) for op in group.body.block.ops)
    bounds = tuple(str(s.bounds) for s in group.stages if isinstance(s, StageOp))
    # on which it depends where tiles begin
    temporaries = any(is_temporary(f, group) for f in (*read, *group.funcs))
    asks = group.schedule is not None and group.schedule.prefetches
    inputs = tuple(not is_temporary(f, group) for f in read) if asks else ()
    return (facts(group), body, bounds, tuple(_known(f) for f in group.funcs), temporaries, inputs)


def _known(function: SSAValue) -> Hashable:
    """Return the type and the known strides of a function: all that a kernel's text knows of its memory."""
    return (str(function.type), tuple(static_strides(function)))


def _hashable(attribute: Attribute) -> Hashable:
    # an affine map holds expressions that hash by structure; everything else is hashable as it is
    return str(attribute) if isinstance(attribute, AffineMapAttr) else attribute
