"""Operations of the img dialect, one idea per file.

A pipeline is a graph of functions over the integer grid. `img.input` and `img.stage` make functions, `img.update` makes
one of an old one by writing over it, `img.boundary` continues one outside its box, `img.read` takes a value of one at
a point, and `img.return` names the outputs. `img.group` gathers the stages that one kernel computes, and carries its
schedule.
"""

from xdsl.ir import Operation

from tilefuse.dialects.img.ops.boundary import BoundaryOp
from tilefuse.dialects.img.ops.division import DivOp, ModOp
from tilefuse.dialects.img.ops.group import LATE_LAUNCH, MOSTLY_BORDER, SINGLE_WAVE, GroupOp
from tilefuse.dialects.img.ops.pipeline import PipelineOp, ReturnOp
from tilefuse.dialects.img.ops.print import PrintOp, prints
from tilefuse.dialects.img.ops.require import RequireOp
from tilefuse.dialects.img.ops.sources import ExtentOp, InputOp, MinOp, ParamOp
from tilefuse.dialects.img.ops.stage import BY_PLANES, SHARES_ROWS, ReadOp, StageOp, YieldOp
from tilefuse.dialects.img.ops.update import COMBINERS, SET, Definition, UpdateOp, WriteOp

OPERATIONS: list[type[Operation]] = [
    BoundaryOp,
    DivOp,
    ExtentOp,
    GroupOp,
    InputOp,
    MinOp,
    ModOp,
    ParamOp,
    PipelineOp,
    PrintOp,
    ReadOp,
    RequireOp,
    ReturnOp,
    StageOp,
    UpdateOp,
    WriteOp,
    YieldOp,
]

__all__ = [
    "BY_PLANES",
    "COMBINERS",
    "LATE_LAUNCH",
    "MOSTLY_BORDER",
    "OPERATIONS",
    "SET",
    "SHARES_ROWS",
    "SINGLE_WAVE",
    "BoundaryOp",
    "Definition",
    "DivOp",
    "ExtentOp",
    "GroupOp",
    "InputOp",
    "MinOp",
    "ModOp",
    "ParamOp",
    "PipelineOp",
    "PrintOp",
    "ReadOp",
    "RequireOp",
    "ReturnOp",
    "StageOp",
    "UpdateOp",
    "WriteOp",
    "YieldOp",
    "prints",
]
