"""Attributes of the img dialect: boundary kinds, boxes, and places of stages."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, StringAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Data, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum


class BoundaryKind(StrEnum):
    """Continuation of a function outside its box; the names and meanings are Halide's BoundaryConditions."""

    RepeatEdge = "repeat_edge"
    MirrorImage = "mirror_image"
    MirrorInterior = "mirror_interior"
    RepeatImage = "repeat_image"
    ConstantExterior = "constant_exterior"


@irdl_attr_definition
class BoundaryKindAttr(EnumAttribute[BoundaryKind], SpacedOpaqueSyntaxAttribute):
    """`repeat_edge`, `mirror_image`, `mirror_interior`, `repeat_image` or `constant_exterior`."""

    name = "img.boundary_kind"


Interval = tuple[int, int]
"""(min, extent) of one dimension."""

Box = tuple[Interval, ...]
"""(min, extent) per dimension, x first."""


@irdl_attr_definition
class BoxAttr(Data[tuple[Interval | None, ...]]):
    """`#img.box<[*, *, 0:3]>`: per dimension `min:extent` where it is fixed at compile time, else `*`."""

    name = "img.box"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Interval | None, ...]:
        def dim() -> Interval | None:
            if parser.parse_optional_punctuation("*"):
                return None
            low = parser.parse_integer()
            parser.parse_punctuation(":")
            return (low, parser.parse_integer(allow_negative=False))

        with parser.in_angle_brackets():
            return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, dim))

    def print_parameter(self, printer: Printer) -> None:
        dims = ("*" if d is None else f"{d[0]}:{d[1]}" for d in self.data)
        printer.print_string(f"<[{', '.join(dims)}]>")

    def verify(self) -> None:
        for dim in self.data:
            if dim is not None and dim[1] <= 0:
                raise VerifyException(f"a box needs positive extents, not {dim[1]}")


class Level(StrEnum):
    """The loop level that a stage is computed at: once per block, per warp or per thread of its group."""

    Block = "block"
    Warp = "warp"
    Thread = "thread"


class Memory(StrEnum):
    """Memory of the values of a stage between producer and consumer."""

    Global = "global"
    Shared = "shared"
    Register = "register"


_PLACES = {
    (Level.Block, Memory.Shared),
    (Level.Block, Memory.Register),
    (Level.Warp, Memory.Register),
    (Level.Thread, Memory.Register),
    (Level.Thread, Memory.Global),
}


@irdl_attr_definition
class PlaceAttr(ParametrizedAttribute):
    """`#img.place<block, shared, slot = 1, pad = 1>`: where a stage of a group is computed and stored.

    In registers, `warp` means that each warp computes all that it needs, and `block` that each point is computed
    once per block, and rows beside a warp's own come from its neighbours through shared memory.
    Stages of one `slot` use the same shared memory one after another (their lifetimes must not overlap).
    `pad` is the number of unused elements at the end of each row, against shared-memory bank conflicts.
    """

    name = "img.place"

    level: StringAttr
    memory: StringAttr
    slot: IntAttr
    pad: IntAttr

    def __init__(self, level: Level | str, memory: Memory | str, slot: int = 0, pad: int = 0):
        super().__init__(StringAttr(str(level)), StringAttr(str(memory)), IntAttr(slot), IntAttr(pad))

    @property
    def where(self) -> tuple[Level, Memory]:
        """The loop level and the memory."""
        return Level(self.level.data), Memory(self.memory.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            level = parser.parse_str_enum(Level)
            parser.parse_punctuation(",")
            memory = parser.parse_str_enum(Memory)
            numbers = {"slot": 0, "pad": 0}
            while parser.parse_optional_punctuation(","):
                key = parser.parse_optional_keyword_in(numbers)
                if key is None:
                    parser.raise_error("expected 'slot' or 'pad'")
                parser.parse_punctuation("=")
                numbers[key] = parser.parse_integer(allow_negative=False)
        return cls(level, memory, **numbers).parameters

    def print_parameters(self, printer: Printer) -> None:
        level, memory = self.where
        slot = f", slot = {self.slot.data}" if self.slot.data else ""
        pad = f", pad = {self.pad.data}" if self.pad.data else ""
        printer.print_string(f"<{level.value}, {memory.value}{slot}{pad}>")

    def verify(self) -> None:
        level, memory = self.where
        if (level, memory) not in _PLACES:
            raise VerifyException(
                f"a stage computed per {level.value} cannot be stored in {memory.value} memory; use "
                + ", ".join(sorted(f"{lv.value}/{m.value}" for lv, m in _PLACES))
            )
        if (self.pad.data or self.slot.data) and memory is not Memory.Shared:
            raise VerifyException(f"only shared memory has slots and padding, not {memory.value} memory")
