"""The img dialect: image pipelines as functions over the integer grid, and their schedules."""

from xdsl.ir import Dialect

from tilefuse.dialects.img.attrs import BoundaryKindAttr, BoxAttr, PlaceAttr
from tilefuse.dialects.img.ops import OPERATIONS
from tilefuse.dialects.img.region import RegionAttr
from tilefuse.dialects.img.types import FuncType

IMG = Dialect("img", OPERATIONS, [BoundaryKindAttr, BoxAttr, FuncType, PlaceAttr, RegionAttr])
