"""Printing of float operations of `arith` and `math` as C expressions.

Narrow floats live in `float` registers and are rounded after each operation: for + - * / and sqrt that gives
the correctly rounded result, since a float has more than twice their digits.
"""

from __future__ import annotations

import math
import struct
from typing import Any
from typing import cast as as_type

from xdsl.dialects import arith
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    f32,
)
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, Operation

import tilefuse.lowering.printers.expr as expr
from tilefuse.analysis.reciprocals import reciprocal
from tilefuse.dialects.constants import f32_constant
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.comparisons import OF_FLOATS
from tilefuse.dialects.img.elements import FLOATS
from tilefuse.dialects.img.float_operations import FLOAT_OPERATIONS, FloatOperation
from tilefuse.dialects.img.strict import is_strict
from tilefuse.lowering.printers.c_types import (
    SIGNED,
    UNSIGNED,
    is_float,
    is_narrow_float,
    register_type,
    short_name,
    signed_range,
    unsigned_range,
    width_of,
)
from tilefuse.lowering.printers.expr import ADD, EQ, MUL, PRIMARY, REL, UNARY, CExpr
from tilefuse.lowering.printers.function_text import FunctionText, Row
from tilefuse.lowering.printers.readings import c_literal, read_signed, read_unsigned
from tilefuse.lowering.printers.vectors import lanes_computed

IN_RANGE = "kernel.in_range"
"""Attribute of a cast of a float that fits the integer; other casts saturate."""

# --- constants ----------------------------------------------------------------------------------------------


def _constant(p: FunctionText, op: Operation) -> CExpr:
    value: Any = as_type(arith.ConstantOp, op).value
    type_ = op.results[0].type
    if isinstance(type_, VectorType):
        if not (isinstance(value, DenseIntOrFPElementsAttr) and value.is_splat()):
            raise PipelineError("arith.constant: only splat vectors are printed", op)
        element = _scalar_constant(p, op, type_.element_type, value.get_values()[0])
        return p.vector(type_, op).splat(p.prelude, element)
    assert isinstance(value, (IntegerAttr, FloatAttr))
    return _scalar_constant(p, op, type_, value.value.data)


def _scalar_constant(p: FunctionText, op: Operation, type_: Attribute, value: Any) -> CExpr:
    if is_float(type_):
        return float_literal(p, float(value), type_)
    if isinstance(type_, IndexType):
        a = c_literal(int(value), 64)
        return CExpr(a.text, a.prec, "idx", None, int(value))
    width = width_of(type_, op)
    if width == 1:
        return CExpr("true" if value else "false", PRIMARY, "bool", (int(bool(value)),) * 2)
    low = signed_range(width)[0]
    # One meaning for -1 and 255 of an i8; `read_signed` and `read_unsigned` choose the text.
    return c_literal((int(value) - low) % 2**width + low, width)


def float_literal(p: FunctionText, value: float, type_: Attribute) -> CExpr:
    """Return the shortest decimal with the same bits; for inf and NaN, the bits."""
    double = isinstance(type_, Float64Type)
    ctype, suffix, code = ("double", "", "<d") if double else ("float", "f", "<f")
    bits = struct.pack(code, value)
    if not math.isfinite(value):
        pattern = int.from_bytes(bits, "little")
        text = f"0x{pattern:016x}ull" if double else f"0x{pattern:08x}u"
        helper = p.library("bitcast_u64_f64" if double else "bitcast_u32_f32")
        return CExpr(f"{helper}({text})", expr.POSTFIX, ctype, const=value)
    text = next(t for n in range(1, 18) if _bits_of(t := f"{value:.{n}g}", code) == bits)
    if not any(c in text for c in ".e"):
        text += ".0"
    return CExpr(text + suffix, UNARY if text.startswith("-") else PRIMARY, ctype, const=value)


def _bits_of(text: str, code: str) -> bytes | None:
    """Return the bits of a decimal; None if it overflows the type, as a shortened largest float may."""
    try:
        return struct.pack(code, float(text))
    except OverflowError:
        return None


