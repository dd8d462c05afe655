"""Facts about memrefs for printing: memory space, sizes, and the arguments that a function stores to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.dialects import func, memref, vector
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilefuse.dialects.memref_atomics import AtomicRMWOp
from tilefuse.dialects.nvgpu import DeviceAsyncCopyOp
from tilefuse.lowering.printers.c_types import byte_size
from tilefuse.lowering.printers.expr import CExpr
from tilefuse.lowering.printers.operations import operations_in


@dataclass(frozen=True)
class PrintedMemRef:
    """A printed memref: the name of its pointer or array, and its sizes as expressions."""

    name: str
    type: MemRefType[Any]
    extents: tuple[CExpr, ...]
    strides: tuple[CExpr, ...] | None
    """Strides in elements; None for a C array."""
    passed: tuple[str, ...]
    """Arguments that a call passes for it."""
    wide: bool = False
    """Elements are kept in 32 bits, of which the upper ones mean nothing."""
    read_only: bool = False
    """Global memory that the function does not store to."""


def space_of(type_: Attribute) -> int:
    """Return the memory space of a memref: 0 for global memory."""
    assert isinstance(type_, MemRefType)
    space = type_.memory_space
    return space.value.data if isinstance(space, IntegerAttr) else 0


def memref_bytes(type_: MemRefType[Any], op: Operation) -> int:
    """Return the bytes of a memref of static shape."""
    return prod(type_.get_shape()) * byte_size(type_.element_type, op)


def root_memref(value: SSAValue) -> SSAValue:
    """Return the memref under a chain of views."""
    while isinstance(owner := value.owner, memref.ViewOp | memref.SubviewOp):
        value = owner.source
    return value


_STORES: dict[type[Operation], str] = {
    memref.StoreOp: "memref",
    AtomicRMWOp: "memref",
    vector.StoreOp: "base",
    vector.MaskedStoreOp: "base",
    DeviceAsyncCopyOp: "dst",
}
"""Operations that store, and the operand that they store to. Looked up by class: `match` takes ten times as long."""


def stored_to(op: Operation) -> SSAValue | None:
    """Return the memref that an operation stores to; None if it stores nothing."""
    operand = _STORES.get(type(op))
    return None if operand is None else getattr(op, operand)


def written_arguments(function: func.FuncOp, functions: Mapping[str, func.FuncOp]) -> frozenset[int]:
    """Return the positions of the memref arguments that a function or its callees store to."""
    found: set[SSAValue] = set()
    for op in operations_in(function):
        if (target := stored_to(op)) is not None:
            found.add(root_memref(target))
        elif type(op) is func.CallOp:
            callee = functions.get(op.callee.string_value())
            if callee is not None and callee is not function:
                inner = written_arguments(callee, functions)
                found.update(root_memref(operand) for i, operand in enumerate(op.operands) if i in inner)
    return frozenset(value.index for value in found if isinstance(value, BlockArgument))
