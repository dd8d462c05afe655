"""Printing of memrefs as C: pointers with strides for global memory, arrays for shared and private memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from typing import cast as as_type

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, MemRefType, NoneAttr, VectorType
from xdsl.ir import BlockArgument, Operation, SSAValue

import tilefuse.lowering.printers.expr as expr
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.memref_prefetch import PrefetchOp
from tilefuse.lowering.emit import PRIVATE, SHARED
from tilefuse.lowering.printers.c_types import (
    UNSIGNED,
    byte_size,
    c_storage_type,
    is_narrow_float,
    lanes,
    register_type,
    short_name,
)
from tilefuse.lowering.printers.expr import ADD, EQ, MUL, POSTFIX, CExpr
from tilefuse.lowering.printers.function_text import FunctionText, Row
from tilefuse.lowering.printers.memrefs import PrintedMemRef, space_of
from tilefuse.lowering.printers.readings import c_literal
from tilefuse.lowering.printers.vectors import is_mask
from tilefuse.lowering.printers.words import word_width

CACHE_LINE = 64
"""Bytes that are stored past the caches at once."""


def read_pointers(p: FunctionText) -> list[str]:
    """Find the pointer arguments to global memory that the function only reads."""
    return [memory.name for memory in p.memories.values() if memory.read_only]


# --- declarations -------------------------------------------------------------------------------------------


def parameter(p: FunctionText, value: BlockArgument, written: bool) -> list[str]:
    """Return the C parameters of a memref argument: pointer, dynamic extents, dynamic strides."""
    type_ = value.type
    assert isinstance(type_, MemRefType)
    name = p.names.fresh(value.name_hint or "buffer")
    const = "" if written else "const "
    if space_of(type_) in (SHARED, PRIVATE):
        _declare(p, value, name)
        # Without const: C does not convert a pointer to rows to one to constant rows.
        return [_pointer_to_row(p, type_, f"__restrict__ {name}")]
    shape, strides = type_.get_shape(), _strides(type_, p.op)
    text = [f"{const}{p.storage(type_.element_type)}* __restrict__ {name}"]
    passed = [name]

    def dynamic(letter: str, dim: int) -> CExpr:
        passed.append(size := p.names.fresh(f"{name}_{letter}{dim}"))
        text.append(f"idx {size}")
        return expr.name(size, "idx")

    extents = [dynamic("n", d) if n == DYNAMIC_INDEX else c_literal(n, 64) for d, n in enumerate(shape)]
    if strides is None:
        steps = [_product(extents[d + 1 :]) for d in range(len(shape))]
    else:
        steps = [dynamic("s", d) if s is None else c_literal(s, 64) for d, s in enumerate(strides)]
    p.memories[value] = PrintedMemRef(name, type_, tuple(extents), tuple(steps), tuple(passed), read_only=not written)
    return text


def _strides(type_: MemRefType[Any], op: Operation) -> Sequence[int | None] | None:
    """Return the layout's strides, None for a dynamic one; None if the memref is contiguous."""
    if isinstance(type_.layout, NoneAttr):
        return None
    strides = type_.layout.get_strides()
    if strides is None or type_.layout.get_offset() != 0:
        raise PipelineError(f"the layout of {type_} is not strided with offset 0", op)
    return strides


def _product(sizes: Iterable[CExpr]) -> CExpr:
    result = c_literal(1, 64)
    for size in sizes:
        result = _times(result, size)
    return result


def _array_shape(type_: MemRefType[Any], op: Operation) -> tuple[int, ...]:
    shape = type_.get_shape()
    if DYNAMIC_INDEX in shape or not isinstance(type_.layout, NoneAttr):
        raise PipelineError(f"{op.name}: memory in space {space_of(type_)} needs a static shape, got {type_}", op)
    return tuple(shape) or (1,)


def _brackets(sizes: Iterable[int]) -> str:
    return "".join(f"[{n}]" for n in sizes)


def _pointer_to_row(p: FunctionText, type_: MemRefType[Any], declarator: str) -> str:
    """Declare `float (*tile)[34]`, or `float* line` for one dimension."""
    shape = _array_shape(type_, p.op)
    element = p.storage(type_.element_type)
    return f"{element} (*{declarator}){_brackets(shape[1:])}" if shape[1:] else f"{element}* {declarator}".rstrip()