# --- arithmetic ---------------------------------------------------------------------------------------------


def round_narrow(p: FunctionText, a: CExpr, type_: Attribute, op: Operation) -> CExpr:
    """Round `a` to the type if it is a narrow float."""
    return expr.call(p.library(f"round_{short_name(type_, op)}"), (a,), "float") if is_narrow_float(type_) else a


def _ctype(op: Operation) -> str:
    type_ = op.results[0].type
    if isinstance(type_, VectorType):
        raise PipelineError(f"{op.name} on vectors is not printed; compute on scalars", op)
    return register_type(type_, op)


def _binary(symbol: str, prec: int) -> Row:
    def row(p: FunctionText, op: Operation) -> CExpr:
        if symbol != "/" and (lanes := p.lanes_of(op)) is not None:
            return lanes_computed(p, op, symbol, prec, lanes)
        if symbol == "/" and (quotient := _by_reciprocal(p, op)) is not None:
            return quotient
        ctype = _ctype(op)
        a, b = (p.use(operand) for operand in op.operands)
        kind = f"strict_{op.name.removeprefix('arith.')[:3]}_{'f64' if ctype == 'double' else 'f32'}"
        if is_strict(op) and kind in p.language.library:
            return round_narrow(p, expr.call(p.library(kind), (a, b), ctype), op.results[0].type, op)
        return round_narrow(p, expr.c_binary(a, symbol, b, prec, ctype, cheap=False), op.results[0].type, op)

    return row


def _by_reciprocal(p: FunctionText, op: Operation) -> CExpr | None:
    """Print a division of f32 by a constant as a call of the helper that multiplies, if the language has one for it."""
    type_, divisor = op.results[0].type, f32_constant(op.operands[1])
    if divisor is None or (parts := reciprocal(divisor)) is None:
        return None
    if isinstance(type_, VectorType):
        v = p.vector(type_, op)
        if "div_by" not in v.helpers:
            return None
        name, ctype = v.helper(p.prelude, "div_by"), v.ctype
    elif "div_by_f32" in p.language.library:
        name, ctype = p.library("div_by_f32"), "float"
    else:
        return None
    return expr.call(name, [p.use(op.operands[0]), *(float_literal(p, n, f32) for n in (divisor, *parts))], ctype)


def _negate(p: FunctionText, op: Operation) -> CExpr:
    return expr.unary("-", p.use(op.operands[0]), _ctype(op))


def _library_float(kind: str) -> Row:
    def row(p: FunctionText, op: Operation) -> CExpr:
        ctype = _ctype(op)
        suffix = "f64" if ctype == "double" else "f32"
        operands = [p.use(operand) for operand in op.operands]
        if f"{kind}_by_{suffix}" in p.language.library:
            for other, bound in (operands, operands[::-1]):
                if isinstance(known := bound.const, float) and not math.isnan(known):
                    # -0 is the smaller of zeros
                    yields = known == 0 and (math.copysign(1.0, known) > 0) == (kind in ("minnum", "maximum"))
                    return expr.call(p.library(f"{kind}_by{'0' * yields}_{suffix}"), (other, bound), ctype)
        plain = f"{kind}_plain_{suffix}"
        has_no_nans = (
            isinstance(flags := op.properties.get("fastmath"), FastMathFlagsAttr) and FastMathFlag.NO_NANS in flags.data
        )
        name = plain if has_no_nans and plain in p.language.library else f"{kind}_{suffix}"
        return expr.call(p.library(name), operands, ctype)

    return row


