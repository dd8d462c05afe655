"""`drop-requirements`: remove the requirements of calls (level 1).

The runtime checks conditions, those on points by separate programs, before it runs this one. Values that only
conditions need are removed too.
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