def _declare(p: FunctionText, value: SSAValue, name: str, wide: bool = False) -> None:
    type_ = as_type(MemRefType[Any], value.type)
    extents = tuple(c_literal(n, 64) for n in type_.get_shape())
    p.memories[value] = PrintedMemRef(name, type_, extents, None, (name,), wide)


def _is_wide(p: FunctionText, array: SSAValue) -> bool:
    """Whether a private array lives in registers: then wrapping to 8 or 16 bits waits until a value is used."""
    type_ = as_type(MemRefType[Any], array.type)
    element = type_.element_type
    return (
        p.language.wide_registers
        and space_of(type_) == PRIVATE
        and isinstance(element, IntegerType)
        and element.width.data in (8, 16)
        and all(isinstance(use.operation, memref.LoadOp | memref.StoreOp) for use in array.uses)
    )


def print_alloca(p: FunctionText, op: Operation) -> None:
    """Print `__shared__ float tile[18][34];`, or a private array."""
    op = as_type(memref.AllocaOp, op)
    type_ = op.memref.type
    space = space_of(type_)
    if space not in (SHARED, PRIVATE):
        raise PipelineError("memref.alloca: the memory space must be 3 (block) or 5 (thread)", op)
    shape = _array_shape(type_, op)
    name = p.names.fresh(op.memref.name_hint or ("tile" if space == SHARED else "local"))
    wide = _is_wide(p, op.memref)
    _declare(p, op.memref, name, wide)
    if "kernel.dynamic_shared" in op.attributes:
        block = p.names.fresh(f"{name}bytes")
        p.line(p.language.dynamic_shared(block, type_, op))
        p.line(f"{_pointer_to_row(p, type_, name)} = ({_pointer_to_row(p, type_, '')}){block};")
        return
    array = f"{UNSIGNED[32] if wide else p.storage(type_.element_type)} {name}{_brackets(shape)}"
    if space == SHARED:
        p.line(f"{p.language.shared_qualifier}{array}{p.language.shared_suffix};")
    else:
        accesses = (vector.LoadOp, vector.StoreOp, vector.MaskedStoreOp)
        by_vectors = any(isinstance(use.operation, accesses) for use in op.memref.uses)
        p.line(f"{p.language.aligned_qualifier if by_vectors else ''}{array};")


def print_view(p: FunctionText, op: Operation) -> None:
    """Print an array carved out of a byte array."""
    op = as_type(memref.ViewOp, op)
    type_ = op.result.type
    source = memory_of(p, op.source, op)
    start = p.use(op.byte_shift)
    where = source.name if start.const == 0 else f"({source.name} + {start.wrapped(MUL)})"
    name = p.names.fresh(op.result.name_hint or "view")
    p.line(f"{_pointer_to_row(p, type_, name)} = ({_pointer_to_row(p, type_, '')}){where};")
    _declare(p, op.result, name)


def print_subview(p: FunctionText, op: Operation) -> None:
    """Print a row as a pointer: `const float* row = &in[y * in_s0 + x];`; C's printer may hide its array."""
    op = as_type(memref.SubviewOp, op)
    type_, indices = op.result.type, _row_start(op)
    source = memory_of(p, op.source, op)
    at = address(element(p, op.source, indices, op))
    written = any(isinstance(use.operation, memref.StoreOp) for use in op.result.uses)
    name = p.names.fresh(op.result.name_hint or "row")
    hidden = p.language.hide(p.prelude, name)
    p.line(f"{'' if written else 'const '}{p.storage(type_.element_type)}* {name} = {at.text};{hidden}")
    p.memories[op.result] = PrintedMemRef(name, type_, source.extents[-1:], None, (name,), source.wide)


def _row_start(op: memref.SubviewOp) -> Sequence[SSAValue]:
    """Return the indices of a row's beginning. PipelineError for other views."""
    sizes, steps = op.static_sizes.get_values(), op.static_strides.get_values()
    if (
        any(n != 1 for n in (*steps, *sizes[:-1]))
        or len(op.offsets) != len(sizes)
        or op.result.type.get_num_dims() != 1
    ):
        raise PipelineError("memref.subview: only a part of one row is printed, its first element given by values", op)
    return op.offsets


