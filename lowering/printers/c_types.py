"""C types of MLIR types: in registers, in memory, and as short names for helpers (`u8`, `s32`, `f32`)."""

from __future__ import annotations

from xdsl.dialects.builtin import Float64Type, IndexType, IntegerType, VectorType
from xdsl.ir import Attribute, Operation

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.elements import FLOATS
from tilefuse.dialects.img.integer_operations import IntRange as IntRange

UNSIGNED = {1: "bool", 8: "unsigned char", 16: "unsigned short", 32: "unsigned int", 64: "unsigned long long"}
SIGNED = {8: "signed char", 16: "short", 32: "int", 64: "long long"}
_FLOATS = {type(row.type): row.name for row in FLOATS.values()}
_NARROW_FLOATS = {type(row.type): UNSIGNED[row.bits] for row in FLOATS.values() if row.is_narrow_float}

_RANGES: dict[str, IntRange] = {
    **{ctype: (0, 2**width - 1) for width, ctype in UNSIGNED.items()},
    **{ctype: (-(2 ** (width - 1)), 2 ** (width - 1) - 1) for width, ctype in SIGNED.items()},
    "idx": (-(2**63), 2**63 - 1),
    "uidx": (0, 2**64 - 1),
}


def type_range(ctype: str) -> IntRange:
    """Return the range of an integer C type. `idx` counts as 64 bits wide, which is safe for 32 bits, too."""
    return _RANGES[ctype]


def promotes_to_int(ctype: str) -> bool:
    """Whether C does arithmetic on this type in `int`."""
    return ctype in ("bool", "unsigned char", "unsigned short", "signed char", "short", "int")


def unsigned_range(width: int) -> IntRange:
    """Return the range of an unsigned integer of `width` bits."""
    return 0, 2**width - 1


def signed_range(width: int) -> IntRange:
    """Return the range of a signed integer of `width` bits (one bit: -1 and 0)."""
    return -(2 ** (width - 1)), 2 ** (width - 1) - 1


def width_of(type_: Attribute, op: Operation) -> int:
    """Return the bits of an integer type; PipelineError at `op` for a width without a C type."""
    assert isinstance(type_, IntegerType)
    width = int(type_.width.data)
    if width not in UNSIGNED:
        *others, last = (f"i{n}" for n in UNSIGNED)
        raise PipelineError(f"{op.name}: i{width} has no C type; use {', '.join(others)} or {last}", op)
    return width


def is_float(type_: Attribute) -> bool:
    """Whether the type is a float of the table of element types."""
    return isinstance(type_, tuple(_FLOATS))


def is_narrow_float(type_: Attribute) -> bool:
    """Whether registers keep values as `float`, and memory as unsigned integers of their bits."""
    return isinstance(type_, tuple(_NARROW_FLOATS))


def short_name(type_: Attribute, op: Operation) -> str:
    """Return the type's name in helper names: `u8`, `u32`, `idx`, `f32`, `f32x4`."""
    match type_:
        case IndexType():
            return "idx"
        case IntegerType():
            return f"u{width_of(type_, op)}"
        case VectorType():
            return f"{short_name(type_.element_type, op)}x{lanes(type_, op)}"
        case _ if is_float(type_):
            return _FLOATS[type(type_)]
    raise PipelineError(f"{op.name}: the type {type_} cannot be printed as C", op)


def register_type(type_: Attribute, op: Operation) -> str:
    """Return the C type of a scalar SSA value (integers unsigned, narrow floats as float)."""
    match type_:
        case IndexType():
            return "idx"
        case IntegerType():
            return UNSIGNED[width_of(type_, op)]
        case Float64Type():
            return "double"
        case _ if is_float(type_):
            return "float"
    raise PipelineError(f"{op.name}: the type {type_} cannot be printed as C", op)


def c_storage_type(type_: Attribute, op: Operation) -> str:
    """Return the C type of an element in memory (i1 as a byte, narrow floats as integers of their bits)."""
    if isinstance(type_, IntegerType) and type_.width.data == 1:
        return "unsigned char"
    return _NARROW_FLOATS.get(type(type_)) or register_type(type_, op)


def byte_size(type_: Attribute, op: Operation, index_bits: int = 64) -> int:
    """Return the bytes of one element in memory."""
    match type_:
        case IndexType():
            return index_bits // 8
        case IntegerType():
            return max(width_of(type_, op) // 8, 1)
        case VectorType():
            return byte_size(type_.element_type, op) * lanes(type_, op)
        case Float64Type():
            return 8
    return FLOATS[type_].bytes if type_ in FLOATS else 4


def lanes(type_: Attribute, op: Operation, most: int = 64) -> int:
    """Return the elements of a vector type: of rank 1, a power of two of bytes, at most `most`."""
    assert isinstance(type_, VectorType)
    shape = type_.get_shape()
    sizes = [1 << n for n in range(1, most.bit_length())]
    if len(shape) != 1 or byte_size(type_.element_type, op) * shape[0] not in sizes:
        listed = f"{', '.join(map(str, sizes[:-1]))} or {sizes[-1]}"
        raise PipelineError(f"{op.name}: {type_} is not a vector of rank 1 of {listed} bytes", op)
    return int(shape[0])
