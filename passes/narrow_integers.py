"""`narrow-integers`: compute integers in as few bits as their ranges need.

    %p = img.read %in[%x - 1, %y] : !img.func<2xui8>
    %a = arith.extui %p : i8 to i32                          %a = arith.extui %p : i8 to i16
    ...                                                      ...
    %s = arith.addi %ab, %c : i32      (at most 765)   =>    %s = arith.addi %ab, %c : i16
    %q = arith.floordivsi %s, 3 : i32                        %q = arith.divui %s, 3 : i16
    %m = arith.minsi %q, 255 : i32
    %r = arith.trunci %m : i32 to i8                         %r = arith.trunci %q : i16 to i8

First, operations that ranges make simpler: a clamp that no value needs goes, and a division that rounds down, of
numbers that are not negative, is unsigned. Then, values that end in a truncation are computed in fewer bits if that
gives equal results (`narrow_forms.py`). A vector has twice as many numbers of half as many bits. A function that only
stages read has fewer bits, too, if all its values fit. For CPUs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, IntegerType, ModuleOp, Signedness
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from tilefuse.analysis.access import behind_boundaries, reads
from tilefuse.analysis.dependence import behind
from tilefuse.analysis.value_range import UNBOUNDED, value_ranges
from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.ops import DivOp, ModOp, ReadOp, StageOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.passes.narrow_forms import NarrowForms, insert_after, width

NARROW_WIDTHS = (8, 16, 32)
"""Bits of narrow numbers, the preferred ones first."""


@dataclass(frozen=True)
class NarrowIntegers(ModulePass):
    """Compute integers of stages in as few bits as their ranges need."""

    name = "narrow-integers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions: dict[SSAValue, Any] = {}
        for stage in list(op.walk()):
            if isinstance(stage, StageOp):
                spans = _spans(stage, functions)
                results = zip(stage.funcs, stage.yield_op.values, strict=True)
                functions |= {func: spans[value] for func, value in results if value in spans}
                for func in list(stage.funcs):
                    if func in functions and (narrow := _element(func, functions[func])) is not None:
                        functions |= _retyped(stage, func, narrow, functions[func])
                if any(_is_wide(v) for o in stage.body.block.ops for v in o.results):
                    _narrow(stage.body.block, spans)


def _spans(stage: StageOp, functions: Mapping[SSAValue, Any]) -> dict[SSAValue, Any]:
    """Compute the ranges of all integers of a body, for any coordinates, from the ranges of functions."""
    body = stage.body.block
    known: dict[SSAValue, Any] = dict.fromkeys(body.args, UNBOUNDED)
    for read in reads(stage):
        function, boundaries = behind_boundaries(read.source)
        exterior = any(b.kind.data is BoundaryKind.ConstantExterior for b in boundaries)
        if function in functions and not exterior:
            known[read.value] = functions[function]
    numbers = [v for op in body.ops for v in op.results if isinstance(v.type, IntegerType)]
    return value_ranges(numbers, known)


def _is_wide(value: SSAValue) -> bool:
    return isinstance(value.type, IntegerType) and value.type.width.data > min(NARROW_WIDTHS)


def _narrow(body: Block, spans: dict[SSAValue, Any]) -> None:
    """Rewrite the body of a stage."""
    for op in list(body.ops):
        if op.results and (simpler := _simplified(op, spans)) is not None:
            for made in (simpler,) if isinstance(simpler, Operation) else ():
                made.location = op.location
                body.insert_op_before(made, op)
            value = simpler.results[0] if isinstance(simpler, Operation) else simpler
            spans.setdefault(value, spans[op.results[0]])
            value.name_hint = value.name_hint or op.results[0].name_hint
            op.results[0].replace_all_uses_with(value)
    roots = [op for op in body.ops if isinstance(op, arith.TruncIOp) and _is_wide(op.input) and not _is_copy(op.input)]
    found = {root: forms for root in roots if (forms := _forms(root, spans)) is not None}
    if found and not _computes_wide(body, found):
        for root, forms in found.items():
            _narrow_root(root, forms)
    _erase_unused(body)


# --- functions


def _element(func: SSAValue, span: tuple[int, int]) -> IntegerType | None:
    """Return the narrowest element that has all values of a wide function which only stages read; None if none has."""
    assert isinstance(func.type, FuncType)
    element = func.type.element
    if not isinstance(element, IntegerType) or not _reads_of(func):
        return None
    for bits in (n for n in NARROW_WIDTHS if n < element.width.data):
        if span[0] >= 0 and span[1] < 1 << bits:
            return IntegerType(bits, Signedness.UNSIGNED)
        if span[0] >= -(1 << (bits - 1)) and span[1] < 1 << (bits - 1):
            return IntegerType(bits, Signedness.SIGNED)
    return None


def _reads_of(func: SSAValue) -> list[ReadOp]:
    """Return the reads of a function, if nothing but stages reads it, without a boundary; else none."""
    users = [use.operation for use in func.uses]
    if all(isinstance(user, ReadOp) and isinstance(user.parent_op(), StageOp) for user in users):
        return [user for user in users if isinstance(user, ReadOp)]
    return []


def _retyped(
    stage: StageOp, func: SSAValue, element: IntegerType, span: tuple[int, int]
) -> dict[SSAValue, tuple[int, int]]:
    """Store the values of a function as an element, which its readers extend to the numbers that they had.

    Return the range of the new function, if it is one of signed numbers.
    """
    assert isinstance(func.type, FuncType)
    unsigned = element.signedness.data is Signedness.UNSIGNED
    ext, bits = arith.ExtUIOp if unsigned else arith.ExtSIOp, IntegerType(element.width.data)
    for read in _reads_of(func):
        wide = read.value.type
        narrow = Rewriter.replace_value_with_new_type(read.value, bits)
        made = ext(narrow, cast(IntegerType, wide))
        insert_after(made, read)
        for use in [use for use in narrow.uses if use.operation is not made]:
            use.operation.operands[use.index] = made.result
    index, end = stage.funcs.index(func), stage.yield_op
    new = Rewriter.replace_value_with_new_type(func, FuncType(func.type.rank, element))
    cut = arith.TruncIOp(end.values[index], bits)
    cut.location = stage.location
    stage.body.block.insert_op_before(cut, end)
    end.operands[index] = cut.result
    return {} if unsigned else {new: span}


# --- bodies


def _is_copy(value: SSAValue) -> bool:
    """Whether a value is a pixel, a constant or an extension, which nothing computes."""
    return isinstance(value.owner, Block | ReadOp | arith.ConstantOp | arith.ExtUIOp | arith.ExtSIOp)


def _computes_wide(body: Block, found: Mapping[arith.TruncIOp, NarrowForms]) -> bool:
    """Whether something else is computed in more bits: vectors of one loop that differ in length are slow."""
    end = body.last_op
    assert end is not None
    narrowed, most = {root.result for root in found}, max(forms.bits for forms in found.values())

    def is_wide(value: SSAValue) -> bool:
        return width(value) > most if isinstance(value.type, IntegerType) else isinstance(value.type, AnyFloat)

    others = (value for value in behind(end.operands, body, narrowed) if value not in narrowed)
    return any(is_wide(value) and not _is_copy(value) for value in others)


def _erase_unused(body: Block) -> None:
    for op in reversed(list(body.ops)):
        pure = is_side_effect_free(op) or isinstance(op, arith.ExtSIOp)  # which xDSL does not know to be pure
        if op.results and pure and not any(r.uses for r in op.results):
            Rewriter.erase_op(op)


# --- operations that ranges make simpler


def _simplified(op: Operation, spans: Mapping[SSAValue, tuple[int, int]]) -> Operation | SSAValue | None:
    """Return a simpler operation, or a value, with the result of `op`; None if ranges make nothing simpler."""
    if not isinstance(op.results[0].type, IntegerType):
        return None
    match op:
        case arith.MinSIOp() | arith.MaxSIOp() | arith.MinUIOp() | arith.MaxUIOp():
            return _chosen(op, spans)
        case arith.FloorDivSIOp() | arith.DivSIOp() | DivOp() if _is_unsigned_division(op, spans):
            return arith.DivUIOp(op.operands[0], op.operands[1])
        case arith.RemSIOp() | ModOp() if _is_unsigned_division(op, spans):
            return arith.RemUIOp(op.operands[0], op.operands[1])
        case math.AbsIOp() if spans[op.operands[0]][0] >= 0:
            return op.operands[0]
        case arith.ExtUIOp() | arith.ExtSIOp() if isinstance(cut := op.operands[0].owner, arith.TruncIOp):
            # `plain-conversions` leaves casts of floats alone that are not cut
            return None if isinstance(cut.input.owner, arith.FPToSIOp | arith.FPToUIOp) else _uncut(op, cut, spans)
    return None


def _chosen(op: Operation, spans: Mapping[SSAValue, tuple[int, int]]) -> SSAValue | None:
    """Return the operand that a minimum or maximum always gives; None if it depends."""
    signed = type(op) in (arith.MinSIOp, arith.MaxSIOp)
    (a, b), is_min = op.operands, type(op) in (arith.MinSIOp, arith.MinUIOp)
    if not signed and (spans[a][0] < 0 or spans[b][0] < 0):
        return None
    if spans[a][1] <= spans[b][0]:
        return a if is_min else b
    if spans[b][1] <= spans[a][0]:
        return b if is_min else a
    return None


def _is_unsigned_division(op: Operation, spans: Mapping[SSAValue, tuple[int, int]]) -> bool:
    """Whether a division of a number that is not negative is by a positive constant."""
    divisor = integer_constant(op.operands[1])
    return divisor is not None and divisor > 0 and spans[op.operands[0]][0] >= 0


def _uncut(
    op: Operation, cut: arith.TruncIOp, spans: Mapping[SSAValue, tuple[int, int]]
) -> Operation | SSAValue | None:
    """Return the value that is cut, and then extended again, if it fits."""
    bits, (low, high), made = width(cut.result), spans[cut.input], op.results[0].type
    least = -(1 << (bits - 1)) if isinstance(op, arith.ExtSIOp) else 0
    if low < least or high >= least + (1 << bits):
        return None
    if cut.input.type == made:
        return cut.input
    return arith.TruncIOp(cut.input, cast(IntegerType, made)) if width(cut.input) > width(op.results[0]) else None


def _forms(root: arith.TruncIOp, spans: Mapping[SSAValue, tuple[int, int]]) -> NarrowForms | None:
    """Return the narrowest forms of the operand of a truncation; None if it has none."""
    for bits in (n for n in NARROW_WIDTHS if width(root.result) <= n < width(root.input)):
        forms = NarrowForms(IntegerType(bits), spans)
        if forms.has(root.input):
            return forms
    return None


def _narrow_root(root: arith.TruncIOp, forms: NarrowForms) -> None:
    """Replace a truncation by a truncation of the narrow form."""
    value = forms.emit(root.input)
    if value.type != root.result.type:
        made = arith.TruncIOp(value, root.result.type)
        insert_after(made, root)
        value = made.result
    value.name_hint = value.name_hint or root.result.name_hint
    root.result.replace_all_uses_with(value)
