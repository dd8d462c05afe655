"""Printing of integer, index and i1 operations of `arith` and `math` as C expressions.

Rows of the table at the end are `(printer, op) -> CExpr`; see `expr.py` for how wrap-around and signedness
stay right. Arithmetic on `index` is plain signed C arithmetic: coordinates are promised not to overflow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast as as_type

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

import tilefuse.lowering.printers.expr as expr
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.gpu_shuffle import ShuffleOp
from tilefuse.dialects.img.comparisons import OF_INTEGERS
from tilefuse.dialects.img.integer_operations import INTEGER_OPERATIONS, IntegerOperation, Reading
from tilefuse.lowering.printers.c_types import (
    SIGNED,
    UNSIGNED,
    IntRange,
    promotes_to_int,
    signed_range,
    type_range,
    width_of,
)
from tilefuse.lowering.printers.expr import (
    ADD,
    BITAND,
    BITOR,
    EQ,
    LAND,
    LOR,
    MUL,
    REL,
    SHIFT,
    XOR,
    CExpr,
)
from tilefuse.lowering.printers.function_text import FunctionText, Row
from tilefuse.lowering.printers.readings import PRECEDENCE, c_literal, modular, read_signed, read_unsigned
from tilefuse.lowering.printers.vectors import lanes_computed


def _read(p: FunctionText, value: SSAValue, op: Operation, reading: Callable[[CExpr, int], CExpr]) -> CExpr:
    """Read an operand as signed or unsigned; an index is signed already, and `uidx` when unsigned."""
    a = p.use(value)
    if isinstance(value.type, IndexType):
        if reading is read_signed or (isinstance(a.const, int) and a.const >= 0):
            return a
        return expr.c_cast("uidx", a)
    return reading(a, width_of(value.type, op))


def _as_index(a: CExpr, reading: Callable[[CExpr, int], CExpr]) -> CExpr:
    """Return the result of an operation on index; it is computed as `uidx` and cast back to signed."""
    return a if reading is read_signed else expr.c_cast("idx", a)


def _is_bool(type_: Attribute) -> bool:
    return isinstance(type_, IntegerType) and type_.width.data == 1


def _no_bool(op: Operation) -> None:
    if _is_bool(op.results[0].type):
        raise PipelineError(f"{op.name} on i1 is not printed; use arith.andi, ori, xori or select", op)


# --- arithmetic and bits ------------------------------------------------------------------------------------


def _arithmetic(symbol: str) -> Row:
    def row(p: FunctionText, op: Operation) -> CExpr:
        if (lanes := p.lanes_of(op)) is not None:
            return lanes_computed(p, op, symbol, PRECEDENCE[symbol], lanes)
        a, b = (p.use(operand) for operand in op.operands)
        type_ = op.results[0].type
        if isinstance(type_, IndexType):
            if symbol == "+" and isinstance(b.const, int) and b.const < 0:
                return expr.c_binary(a, "-", c_literal(-b.const, 64), ADD, "idx")
            return expr.c_binary(a, symbol, b, PRECEDENCE[symbol], "idx")
        if _is_bool(type_):
            same = symbol == "*"
            return expr.c_binary(a, "&" if same else "!=", b, BITAND if same else EQ, "bool", (0, 1))
        return modular(a, symbol, b, width_of(type_, op))

    return row


def _bitwise(symbol: str) -> Row:
    prec = {"&": BITAND, "|": BITOR, "^": XOR}[symbol]

    def row(p: FunctionText, op: Operation) -> CExpr:
        type_ = op.results[0].type
        if _is_bool(type_):
            return _logical(p, op, symbol, prec)
        a, b = (
            _read(p, operand, op, read_signed if isinstance(type_, IndexType) else read_unsigned)
            for operand in op.operands
        )
        if isinstance(type_, IndexType):
            return expr.c_binary(a, symbol, b, prec, "idx")
        highs = a.interval()[1], b.interval()[1]
        high = min(highs) if symbol == "&" else 2 ** max(highs).bit_length() - 1
        ctype = (
            "int" if promotes_to_int(a.ctype) and promotes_to_int(b.ctype) else UNSIGNED[max(width_of(type_, op), 32)]
        )
        return expr.c_binary(a, symbol, b, prec, ctype, (0, high))

    return row


def _logical(p: FunctionText, op: Operation, symbol: str, prec: int) -> CExpr:
    """Print a logical operation on i1: `&&` reads best but branches, so only operands that are cheap to compute use it.

    Never in a loop to be vectorised, where GCC keeps some of these branches.
    """
    a, b = (p.use(operand) for operand in op.operands)
    if symbol == "^":
        if b.text == "true":
            return expr.unary("!", a, "bool", (0, 1))
        return expr.c_binary(a, "!=", b, EQ, "bool", (0, 1))
    if a.cheap and b.cheap and not (a.reads or b.reads) and not (p.language.computes_vectors and _is_vectorised(op)):
        return expr.c_binary(a, symbol * 2, b, LAND if symbol == "&" else LOR, "bool", (0, 1))
    return expr.c_binary(a, symbol, b, prec, "bool", (0, 1))


def _is_vectorised(op: Operation) -> bool:
    """Whether the enclosing loop is marked for vectorisation."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, scf.ForOp):
        parent = parent.parent_op()
    return parent is not None and "kernel.simd" in parent.attributes


