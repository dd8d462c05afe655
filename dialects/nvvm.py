"""`nvvm.griddepcontrol`, which xDSL lacks, as MLIR has it."""

from __future__ import annotations

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Dialect, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import IRDLOperation, irdl_attr_definition, irdl_op_definition, prop_def
from xdsl.utils.str_enum import StrEnum


class GridDepAction(StrEnum):
    """`wait` until the kernels before have ended; `launch_dependents`: the next one may start."""

    Wait = "wait"
    LaunchDependents = "launch_dependents"


@irdl_attr_definition
class GridDepActionAttr(EnumAttribute[GridDepAction], SpacedOpaqueSyntaxAttribute):
    """`#nvvm<grid_dep_action wait>`"""

    name = "nvvm.grid_dep_action"


@irdl_op_definition
class GriddepcontrolOp(IRDLOperation):
    """`nvvm.griddepcontrol wait`: for kernels that may start before those before them have ended (docs/runtime.md)."""

    name = "nvvm.griddepcontrol"

    kind = prop_def(GridDepActionAttr)

    assembly_format = "$kind attr-dict"

    def __init__(self, kind: GridDepAction):
        super().__init__(properties={"kind": GridDepActionAttr(kind)})


NVVM = Dialect("nvvm", [GriddepcontrolOp], [GridDepActionAttr])