def _math(function: str, *, exact: bool = False) -> Row:
    """Call the C library's function, or a helper that the compiler can vectorise.

    `exact` ones give a narrow float for narrow floats, others are rounded.
    """

    def row(p: FunctionText, op: Operation) -> CExpr:
        ctype = _ctype(op)
        if function == "fma" and is_narrow_float(op.results[0].type):
            raise PipelineError(f"math.fma on {op.results[0].type} is not printed; extend to f32 first", op)
        args = [p.use(operand) for operand in op.operands]
        if ctype == "float" and (vectorised := f"{function}_f32") in p.language.library:
            called = p.library(vectorised)
        else:
            called = p.math(function if ctype == "double" else f"{function}f")
        result = expr.call(called, args, ctype)
        return result if exact else round_narrow(p, result, op.results[0].type, op)

    return row


def _sqrt(p: FunctionText, op: Operation) -> CExpr:
    """Print a square root; a helper takes vectors, so that all lanes enter the slow path of f32 together."""
    type_ = op.results[0].type
    if not isinstance(type_, VectorType):
        return _math("sqrt")(p, op)
    v = p.vector(type_, op)
    if "sqrt" not in v.helpers:
        raise PipelineError(f"math.sqrt on {type_} is not printed; compute on scalars", op)
    p.math("sqrt")
    converged = "sqrt_converged" in v.helpers and "kernel.converged" in op.attributes
    return expr.call(v.helper(p.prelude, "sqrt_converged" if converged else "sqrt"), (p.use(op.operands[0]),), v.ctype)


def _rsqrt(p: FunctionText, op: Operation) -> CExpr:
    ctype = _ctype(op)
    return round_narrow(p, p.language.rsqrt(p.prelude, p.use(op.operands[0]), ctype), op.results[0].type, op)


# --- comparison ---------------------------------------------------------------------------------------------


def _compare(p: FunctionText, op: Operation) -> CExpr:
    predicate = as_type(arith.CmpfOp, op).predicate.value.data
    x, y = op.operands
    a, b = p.use(x), p.use(y)
    if predicate in (0, 15):
        return CExpr("true" if predicate else "false", PRIMARY, "bool", (int(predicate > 0),) * 2)
    row = OF_FLOATS[predicate]
    if row.negated:
        return expr.unary("!", expr.c_binary(a, row.c, b, REL, "bool", cheap=False), "bool", (0, 1))
    if row.c:
        return expr.c_binary(a, row.c, b, EQ if row.c in ("==", "!=") else REL, "bool", (0, 1), cheap=False)
    # The rest mention an operand twice.
    a, b = p.atom(a, x), p.atom(b, y)
    less = expr.c_binary(a, "<", b, REL, "bool", cheap=False)
    greater = expr.c_binary(a, ">", b, REL, "bool", cheap=False)
    differ = expr.c_binary(less, "|", greater, expr.BITOR, "bool", (0, 1))
    nan = expr.c_binary(
        expr.c_binary(a, "!=", a, EQ, "bool", cheap=False),
        "|",
        expr.c_binary(b, "!=", b, EQ, "bool", cheap=False),
        expr.BITOR,
        "bool",
        (0, 1),
    )
    part = differ if row.name in ("one", "ueq") else nan
    return part if row.name in ("one", "uno") else expr.unary("!", part, "bool", (0, 1))


# --- conversion ---------------------------------------------------------------------------------------------


def _from_int(reading: Any) -> Row:
    def row(p: FunctionText, op: Operation) -> CExpr:
        source, result = op.operands[0].type, op.results[0].type
        width = width_of(source, op)
        a = reading(p.use(op.operands[0]), width)
        if is_narrow_float(result) and min(width, FLOATS[result].exponent) > FLOATS[f32].significand:
            # A float does not hold these, and rounding twice may be wrong; a double holds 32 bits.
            name = short_name(result, op)
            if width == 32:
                return expr.call(p.library(f"round_{name}_f64"), (expr.c_cast("double", a, cheap=False),), "float")
            return expr.call(p.library(f"{'s' if reading is read_signed else 'u'}64_to_{name}"), (a,), "float")
        return round_narrow(p, expr.c_cast(_ctype(op), a, cheap=False), result, op)

    return row