def _shift_left(p: FunctionText, op: Operation) -> CExpr:
    _no_bool(op)
    a, by = p.use(op.operands[0]), _read(p, op.operands[1], op, read_unsigned)
    type_ = op.results[0].type
    if isinstance(type_, IndexType):
        return expr.c_binary(a, "<<", by, SHIFT, "idx")
    wide = UNSIGNED[max(width_of(type_, op), 32)]
    low, high = a.interval()
    if isinstance(by.const, int) and low >= 0 and high << by.const < 2**31 and promotes_to_int(a.ctype):
        return expr.c_binary(a, "<<", by, SHIFT, "int", (low << by.const, high << by.const))
    if a.ctype != wide:
        a = expr.c_cast(wide, a)
    return expr.c_binary(a, "<<", by, SHIFT, wide)


def _shift_right(reading: Callable[[CExpr, int], CExpr]) -> Row:
    def row(p: FunctionText, op: Operation) -> CExpr:
        _no_bool(op)
        a, by = _read(p, op.operands[0], op, reading), _read(p, op.operands[1], op, read_unsigned)
        if isinstance(op.results[0].type, IndexType):
            return _as_index(expr.c_binary(a, ">>", by, SHIFT, "idx"), reading)
        low, high = a.interval()
        if _promoted(a) not in (SIGNED[64], UNSIGNED[64]) and by.interval()[1] >= 32:
            # a number of 64 bits whose text is an int, as a small constant's is: C shifts that by less than 32
            a = expr.c_cast(SIGNED[64], a, (low, high))
        if isinstance(by.const, int):
            low, high = low >> by.const, high >> by.const
        return expr.c_binary(a, ">>", by, SHIFT, _promoted(a), (min(low, 0), max(high, 0)))

    return row


def _promoted(*parts: CExpr) -> str:
    """Return the type to which C promotes these operands."""
    for ctype in (UNSIGNED[64], SIGNED[64], UNSIGNED[32]):
        if any(part.ctype == ctype for part in parts):
            return ctype
    return "int"


# --- division -----------------------------------------------------------------------------------------------


def _division(symbol: str, reading: Callable[[CExpr, int], CExpr]) -> Row:
    def row(p: FunctionText, op: Operation) -> CExpr:
        _no_bool(op)
        a, b = (_read(p, operand, op, reading) for operand in op.operands)
        if isinstance(op.results[0].type, IndexType):
            return _as_index(expr.c_binary(a, symbol, b, MUL, "idx"), reading)
        low, high = (b if symbol == "%" else a).interval()
        size = max(-low, high)
        # The remainder is smaller than the divisor and has the sign of the dividend.
        interval = (0, size) if a.interval()[0] >= 0 and b.interval()[0] >= 0 else (-size, size)
        ctype = _promoted(a, b)
        bounds = type_range(ctype)
        interval = max(interval[0], bounds[0]), min(interval[1], bounds[1])
        if (helper := _short_division(p, symbol, a, b)) is not None:
            return expr.call(p.library(helper), (a, b), "int", interval)
        return expr.c_binary(a, symbol, b, MUL, ctype, interval)

    return row


def _short_division(p: FunctionText, symbol: str, a: CExpr, b: CExpr) -> str | None:
    """Return the helper that divides numbers of 16 bits, if the language has one that is faster than its operator."""
    if isinstance(b.const, int) or not (promotes_to_int(a.ctype) and promotes_to_int(b.ctype)):
        return None
    kind = "div" if symbol == "/" else "rem"
    ends = [*a.interval(), *b.interval()]
    for suffix, (low, high) in (("u16", (0, 65535)), ("s16", signed_range(16))):
        if low <= min(ends) and max(ends) <= high and f"{kind}_{suffix}" in p.language.library:
            return f"{kind}_{suffix}"
    return None