# --- access -------------------------------------------------------------------------------------------------


def memory_of(p: FunctionText, value: SSAValue, op: Operation) -> PrintedMemRef:
    """Look up a memref; PipelineError if an operation that is not printed made it."""
    if value not in p.memories:
        raise PipelineError(
            f"{op.name}: its memref must be an argument, a memref.alloca, a memref.view or a memref.subview", op
        )
    return p.memories[value]


def _times(a: CExpr, b: CExpr) -> CExpr:
    if a.const == 0 or b.const == 1:
        return a
    if b.const == 0 or a.const == 1:
        return b
    if isinstance(a.const, int) and isinstance(b.const, int):
        return c_literal(a.const * b.const, 64)
    return expr.c_binary(a, "*", b, MUL, "idx")


def _plus(a: CExpr, b: CExpr) -> CExpr:
    if a.const == 0:
        return b
    if b.const == 0:
        return a
    if isinstance(b.const, int) and b.const < 0:
        return expr.c_binary(a, "-", c_literal(-b.const, 64), ADD, "idx")
    # Sums of addresses need no order, so no parentheses on the right.
    return expr.derived(f"{a.wrapped(ADD)} + {b.wrapped(ADD)}", ADD, "idx", (a, b))


def element(p: FunctionText, value: SSAValue, indices: Iterable[SSAValue], op: Operation) -> CExpr:
    """Return the lvalue `in[y * in_s0 + x]` or `tile[y][x]`."""
    memory = memory_of(p, value, op)
    where = [p.use(index) for index in indices]
    ctype = UNSIGNED[32] if memory.wide else p.storage(memory.type.element_type)
    if memory.strides is None:
        text = memory.name + "".join(f"[{index.text}]" for index in where or [c_literal(0, 64)])
        return expr.derived(text, POSTFIX, ctype, where, cheap=False)
    offset = c_literal(0, 64)
    for index, stride in zip(where, memory.strides, strict=True):
        offset = _plus(offset, _times(index, stride))
    return expr.derived(f"{memory.name}[{offset.text}]", POSTFIX, ctype, (offset,), cheap=False)


def _reading(a: CExpr) -> CExpr:
    return CExpr(a.text, a.prec, a.ctype, a.range, None, True, False, a.mutable)


def _load(p: FunctionText, op: Operation) -> CExpr:
    op = as_type(memref.LoadOp, op)
    type_ = op.res.type
    a = _reading(element(p, op.memref, op.indices, op))
    if isinstance(type_, IntegerType) and type_.width.data == 1:
        return expr.c_binary(a, "!=", c_literal(0, 32), EQ, "bool", (0, 1))
    if is_narrow_float(type_):
        return expr.call(p.library(f"{short_name(type_, op)}_to_f32"), (a,), register_type(type_, op))
    return a


def print_store(p: FunctionText, op: Operation) -> None:
    """Print `out[i] = value;` (C truncates to the element, as arithmetic modulo 2^n requires)."""
    op = as_type(memref.StoreOp, op)
    target = element(p, op.memref, op.indices, op)
    value = p.converted(op.value)
    if is_narrow_float(op.value.type):
        bits = c_storage_type(op.value.type, op)
        value = expr.call(p.library(f"f32_to_{short_name(op.value.type, op)}"), (value,), bits)
    p.flush_reads()
    p.line(f"{target.text} = {value.text};")


def print_prefetch(p: FunctionText, op: Operation) -> None:
    """Print `prefetch_l2(&in[i]);`, or `prefetch_write_l2(&out[i]);` before a write."""
    op = as_type(PrefetchOp, op)
    at = element(p, op.memref, op.indices, op)
    access = "write_" if op.is_write.value.data else ""
    p.line(f"{p.library(f'prefetch_{access}l{op.level}')}({address(at).text});")


def address(a: CExpr) -> CExpr:
    """Return `&in[i]` of an lvalue."""
    return expr.unary("&", a, f"{a.ctype}*")


def _vector_load(p: FunctionText, op: Operation) -> CExpr:
    op = as_type(vector.LoadOp, op)
    if (width := word_width(p, op.result)) is not None:
        at = address(element(p, op.base, op.indices, op))
        return _reading(expr.call(p.library(f"load_u{width}"), (at,), UNSIGNED[width]))
    v = p.vector(op.result.type, op)
    return _reading(expr.call(v.helper(p.prelude, "load"), (address(element(p, op.base, op.indices, op)),), v.ctype))


