"""Printing of `vector<2xi16>` in CUDA: two 16-bit numbers in a 32-bit register, and byte rows split and joined.

Where nothing wraps (`overflow<nuw>`), an operation on the register is one on both halves.
"""

from __future__ import annotations

from typing import cast as as_type

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, VectorType
from xdsl.ir import Operation, SSAValue

import tilefuse.lowering.printers.expr as expr
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.lowering.printers.c_types import byte_size
from tilefuse.lowering.printers.expr import ADD, BITAND, BITOR, COND, MUL, PRIMARY, SHIFT, UNARY, XOR, CExpr
from tilefuse.lowering.printers.function_text import FunctionText, Row
from tilefuse.lowering.printers.words import word_width

_WORD = "unsigned int"
_HINT = "; for a CPU, lower with lower-warp-tiles{warps=false}"


def is_pair(op: Operation) -> bool:
    """Whether an operation computes two 16-bit numbers in one register."""
    if not op.results or not isinstance(type := op.results[0].type, VectorType):
        return False
    element = type.element_type
    return isinstance(element, IntegerType) and element.width.data == 16 and tuple(type.get_shape()) == (2,)


def _splat(value: SSAValue) -> int | None:
    """Return the 16-bit number that a constant repeats."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, DenseIntOrFPElementsAttr):
        return None
    numbers = {int(n) & 0xFFFF for n in owner.value.get_values()}
    return numbers.pop() if len(numbers) == 1 else None


def _literal(number: int) -> CExpr:
    text = f"0x{number:x}u" if number > 9 else f"{number}u"
    return CExpr(text, PRIMARY, _WORD, (number, number), number)


def _twice(number: int) -> CExpr:
    return _literal(number * 0x10001)


def _constant(p: FunctionText, op: Operation) -> CExpr:
    number = _splat(op.results[0])
    if number is None:
        raise PipelineError("arith.constant: only splat vectors are printed", op)
    return _twice(number)


def _no_wrap(op: Operation) -> bool:
    flags = as_type(arith.AddiOp, op).overflow_flags.data
    return arith.IntegerOverflowFlag.NUW in flags


def _operands(p: FunctionText, op: Operation) -> tuple[CExpr, CExpr]:
    a, b = (p.use(operand) for operand in op.operands)
    return a, b


def _sum(symbol: str, wrapping: str) -> Row:
    def row(p: FunctionText, op: Operation) -> CExpr:
        a, b = _operands(p, op)
        if _no_wrap(op):
            return expr.c_binary(a, symbol, b, ADD, _WORD)
        return expr.call(wrapping, (a, b), _WORD)

    return row


def _product(p: FunctionText, op: Operation) -> CExpr:
    a, b = _operands(p, op)
    if _no_wrap(op):
        for factor, other in ((_splat(op.operands[1]), a), (_splat(op.operands[0]), b)):
            if factor is not None:
                return expr.c_binary(other, "*", _literal(factor), MUL, _WORD)
    return expr.call(_helper(p, "mul_u16x2"), (a, b), _WORD)


def _bitwise(symbol: str, prec: int) -> Row:
    def row(p: FunctionText, op: Operation) -> CExpr:
        a, b = _operands(p, op)
        return expr.c_binary(a, symbol, b, prec, _WORD)

    return row


def _shift_right(p: FunctionText, op: Operation) -> CExpr:
    by = _splat(op.operands[1])
    if by is None or by > 15:
        raise PipelineError("arith.shrui: pairs are shifted by a constant below 16", op)
    a = p.use(op.operands[0])
    if by == 8:  # one instruction
        return expr.call("__byte_perm", (a, _literal(0), _literal(0x4341)), _WORD)
    moved = expr.c_binary(a, ">>", CExpr(str(by), PRIMARY, "int", (by, by), by), SHIFT, _WORD)
    return expr.c_binary(moved, "&", _twice(0xFFFF >> by), BITAND, _WORD)


def _extreme(function: str) -> Row:
    def row(p: FunctionText, op: Operation) -> CExpr:
        return expr.call(function, _operands(p, op), _WORD)

    return row


def _select(p: FunctionText, op: Operation) -> CExpr:
    condition, a, b = (p.use(operand) for operand in op.operands)
    text = f"{condition.wrapped(COND + 1)} ? {a.wrapped(COND + 1)} : {b.wrapped(COND)}"
    return expr.derived(text, COND, _WORD, (condition, a, b))


def print_extended_product(p: FunctionText, op: Operation) -> None:
    """Print the upper halves of 16-bit products; the lower halves are a plain product."""
    op = as_type(arith.MulUIExtendedOp, op)
    if op.high.type == IntegerType(16) and not op.low.uses and "upper_u16" in p.language.library:
        factors = p.use(op.lhs), p.use(op.rhs)
        p.set_value(op.high, p.bind(expr.call(p.library("upper_u16"), factors, "unsigned short", (0, 0xFFFF)), op.high))
        return
    if not is_pair(op) or op.low.uses:
        raise PipelineError(
            "arith.mului_extended: only the upper result, of vector<2xi16> or in C of i16, is printed", op
        )
    a, b = _operands(p, op)
    p.set_value(op.high, p.bind(expr.call(_helper(p, "upper_u16x2"), (a, b), _WORD), op.high))


def _helper(p: FunctionText, name: str) -> str:
    if name not in p.language.library:
        raise PipelineError(f"pairs of 16 bits are not printed as {p.language.name}{_HINT}", p.op)
    return p.library(name)


# --- rows of bytes ------------------------------------------------------------------------------------------


def _shuffle(p: FunctionText, op: Operation) -> CExpr:
    """Print a shuffle whose result words each come from at most two operand words."""
    op = as_type(vector.ShuffleOp, op)
    source, target = p.vector(op.v1.type, op), p.vector(op.result.type, op)
    if not source.word_texts or not target.word_texts:
        raise PipelineError(f"vector.shuffle of {op.v1.type} is not printed as {p.language.name}{_HINT}", op)
    operands = [p.atom(p.use(v), v) for v in (op.v1, op.v2)]
    parts = [text.format(a.wrapped(expr.POSTFIX)) for a in operands for text in source.word_texts]
    size = byte_size(source.element, op)
    count = as_type(VectorType, op.v1.type).get_shape()[0]
    bytes_of = count * size  # of one operand
    places: list[tuple[int, int]] = []  # (word, byte) of every byte of the result
    for index in op.mask.get_values():
        operand, lane = divmod(int(index), count)
        for byte in range(lane * size, (lane + 1) * size):
            word, rest = divmod(byte, 4)
            places.append((operand * max(bytes_of // 4, 1) + word, rest))
    words = [_word(parts, places[i : i + 4], op) for i in range(0, len(places), 4)]
    text = target.from_words(words)
    return expr.derived(text, UNARY if text[:1] == "(" else expr.POSTFIX, target.ctype, operands, cheap=False)


def _word(parts: list[str], places: list[tuple[int, int]], op: Operation) -> str:
    used = list(dict.fromkeys(parts[word] for word, _ in places))
    if len(used) > 2:
        raise PipelineError("vector.shuffle: a word of the result comes from at most two words", op)
    if len(used) == 1 and [byte for _, byte in places] == list(range(len(places))):
        return used[0]
    selector = 0
    for i, (word, byte) in enumerate(places):
        selector |= (4 * used.index(parts[word]) + byte) << (4 * i)
    return f"__byte_perm({used[0]}, {used[-1] if len(used) > 1 else 0}, 0x{selector:04x})"


def _bitcast(p: FunctionText, op: Operation) -> CExpr:
    """Print nothing: the words keep their bits."""
    op = as_type(vector.BitcastOp, op)
    if word_width(p, op.source) is not None or word_width(p, op.result) is not None:
        return p.use(op.source)
    a, target = p.use(op.source), p.vector(op.result.type, op)
    if a.ctype != target.ctype:
        raise PipelineError(f"vector.bitcast to {op.result.type} is not printed as {p.language.name}{_HINT}", op)
    return a


def _funnel_shift(function: str) -> Row:
    def row(p: FunctionText, op: Operation) -> CExpr:
        if not p.language.pairs:
            raise PipelineError(f"{op.name} is not printed as {p.language.name}{_HINT}", op)
        high, low, amount = (p.converted(operand) for operand in op.operands)
        return expr.call(function, (low, high, amount), _WORD)

    return row


PAIR_ROWS: dict[str, Row] = {
    "arith.constant": _constant,
    "arith.addi": _sum("+", "__vadd2"),
    "arith.subi": _sum("-", "__vsub2"),
    "arith.muli": _product,
    "arith.andi": _bitwise("&", BITAND),
    "arith.ori": _bitwise("|", BITOR),
    "arith.xori": _bitwise("^", XOR),
    "arith.shrui": _shift_right,
    "arith.minui": _extreme("__vminu2"),
    "arith.maxui": _extreme("__vmaxu2"),
    "arith.select": _select,
}

ROW_ROWS: dict[str, Row] = {
    "vector.shuffle": _shuffle,
    "vector.bitcast": _bitcast,
    "llvm.intr.fshl": _funnel_shift("__funnelshift_l"),
    "llvm.intr.fshr": _funnel_shift("__funnelshift_r"),
}
