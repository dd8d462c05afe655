"""Groups: the stages of one kernel, and its schedule."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    StringAttr,
)
from xdsl.ir import Attribute, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.ops.boundary import BoundaryOp
from tilefuse.dialects.img.ops.parents import in_pipeline
from tilefuse.dialects.img.ops.stage import StageOp, YieldOp, parse_attribute_of
from tilefuse.dialects.img.ops.update import Definition, UpdateOp
from tilefuse.dialects.img.schedule import ScheduleAttr
from tilefuse.dialects.img.types import FuncType
from tilefuse.dialects.naming import value_name

SINGLE_WAVE = "single_wave"
"""On a group: for the picture that was told all its blocks run at once, and lie evenly if a multiprocessor has room for
no more of them than the schedule's `blocks`."""


@irdl_op_definition
class GroupOp(IRDLOperation):
    """The stages that one kernel computes, and how.

    ```
    %blur_y = img.group "blur_y" schedule #schedule.block_tile<tile = [128, 16], threads = [32, 8]> {
      %blur_x = img.stage "blur_x" (%x, %y) -> f32 place #img.place<block, shared> { ... }
      %blur_y = img.stage "blur_y" (%x, %y) -> f32 { ... }
      img.yield %blur_y : !img.func<2xf32>
    } : !img.func<2xf32>
    ```
    The stages whose functions are yielded are stored; the others stay inside. The last stage that is stored is the
    group's anchor: the schedule's tile is in its coordinates, and what a tile stores of another stage follows from how
    reads relate the two (`analysis/regions.py`). An update is alone in its group; the schedule's tile is then in its
    pure coordinates.
    """

    name = "img.group"

    sym_name = prop_def(StringAttr)
    schedule = opt_prop_def(ScheduleAttr)
    body = region_def("single_block")
    funcs = var_result_def(FuncType)

    traits = lazy_traits_def(lambda: (Pure(), in_pipeline()))

    def __init__(self, name: str, types: Sequence[Attribute], body: Region, schedule: ScheduleAttr | None = None):
        super().__init__(
            properties={"sym_name": StringAttr(name), "schedule": schedule},
            result_types=[list(types)],
            regions=[body],
        )
        for func in self.funcs:
            func.name_hint = value_name(name)

    @property
    def yield_op(self) -> YieldOp:
        """The terminator."""
        op = self.body.block.last_op
        assert isinstance(op, YieldOp)
        return op

    @property
    def update(self) -> UpdateOp | None:
        """The update that the group holds, if it does not hold stages."""
        op = self.yield_op.values[0].owner
        return op if isinstance(op, UpdateOp) else None

    @property
    def output(self) -> Definition:
        """The update, or the anchor."""
        return self.update or self.anchor

    @property
    def stored(self) -> list[StageOp]:
        """The stages whose values leave the group, producers first; the last one is the anchor."""
        owners = {v.owner for v in self.yield_op.values}
        return [stage for stage in self.stages if stage in owners]

    @property
    def anchor(self) -> StageOp:
        """The stage in whose coordinates the schedule's tile is: the last one whose values leave the group."""
        return self.stored[-1]

    @property
    def stages(self) -> list[StageOp]:
        """All stages, producers first."""
        return [op for op in self.body.block.ops if isinstance(op, StageOp)]

    @property
    def definitions(self) -> list[Definition]:
        """The stages, or the update."""
        return [op for op in self.body.block.ops if isinstance(op, Definition)]

    @classmethod
    def parse(cls, parser: Parser) -> GroupOp:
        name = parser.parse_str_literal()
        schedule = None
        if parser.parse_optional_keyword("schedule"):
            schedule = parse_attribute_of(parser, ScheduleAttr)  # type: ignore[type-abstract]
        attrs = parser.parse_optional_attr_dict_with_keyword(("sym_name", "schedule"))
        body = parser.parse_region()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        op = cls(name, types, body, schedule)
        if attrs is not None:
            op.attributes |= attrs.data
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.sym_name)
        if self.schedule is not None:
            printer.print_string(" schedule ")
            printer.print_attribute(self.schedule)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_string(" : ")
        printer.print_list(self.result_types, printer.print_attribute)

    def verify_(self) -> None:
        name = self.sym_name.data
        if not isinstance(self.body.block.last_op, YieldOp):
            raise VerifyException(f"group '{name}' must end in img.yield")
        values = self.yield_op.values
        if [v.type for v in values] != list(self.result_types) or not values:
            raise VerifyException(f"group '{name}': the types of img.yield and of the group differ")
        if not all(isinstance(v.owner, Definition) and v.owner.parent_op() is self for v in values):
            raise VerifyException(f"group '{name}': its results are functions of its stages")
        if len({*values}) != len(values):
            raise VerifyException(f"group '{name}' yields a function twice")
        for op in self.body.block.ops:
            if not isinstance(op, StageOp | UpdateOp | BoundaryOp | YieldOp):
                raise VerifyException(f"group '{name}': {op.name} cannot stand in a group")
            if isinstance(op, UpdateOp) and len(self.body.block.ops) != 2:
                raise VerifyException(f"group '{name}': update '{op.sym_name.data}' needs a group of its own")
        output = self.output
        rank = len(output.pure) if isinstance(output, UpdateOp) else output.rank
        tile = None if self.schedule is None else self.schedule.tile_sizes
        if tile is not None and len(tile) != rank:
            raise VerifyException(
                f"group '{name}': the schedule tiles {len(tile)} dimensions, "
                f"{'update' if self.update else 'stage'} '{output.sym_name.data}' has {rank}"
            )
