"""`canonicalize-stages`: xDSL's `canonicalize`, except for float folds that overflow their type, and more identities of
integers.

%r = arith.ori %x, %ones : i8       =>  %ones
%r = arith.minui %x, %ones : i8     =>  %x
%r = img.mod %x, %x : i8            =>  0
%a = arith.constant 3.0e+38 : f32
%r = arith.addf %a, %a : f32        // infinity: stays as it is, for xDSL's fold of it raises OverflowError
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, builtin
from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.transforms.canonicalization_patterns.utils import const_evaluate_operand
from xdsl.transforms.canonicalize import CanonicalizationRewritePattern
from xdsl.transforms.dead_code_elimination import region_dce

from tilefuse.dialects.img.ops.division import ModOp


class _WithinRange(CanonicalizationRewritePattern):
    """Apply an op's canonicalization patterns; a pattern whose constant overflows its type is skipped."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        try:
            super().match_and_rewrite(op, rewriter)
        except OverflowError:
            # patterns make the constant before they replace anything
            return


def _none(ones: int) -> int:
    return 0


def _all(ones: int) -> int:
    return ones


def _sign(ones: int) -> int:
    return ones // 2 + 1


def _below_sign(ones: int) -> int:
    return ones // 2


_ELEMENTS: dict[type[Operation], tuple[Callable[[int], int], Callable[[int], int]]] = {
    arith.AndIOp: (_none, _all),
    arith.OrIOp: (_all, _none),
    arith.MinUIOp: (_none, _all),
    arith.MaxUIOp: (_all, _none),
    arith.MinSIOp: (_sign, _below_sign),
    arith.MaxSIOp: (_below_sign, _sign),
}
"""Commutative and idempotent operations: the bits of the absorbing element (`x op a` is `a`) and of the neutral one, of
those of an integer of all ones."""


class _LatticeIdentities(RewritePattern):
    """Replaces `x op x`, `x op absorbing` and `x op neutral` of integers by an operand. xDSL knows `& 0` and `| 0`."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (elements := _ELEMENTS.get(type(op))) is None or not isinstance(element := op.results[0].type, IntegerType):
            return
        lhs, rhs = op.operands
        ones = (1 << element.width.data) - 1
        absorbing, neutral = (bits_of(ones) for bits_of in elements)
        for one, other in ((lhs, rhs), (rhs, lhs)):
            number = const_evaluate_operand(other)
            bits = None if number is None else number & ones
            if one is other or bits == neutral:
                rewriter.replace(op, (), (one,))
                return
            if bits == absorbing:
                rewriter.replace(op, (), (other,))
                return


_OF_ITSELF_ZERO = (arith.SubiOp, arith.XOrIOp, arith.RemSIOp, arith.RemUIOp, ModOp)
"""Operations of which `x op x` is 0; of remainders by 0, too, or undefined."""


class _Cancellation(RewritePattern):
    """Replaces `x op x` of integers by 0 for operations that give 0 for any x."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, _OF_ITSELF_ZERO) or not isinstance(type := op.results[0].type, IntegerType):
            return
        if op.operands[0] is op.operands[1]:
            rewriter.replace(op, arith.ConstantOp(IntegerAttr(0, type)))


@dataclass(frozen=True)
class CanonicalizeStages(ModulePass):
    """Apply all canonicalization patterns and identities of integers, but leave floats that overflow to run time."""

    name = "canonicalize-stages"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        pattern = GreedyRewritePatternApplier(
            [_LatticeIdentities(), _Cancellation(), _WithinRange()], ctx=ctx, folding_enabled=True
        )
        PatternRewriteWalker(pattern, post_walk_func=region_dce).rewrite_module(op)
