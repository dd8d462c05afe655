"""`canonicalize-stages`: xDSL's `canonicalize`, except for float folds that overflow their type.

%a = arith.constant 3.0e+38 : f32
%r = arith.addf %a, %a : f32        // infinity: stays as it is, for xDSL's fold of it raises OverflowError
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, PatternRewriteWalker
from xdsl.transforms.canonicalize import CanonicalizationRewritePattern
from xdsl.transforms.dead_code_elimination import region_dce


class _WithinRange(CanonicalizationRewritePattern):
    """Apply an op's canonicalization patterns; a pattern whose constant overflows its type is skipped."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        try:
            super().match_and_rewrite(op, rewriter)
        except OverflowError:
            # patterns make the constant before they replace anything
            return


@dataclass(frozen=True)
class CanonicalizeStages(ModulePass):
    """Apply all canonicalization patterns, but leave float operations that overflow to run time."""

    name = "canonicalize-stages"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        pattern = GreedyRewritePatternApplier([_WithinRange()], ctx=ctx, folding_enabled=True)
        PatternRewriteWalker(pattern, post_walk_func=region_dce).rewrite_module(op)
