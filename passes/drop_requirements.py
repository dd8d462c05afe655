"""`drop-requirements`: remove the requirements of calls (level 1).

Conditions are checked by the runtime, which computes those on points by programs of their own before it runs this one.
What is computed for them alone goes with them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.analysis.requirements import drop_requirements


@dataclass(frozen=True)
class DropRequirements(ModulePass):
    """Remove `img.require`, and the stages that only it needs."""

    name = "drop-requirements"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        drop_requirements(op)
