"""`verify-dominance`: check that each value is defined before it is used, which xDSL's verifier does not check.

`pipeline-opt` makes this check after each pass; the pass is for pipelines that other tools run.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.dialects.verification import verify_dominance


@dataclass(frozen=True)
class VerifyDominance(ModulePass):
    """Check that each value is defined before it is used."""

    name = "verify-dominance"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