def _floor_division(p: FunctionText, op: Operation) -> CExpr:
    """Print a floor division; by a power of two, a shift."""
    _no_bool(op)
    a, b = (_read(p, operand, op, read_signed) for operand in op.operands)
    type_ = op.results[0].type
    if isinstance(b.const, int) and b.const > 0 and b.const & (b.const - 1) == 0:
        shift = c_literal(b.const.bit_length() - 1, 32)
        ctype = "idx" if isinstance(type_, IndexType) else _promoted(a)
        return a if shift.const == 0 else expr.c_binary(a, ">>", shift, SHIFT, ctype, a.range)
    return _library_int(p, "floordiv", type_, op, read_signed, (a, b))


def _library_int(
    p: FunctionText,
    kind: str,
    type_: Attribute,
    op: Operation,
    reading: Callable[[CExpr, int], CExpr],
    args: tuple[CExpr, ...],
    interval: IntRange | None = None,
) -> CExpr:
    """Call the helper of this kind for the type: `min_u8`, `floordiv_idx`, `abs_s32`."""
    if isinstance(type_, IndexType):
        suffix = "idx" if reading is read_signed else "uidx"
        return _as_index(expr.call(p.library(f"{kind}_{suffix}"), args, suffix, cheap=True), reading)
    width = width_of(type_, op)
    suffix, ctype = (f"s{width}", SIGNED[width]) if reading is read_signed else (f"u{width}", UNSIGNED[width])
    return expr.call(p.library(f"{kind}_{suffix}"), args, ctype, interval, cheap=True)


def _helper(row: IntegerOperation, reading: Callable[[CExpr, int], CExpr]) -> Row:
    """Call the helper whose body the table has."""

    def print_call(p: FunctionText, op: Operation) -> CExpr:
        _no_bool(op)
        operands = tuple(_read(p, operand, op, reading) for operand in op.operands)
        type_, interval = op.results[0].type, None
        if row.interval is not None and not isinstance(type_, IndexType):
            interval = row.interval(width_of(type_, op), *(a.interval() for a in operands))
        return _library_int(p, row.c, type_, op, reading, operands, interval)

    return print_call


# --- comparison, choice, conversion -------------------------------------------------------------------------


def _compare(p: FunctionText, op: Operation) -> CExpr:
    row = OF_INTEGERS[as_type(arith.CmpiOp, op).predicate.value.data]
    type_ = op.operands[0].type
    equation = row.name in ("eq", "ne")
    if not equation:
        reading = read_signed if row.signed else read_unsigned
        a, b = (_read(p, operand, op, reading) for operand in op.operands)
    else:
        a, b = _same_reading(p, op, op.operands[0], op.operands[1], type_)
        if _may_be_clamped(p, op, a, b):
            a, b = expr.call(p.library("bits_apart"), (a, b), "unsigned int"), c_literal(0, 32)
    return expr.c_binary(a, row.c, b, EQ if equation else REL, "bool", (0, 1))


def _may_be_clamped(p: FunctionText, op: Operation, a: CExpr, b: CExpr) -> bool:
    """Whether a comparison for equality needs care: one side may be clamped to 0, and has at most 32 bits.

    Of pixels that cannot be seen: they may be computed in another stage.
    """
    if "bits_apart" not in p.language.library or any(e.const is not None and e.const <= 0 for e in (a, b)):
        return False
    type_ = op.operands[0].type
    if isinstance(type_, IndexType):
        return p.index_bits == 32 and any(isinstance(v.owner, arith.MaxSIOp) for v in op.operands)
    return width_of(type_, op) in (8, 16, 32)


def _same_reading(p: FunctionText, op: Operation, x: SSAValue, y: SSAValue, type_: Attribute) -> tuple[CExpr, CExpr]:
    """Read two integers of one type as signed or both as unsigned, whichever needs no cast."""
    a, b = p.use(x), p.use(y)
    if isinstance(type_, IndexType):
        return a, b
    width = width_of(type_, op)
    if width > 1 and read_signed(a, width).text == a.text and read_signed(b, width).text == b.text:
        return a, b
    return read_unsigned(a, width), read_unsigned(b, width)


def _select(p: FunctionText, op: Operation) -> CExpr:
    condition, x, y = op.operands
    type_ = op.results[0].type
    if not isinstance(condition.type, IntegerType):
        raise PipelineError("arith.select: the condition must be one i1", op)
    test = p.use(condition)
    if isinstance(type_, (IntegerType, IndexType)):
        a, b = _same_reading(p, op, x, y, type_)
    else:
        a, b = p.use(x), p.use(y)
    # Both sides are computed in the IR; a load under `?:` would become a branch.
    a, b = (p.bind(e, v) if e.reads else e for e, v in ((a, x), (b, y)))
    if isinstance(type_, IntegerType):
        interval = min(a.interval()[0], b.interval()[0]), max(a.interval()[1], b.interval()[1])
        return expr.conditional(test, a, b, "bool" if _is_bool(type_) else _promoted(a, b), interval)
    return expr.conditional(test, a, b, a.ctype if a.const is None else b.ctype)