def _to_int(reading: Any) -> Row:
    """Convert to int, saturating, NaN to 0 (a refinement of MLIR's poison); by a plain cast where the operand fits."""

    def row(p: FunctionText, op: Operation) -> CExpr:
        width = width_of(op.results[0].type, op)
        source = "f64" if isinstance(op.operands[0].type, Float64Type) else "f32"
        sign = "s" if reading is read_signed else "u"
        if width == 1:
            raise PipelineError(f"{op.name} to i1 is not printed; compare instead", op)
        ctype = (SIGNED if reading is read_signed else UNSIGNED)[width]
        interval = (signed_range if reading is read_signed else unsigned_range)(width)
        a = p.use(op.operands[0])
        if IN_RANGE in op.attributes:
            return expr.c_cast(ctype, a, interval, cheap=False)
        return expr.call(p.library(f"{source}_to_{sign}{width}"), (a,), ctype, interval)

    return row


def _extend(p: FunctionText, op: Operation) -> CExpr:
    a = p.use(op.operands[0])
    return expr.c_cast("double", a, cheap=False) if _ctype(op) == "double" else a


def _truncate(p: FunctionText, op: Operation) -> CExpr:
    a, result = p.use(op.operands[0]), op.results[0].type
    double = isinstance(op.operands[0].type, Float64Type)
    if is_narrow_float(result):
        kind = short_name(result, op)
        return expr.call(p.library(f"round_{kind}_f64" if double else f"round_{kind}"), (a,), _ctype(op))
    return expr.c_cast("float", a, cheap=False)


def _bitcast(p: FunctionText, op: Operation) -> CExpr:
    source, result = op.operands[0].type, op.results[0].type
    for type_ in (source, result):
        if not isinstance(type_, IntegerType) and not is_float(type_):
            raise PipelineError(f"arith.bitcast between {source} and {result} is not printed", op)
    a = p.use(op.operands[0])
    if isinstance(source, IntegerType):
        a = read_unsigned(a, width_of(source, op))
    if source == result or (isinstance(source, IntegerType) and isinstance(result, IntegerType)):
        return a
    ctype = register_type(result, op)
    interval = unsigned_range(width_of(result, op)) if isinstance(result, IntegerType) else None
    if is_narrow_float(source) and is_narrow_float(result):
        raise PipelineError(f"arith.bitcast from {source} to {result} is not printed", op)
    return expr.call(p.library(_bitcast_name(source, result, op)), (a,), ctype, interval)


def _bitcast_name(source: Attribute, result: Attribute, op: Operation) -> str:
    # A narrow float in a register is a float, so its bits are those of its form in memory.
    if is_narrow_float(source):
        return f"f32_to_{short_name(source, op)}"
    if is_narrow_float(result):
        return f"{short_name(result, op)}_to_f32"
    return f"bitcast_{short_name(source, op)}_{short_name(result, op)}"


def _printed(row: FloatOperation) -> Row:
    if row.c in _PRECEDENCE:
        return _binary(row.c, _PRECEDENCE[row.c])
    return _math(row.c, exact=row.exact)


_PRECEDENCE = {"+": ADD, "-": ADD, "*": MUL, "/": MUL}

FLOAT_ROWS: dict[str, Row] = {
    "arith.constant": _constant,
    "arith.negf": _negate,
    "arith.minnumf": _library_float("minnum"),
    "arith.maxnumf": _library_float("maxnum"),
    "arith.minimumf": _library_float("minimum"),
    "arith.maximumf": _library_float("maximum"),
    "arith.cmpf": _compare,
    "arith.sitofp": _from_int(read_signed),
    "arith.uitofp": _from_int(read_unsigned),
    "arith.fptosi": _to_int(read_signed),
    "arith.fptoui": _to_int(read_unsigned),
    "arith.extf": _extend,
    "arith.truncf": _truncate,
    "arith.bitcast": _bitcast,
    **{row.op.name: _printed(row) for row in FLOAT_OPERATIONS if row.c},
    "math.fma": _math("fma"),
    "math.sqrt": _sqrt,
    "math.rsqrt": _rsqrt,
}