def print_vector_store(p: FunctionText, op: Operation) -> None:
    """Print `store_f32x4(&out[i], v);`, or a non-temporal `stream_line(&out[i], &v);`."""
    op = as_type(vector.StoreOp, op)
    if op.nontemporal is not None and op.nontemporal.value.data:
        _print_stream(p, op)
        return
    if (width := word_width(p, op.vector)) is not None:
        target, value = address(element(p, op.base, op.indices, op)), p.use(op.vector)
        p.flush_reads()
        p.line(f"{p.library(f'store_u{width}')}({target.text}, {value.text});")
        return
    v = p.vector(as_type(VectorType[Any], op.vector.type), op)
    target = address(element(p, op.base, op.indices, op))
    value = p.use(op.vector)
    p.flush_reads()
    p.line(f"{v.helper(p.prelude, 'store')}({target.text}, {value.text});")


def _print_stream(p: FunctionText, op: vector.StoreOp) -> None:
    """Print a non-temporal store. PipelineError if the vector is no cache line, or the language has no such store."""
    type_ = as_type(VectorType[Any], op.vector.type)
    if "stream_line" not in p.language.library or lanes(type_, op) * byte_size(type_.element_type, op) != CACHE_LINE:
        raise PipelineError(f"vector.store: {type_} has no streaming store; plain C has one of 64 bytes", op)
    source = p.atom(p.use(op.vector), op.vector)
    target = address(element(p, op.base, op.indices, op))
    p.flush_reads()
    p.line(f"{p.library('stream_line')}({target.text}, &{source.text});")


def print_masked_store(p: FunctionText, op: Operation) -> None:
    """Print `store_if_f32x4(condition, &out[i], v);` to global memory where the language has it; else a branch.

    Raises PipelineError if the mask is not one condition for all lanes.
    """
    op = as_type(vector.MaskedStoreOp, op)
    if not is_mask(op.mask):
        raise PipelineError(
            "vector.maskedstore: the mask must be a vector.broadcast of one condition, used only by masked stores",
            op,
        )
    v = p.vector(as_type(VectorType[Any], op.value_to_store.type), op)
    target = address(element(p, op.base, op.indices, op))
    mask, value = p.use(op.mask), p.use(op.value_to_store)
    p.flush_reads()
    if "store_if" in v.helpers and space_of(op.base.type) not in (SHARED, PRIVATE):
        p.line(f"{v.helper(p.prelude, 'store_if')}({mask.text}, {target.text}, {value.text});")
    else:
        p.line(f"if ({mask.text}) {v.helper(p.prelude, 'store')}({target.text}, {value.text});")


def _dim(p: FunctionText, op: Operation) -> CExpr:
    op = as_type(memref.DimOp, op)
    which, memory = p.use(op.index).const, memory_of(p, op.source, op)
    if not isinstance(which, int) or not 0 <= which < len(memory.extents):
        raise PipelineError("memref.dim: the dimension must be a constant within the rank", op)
    return memory.extents[which]


def _pointer(p: FunctionText, op: Operation) -> CExpr:
    """Return the address as an integer; with 32-bit `idx` its low bits, which suffice for alignment."""
    op = as_type(memref.ExtractAlignedPointerAsIndexOp, op)
    name = memory_of(p, op.source, op).name
    return expr.derived(f"(idx)(unsigned long long){name}", expr.UNARY, "idx", (), cheap=False)


def print_metadata(p: FunctionText, op: Operation) -> None:
    """Print nothing: sizes and strides are arguments already."""
    op = as_type(memref.ExtractStridedMetaDataOp, op)
    memory = memory_of(p, op.source, op)
    for results, values in ((op.sizes, memory.extents), (op.strides, memory.strides or ())):
        for result, value in zip(results, values, strict=True):
            p.set_value(result, value)


MEMORY_ROWS: dict[str, Row] = {
    "memref.load": _load,
    "memref.dim": _dim,
    "memref.extract_aligned_pointer_as_index": _pointer,
    "vector.load": _vector_load,
}