def _only_travels(op: Operation) -> bool:
    """Whether an extended value is only shuffled to another lane and truncated there: its upper bits are arbitrary."""
    use = op.results[0].get_user_of_unique_use()
    narrow = op.operands[0].type
    return isinstance(use, ShuffleOp) and all(
        isinstance(u.operation, arith.TruncIOp) and u.operation.result.type == narrow for u in use.shuffle_result.uses
    )


def _extend(reading: Callable[[CExpr, int], CExpr]) -> Row:
    def row(p: FunctionText, op: Operation) -> CExpr:
        if _only_travels(op):
            return p.use(op.operands[0])
        a = _read(p, op.operands[0], op, reading)
        width = width_of(op.results[0].type, op)
        if isinstance(a.const, int):
            return c_literal(a.const, width)
        if width < 64:
            return a
        return expr.c_cast((SIGNED if reading is read_signed else UNSIGNED)[64], a, a.interval())

    return row


def _truncate(p: FunctionText, op: Operation) -> CExpr:
    a = p.use(op.operands[0])
    width = width_of(op.results[0].type, op)
    if isinstance(a.const, int):
        return c_literal(a.const % 2**width, width)
    if width == 1:
        bit = expr.c_binary(a, "&", c_literal(1, 32), BITAND, a.ctype, (0, 1))
        return expr.c_binary(bit, "!=", c_literal(0, 32), EQ, "bool", (0, 1))
    if a.ctype in (SIGNED[64], UNSIGNED[64]):
        return expr.c_cast(UNSIGNED[32], a)
    # The upper bits stay until something looks at them.
    return a


def _index_cast(p: FunctionText, op: Operation) -> CExpr:
    value, result = op.operands[0], op.results[0]
    if isinstance(result.type, IndexType):
        a = _read(p, value, op, read_signed)
        small = promotes_to_int(a.ctype)
        if isinstance(a.const, int) or (small and p.index_bits == 32):
            return CExpr(a.text, a.prec, "idx", None, a.const, a.reads, a.cheap, a.mutable)
        return expr.c_cast("idx", a)
    a, width = p.use(value), width_of(result.type, op)
    if isinstance(a.const, int):
        low = signed_range(width)[0]
        return c_literal((a.const - low) % 2**width + low, width)
    if width == 1:
        raise PipelineError("arith.index_cast to i1 is not printed; compare instead", op)
    if width == 64:
        return expr.c_cast(SIGNED[64], a)
    if p.index_bits == 64:
        return expr.c_cast("int", a, expr.INT_RANGE)
    return CExpr(a.text, a.prec, "int", expr.INT_RANGE, None, a.reads, a.cheap, a.mutable)


def _count_bits(kind: str) -> Row:
    def row(p: FunctionText, op: Operation) -> CExpr:
        _no_bool(op)
        a = _read(p, op.operands[0], op, read_unsigned)
        type_ = op.results[0].type
        if isinstance(type_, IndexType):
            raise PipelineError(f"{op.name} on index is not printed; cast to i32 or i64 first", op)
        width = width_of(type_, op)
        return expr.call(p.library(f"{kind}_u{width}"), (a,), "int", (0, width))

    return row


_OPERATORS: dict[str, Callable[[str, Callable[[CExpr, int], CExpr]], Row]] = {
    **dict.fromkeys("+-*", lambda symbol, reading: _arithmetic(symbol)),
    **dict.fromkeys("/%", _division),
    **dict.fromkeys("&|^", lambda symbol, reading: _bitwise(symbol)),
    "<<": lambda symbol, reading: _shift_left,
    ">>": lambda symbol, reading: _shift_right(reading),
}


def _printed(row: IntegerOperation) -> Row:
    reading = read_signed if row.reading is Reading.SIGNED else read_unsigned
    return _helper(row, reading) if row.body else _OPERATORS[row.c](row.c, reading)


INTEGER_ROWS: dict[str, Row] = {
    **{row.op.name: _printed(row) for row in INTEGER_OPERATIONS if row.c},
    "arith.floordivsi": _floor_division,
    "arith.cmpi": _compare,
    "arith.select": _select,
    "arith.extsi": _extend(read_signed),
    "arith.extui": _extend(read_unsigned),
    "arith.trunci": _truncate,
    "arith.index_cast": _index_cast,
    "math.ctlz": _count_bits("clz"),
    "math.cttz": _count_bits("ctz"),
    "math.ctpop": _count_bits("popcount"),
}
