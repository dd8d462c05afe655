"""Detection of identical kernels: groups of the same shape are compiled once and launched several times.

Two groups are alike when they differ only in names, in where in memory their pictures lie, and in the planes that they
read of these: same schedule, places and bodies, over functions of the same types and known strides, under like
boundaries.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from tilefuse.analysis.access import behind_boundaries, reads
from tilefuse.analysis.model import is_temporary
from tilefuse.analysis.strides import static_strides
from tilefuse.dialects.img.ops import BoundaryOp, GroupOp, ReadOp, StageOp
from tilefuse.dialects.img.types import FuncType

_NAMES = ("sym_name", "kernel", "kernel.comment", "occupancy", "registers", "register_needs")
"""Attributes that an op may have without changing its kernel."""

_FARTHEST_PLANE = 2**16
"""Up to which a plane's number may be taken off the least coordinate of its function: 32 bits have room for both."""


def read_planes(group: GroupOp) -> dict[SSAValue, tuple[int | None, ...]]:
    """Map each function that a group's kernel reads to the plane that it reads, per dimension.

    A plane is the one constant at which all reads are; None where there is none, in dimensions of a known stride, and
    of boundaries. Kernels count these dimensions from the plane on: so one kernel serves groups that read other planes.
    """
    found: dict[SSAValue, tuple[int | None, ...]] = {}
    for definition in group.definitions:
        for op in reads(definition):
            base, boundaries = behind_boundaries(op.source)
            here = tuple(_plane(e) if not boundaries else None for e in op.map.data.results)
            known = found.get(base, here)
            found[base] = tuple(a if a == b else None for a, b in zip(known, here, strict=True))
    own = {*group.funcs, *group.old_funcs}
    return {
        base: tuple(None if stride is not None else p for p, stride in zip(planes, static_strides(base), strict=True))
        for base, planes in found.items()
        if any(p is not None for p in planes) and _is_outside(base, group) and base not in own
    }


def _plane(index: AffineExpr) -> int | None:
    if isinstance(index, AffineConstantExpr) and abs(index.value) <= _FARTHEST_PLANE:
        return index.value
    return None


def _is_outside(function: SSAValue, group: GroupOp) -> bool:
    owner = function.owner
    return isinstance(owner, Operation) and owner.parent_op() is not group


def fingerprint(group: GroupOp) -> Hashable:
    """Compute a key that is equal for two groups of a pipeline exactly if one kernel serves both."""
    read: list[SSAValue] = []
    numbers: dict[SSAValue, Hashable] = {}
    planes = read_planes(group)

    def facts(op: Operation) -> Hashable:
        attributes = {**op.attributes, **op.properties}
        if isinstance(op, ReadOp) and op.source in planes:
            indices = zip(op.map.data.results, planes[op.source], strict=True)
            attributes["map"] = StringAttr(", ".join(str(e) if p is None else "plane" for e, p in indices))
        return (
            op.name,
            tuple(sorted((k, hashable(a)) for k, a in attributes.items() if k not in _NAMES)),
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
    knows = group.schedule is not None and group.schedule.knows_inputs
    inputs = tuple(not is_temporary(f, group) for f in read) if knows else ()
    return (facts(group), body, bounds, tuple(_known(f) for f in group.funcs), temporaries, inputs)


def _known(function: SSAValue) -> Hashable:
    """Return the type and the known strides of a function: all that a kernel's text depends on."""
    return (str(function.type), tuple(static_strides(function)))


def hashable(attribute: Attribute) -> Hashable:
    """Return an attribute in a form that hashes by structure: an affine map's text, else the attribute itself."""
    return str(attribute) if isinstance(attribute, AffineMapAttr) else attribute
