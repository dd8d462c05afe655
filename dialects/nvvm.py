"""`nvvm.griddepcontrol` and `nvvm.memory.barrier`, which xDSL lacks, as MLIR has them."""

from __future__ import annotations

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Dialect, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import IRDLOperation, irdl_attr_definition, irdl_op_definition, prop_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
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
    """`nvvm.griddepcontrol wait`: for kernels that may start before the kernels before them end (docs/runtime.md)."""

    name = "nvvm.griddepcontrol"

    kind = prop_def(GridDepActionAttr)

    assembly_format = "$kind attr-dict"

    def __init__(self, kind: GridDepAction):
        super().__init__(properties={"kind": GridDepActionAttr(kind)})


class MemScope(StrEnum):
    """Scope of a memory barrier: the threads that see the stores before it, here all of the GPU."""

    Gpu = "gpu"


@irdl_attr_definition
class MemScopeAttr(EnumAttribute[MemScope]):
    """`#nvvm.mem_scope<gpu>`"""

    name = "nvvm.mem_scope"

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            super().print_parameter(printer)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MemScope:
        with parser.in_angle_brackets():
            return super().parse_parameter(parser)


@irdl_op_definition
class MemoryBarrierOp(IRDLOperation):
    """`nvvm.memory.barrier <gpu>`: earlier stores of the thread are seen before its later ones.

    No thread waits for another.
    """

    name = "nvvm.memory.barrier"

    scope = prop_def(MemScopeAttr)

    assembly_format = "$scope attr-dict"

    def __init__(self, scope: MemScope):
        super().__init__(properties={"scope": MemScopeAttr(scope)})


NVVM = Dialect("nvvm", [GriddepcontrolOp, MemoryBarrierOp], [GridDepActionAttr, MemScopeAttr])
