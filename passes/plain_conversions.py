"""`plain-conversions`: cast floats to integers without saturation where the float's range fits.

    %v = arith.maxnumf (arith.minnumf %a, 255.0), 0.0        %v = ...
    %i = arith.fptoui %v : f32 to i32                  =>     %i = arith.fptosi %v {kernel.in_range} : f32 to i32

Casts saturate and convert NaN to 0, which takes three comparisons in C, while machines have an instruction for the
plain cast. Most operands of casts have been clamped. A result in the range of a signed integer is cast to a signed
integer, since few machines have vector casts to unsigned ones. For CPUs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import AnyFloat, IntegerType, ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilefuse.analysis.value_range import value_ranges
from tilefuse.lowering.printers.floats import IN_RANGE

WIDEST_RESULT = 32
"""Bits of a result; floats between those of 64 bits are few."""


@dataclass(frozen=True)
class PlainConversions(ModulePass):
    """Mark float-to-integer casts whose operand is provably in range."""

    name = "plain-conversions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.walk() if isinstance(f, func.FuncOp)]:
            casts = [o for o in function.walk() if isinstance(o, arith.FPToSIOp | arith.FPToUIOp) and _is_scalar(o)]
            ranges = value_ranges([cast.input for cast in casts], {})
            for cast in casts:
                _mark(cast, ranges)


def _is_scalar(cast: arith.FPToSIOp | arith.FPToUIOp) -> bool:
    return isinstance(cast.input.type, AnyFloat) and isinstance(cast.result.type, IntegerType)


def _mark(cast: arith.FPToSIOp | arith.FPToUIOp, ranges: Mapping[SSAValue, Any]) -> None:
    type = cast.result.type
    assert isinstance(type, IntegerType)
    width, (least, greatest) = type.width.data, ranges[cast.input]
    if not 1 < width <= WIDEST_RESULT or not (math.isfinite(least) and math.isfinite(greatest)):
        return
    if width == WIDEST_RESULT and not all(isinstance(use.operation, arith.TruncIOp) for use in cast.result.uses):
        return  # an index: GCC makes no vectors of some loops then
    half = 1 << (width - 1)
    if -half <= math.trunc(least) and math.trunc(greatest) < half:
        _replace(cast, arith.FPToSIOp(cast.input, type))
    elif isinstance(cast, arith.FPToUIOp) and 0 <= math.trunc(least) and math.trunc(greatest) < 2 * half:
        cast.attributes[IN_RANGE] = UnitAttr()


def _replace(cast: Operation, by: arith.FPToSIOp) -> None:
    block, result = cast.parent, by.result
    assert block is not None
    by.attributes[IN_RANGE] = UnitAttr()
    by.location, result.name_hint = cast.location, cast.results[0].name_hint
    block.insert_op_before(by, cast)
    cast.results[0].replace_all_uses_with(result)
    cast.detach()
    cast.erase()
