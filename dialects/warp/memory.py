"""The operations that move warp tiles from memory to registers, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from xdsl.dialects.builtin import (
    DenseArrayBase,
    MemRefType,
    StringAttr,
    UnitAttr,
    i1,
    i8,
    i16,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_region_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.warp.box import box_of_property, box_property, check_box, parse_box, print_box
from tilefuse.dialects.warp.layout import Layout, TileType
from tilefuse.dialects.warp.ops import INDEX, check_coordinates, tile_type, yielded


def is_one_access(element: Attribute, vector: int) -> bool:
    """Whether one aligned access can move this many adjacent elements."""
    return element_bytes(element) * vector in (2, 4, 8, 16)


def can_cut(element: Attribute, vector: int) -> bool:
    """Whether a lane's row is one access of whole words, with several elements each."""
    return element in (i8, i16) and element_bytes(element) * vector in (4, 8, 16)


def can_load_pieces(element: Attribute, vector: int) -> bool:
    """Whether a lane's row may be loaded in pieces: in words, or in pairs of elements no smaller than words."""
    size = element_bytes(element)
    return can_cut(element, vector) or (size in (4, 8) and vector > 1 and size * vector in (8, 16))


def _parse_flag(parser: Parser, keyword: str) -> SSAValue | None:
    if not parser.parse_optional_keyword(keyword):
        return None
    return parser.resolve_operand(parser.parse_unresolved_operand(), i1)


def _print_flag(printer: Printer, keyword: str, flag: SSAValue | None) -> None:
    if flag is not None:
        printer.print_string(f" {keyword} ")
        printer.print_ssa_value(flag)


@dataclass(frozen=True)
class BorderLoad:
    """Border handling of a `warp.load`: flags of type i1, and the regions that they choose."""

    flag: SSAValue | None
    """Whether the tile is a border tile."""
    points: Region | None
    """Computes a point from its coordinates."""
    vectors_uniform: SSAValue | None = None
    """Whether each lane's columns lie inside the box together, or outside of it."""
    rows: Region | None = None
    """Computes the indices of a lane's row, and comes with `vectors_uniform`."""
    replaces: bool = False
    """Whether `rows` replaces rows outside a constant exterior, too."""
    x_edge_only: SSAValue | None = None
    """Whether the tile is cut off along x only."""

    @staticmethod
    def parse(parser: Parser) -> BorderLoad | None:
        """Parse `border %b [vectors_uniform %u [x_edge_only %x] [replaces] rows {...}] points {...}`, or nothing."""
        border = _parse_flag(parser, "border")
        if border is None:
            return None
        uniform = x_edge_only = rows = None
        replaces = False
        if uniform := _parse_flag(parser, "vectors_uniform"):
            x_edge_only = _parse_flag(parser, "x_edge_only")
            replaces = parser.parse_optional_keyword("replaces") is not None
            parser.parse_keyword("rows")
            rows = parser.parse_region()
        parser.parse_keyword("points")
        return BorderLoad(border, parser.parse_region(), uniform, rows, replaces, x_edge_only)


@dataclass(frozen=True)
class BorderStore:
    """Border handling of a `warp.store`."""

    flag: SSAValue
    """i1: whether the tile is a border tile."""
    vectors_uniform: SSAValue | None = None
    """i1: whether each lane's columns lie inside the buffer together, or outside of it."""
    x_edge_only: SSAValue | None = None
    """i1: whether the tile is cut off along x only."""
    first: SSAValue | None = None
    """The first column that is not another tile's."""


@irdl_op_definition
class LoadOp(IRDLOperation):
    """Load a tile from a buffer in memory.

    ```
    %a = warp.load %in[%j, %i] : memref<?x?xf32> -> !warp.tile<f32, ...>
    %a = warp.load %in[%j, %i] border %border vectors_uniform %uniform rows {
    ^bb0(%x: index, %y: index):
      ...
      warp.yield %j1, %i1 : index, index
    } points {
    ^bb0(%x: index, %y: index):
      ...
      warp.yield %v : f32
    } : memref<?x?xf32> -> !warp.tile<f32, ...>
    ```
    The indices are those of the tile's first point, in the memref's order. With `aligned %yes` after them, a lane's
    own columns of a row may be one access where that holds: they start at a multiple of their size. With `pieces`
    after that, rows are loaded in short vectors elsewhere, which lie where these may: the first begins in a lane's
    columns or before them. With `pieces partial right`, what ends after a lane's columns is what the next one has
    loaded, so that the last lane lacks it: as many columns of the tile, all but one of a piece's, are undefined at the
    right; with `pieces partial left` it is the other way round.

    Where `border` holds, a point is what `points` computes of its coordinates relative to the tile. With
    `vectors_uniform %yes rows`, where that holds too, a lane's own columns are consecutive elements from the indices
    that `rows` yields for the coordinates of the first of them. Two more values of i1 say that all of the lane's
    columns are to be as the first of these elements, or as the last; with `replaces`
    (`vectors_uniform %yes replaces rows`) two more, i1 and the element, replace the row by the element where false.
    What pieces hold before and after these elements lies in the buffer. With `vectors_uniform %yes x_edge_only %alone`,
    where that holds too, no row is moved, nor is it the buffer's first or last: but for the lanes outside, the tile is
    as in the interior. There is no depth then, which may be moved, too.
    """

    name = "warp.load"

    buffer = operand_def(MemRefType)
    indices = var_operand_def(INDEX)
    aligned = opt_operand_def(i1)
    border = opt_operand_def(i1)
    vectors_uniform = opt_operand_def(i1)
    x_edge_only = opt_operand_def(i1)
    pieces = opt_prop_def(UnitAttr)
    partial = opt_prop_def(StringAttr)
    replaces = opt_prop_def(UnitAttr)
    bodies = var_region_def("single_block")
    tile = result_def(TileType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    # many parameters: the operands and properties of the operation
    def __init__(
        self,
        buffer: SSAValue,
        indices: Sequence[SSAValue],
        layout: Layout,
        aligned: SSAValue | None = None,
        border: BorderLoad | None = None,
        *,
        pieces: bool = False,
        partial: Literal["left", "right"] | None = None,
    ):
        assert isinstance(buffer.type, MemRefType)
        at_border = border or BorderLoad(None, None)
        flags = {"pieces": pieces, "replaces": at_border.replaces}
        properties: dict[str, Attribute] = {name: UnitAttr() for name, is_set in flags.items() if is_set}
        if partial is not None:
            properties["partial"] = StringAttr(partial)
        super().__init__(
            operands=[
                buffer,
                list(indices),
                aligned,
                at_border.flag,
                at_border.vectors_uniform,
                at_border.x_edge_only,
            ],
            properties=properties,
            result_types=[TileType(buffer.type.element_type, layout)],
            regions=[[r for r in (at_border.points, at_border.rows) if r is not None]],
        )

    @property
    def points(self) -> Block:
        """Block that computes a point, in border tiles."""
        return self.bodies[0].block

    @property
    def rows(self) -> Block:
        """Block that computes where a lane's row lies, in border tiles where `vectors_uniform` holds."""
        return self.bodies[1].block

    @property
    def fills(self) -> bool:
        """Whether `rows` says where a row is all as its first or as its last element."""
        if self.vectors_uniform is None:
            return False
        return len(yielded(self, self.rows)) > len(self.indices) + (0 if self.replaces is None else 2)

    def verify_(self) -> None:
        layout, type = tile_type(self.tile).spread, self.buffer.type
        assert isinstance(type, MemRefType)
        rank = 2 + len(layout.depth)
        if len(type.get_shape()) != rank or len(self.indices) != rank:
            raise VerifyException(f"warp.load: a tile of {rank} dimensions needs a buffer and indices of as many")
        element = tile_type(self.tile).element
        if element != type.element_type:
            raise VerifyException(f"warp.load: a buffer of {type.element_type} gives no {element}")
        if self.pieces is not None and not can_load_pieces(element, layout.vector):
            raise VerifyException(f"warp.load: {layout.vector} {element} a lane are not loaded in pieces")
        if self.partial is not None:
            if self.pieces is None:
                raise VerifyException("warp.load: partial needs pieces")
            ends = ("right",) if can_cut(element, layout.vector) else ("left", "right")
            if self.partial.data not in ends:
                raise VerifyException(f"warp.load: pieces of {element} are partial at the {' or '.join(ends)}")
        if self.replaces is not None and self.vectors_uniform is None:
            raise VerifyException("warp.load: replaces needs rows; add vectors_uniform")
        if self.vectors_uniform is not None and self.border is None:
            raise VerifyException("warp.load: vectors_uniform needs border; add border")
        if self.x_edge_only is not None and self.vectors_uniform is None:
            raise VerifyException("warp.load: x_edge_only needs vectors_uniform; add vectors_uniform")
        if self.x_edge_only is not None and layout.depth:
            raise VerifyException("warp.load: x_edge_only needs a tile of two dimensions")
        if len(self.bodies) != (self.border is not None) + (self.vectors_uniform is not None):
            raise VerifyException("warp.load: border needs a region points, and vectors_uniform a region rows")
        if self.border is None:
            return
        if self.vectors_uniform is not None and not is_one_access(element, layout.vector):
            raise VerifyException(
                f"warp.load: {layout.vector} {element} a lane are not one access; leave vectors_uniform out"
            )
        for body in self.bodies:
            check_coordinates(self, body.block, layout)
        if self.vectors_uniform is not None:
            row: list[Attribute] = [INDEX] * rank
            replaced: list[Attribute] = [] if self.replaces is None else [i1, element]
            if yielded(self, self.rows) not in ([*row, *replaced], [*row, i1, i1, *replaced]):
                last = f", and i1 and {element}" if replaced else ""
                raise VerifyException(f"warp.load: rows yields {rank} indices, perhaps i1 and i1{last}")
        if yielded(self, self.points) != [element]:
            raise VerifyException(f"warp.load: points yields {element}")

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        buffer = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        aligned = _parse_flag(parser, "aligned")
        pieces = parser.parse_optional_keyword("pieces") is not None
        partial: Literal["left", "right"] | None = None
        if parser.parse_optional_keyword("partial"):
            partial = "left" if parser.parse_optional_keyword("left") else "right"
            if partial == "right":
                parser.parse_keyword("right")
        border = BorderLoad.parse(parser)
        parser.parse_punctuation(":")
        at = parser.pos
        type = parser.parse_type()
        if not isinstance(type, MemRefType):
            parser.raise_error("expected a memref", at)
        parser.parse_punctuation("->")
        at = parser.pos
        tile = parser.parse_type()
        if not isinstance(tile, TileType):
            parser.raise_error("expected a !warp.tile", at)
        operands = [parser.resolve_operand(i, INDEX) for i in indices]
        memory = parser.resolve_operand(buffer, type)
        op = cls(memory, operands, tile.spread, aligned, border, pieces=pieces, partial=partial)
        op.tile.name_hint = None
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.buffer)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        _print_flag(printer, "aligned", self.aligned)
        if self.pieces is not None:
            printer.print_string(" pieces")
        if self.partial is not None:
            printer.print_string(f" partial {self.partial.data}")
        _print_flag(printer, "border", self.border)
        _print_flag(printer, "vectors_uniform", self.vectors_uniform)
        _print_flag(printer, "x_edge_only", self.x_edge_only)
        if self.replaces is not None:
            printer.print_string(" replaces")
        if self.vectors_uniform is not None:
            printer.print_string(" rows ")
            printer.print_region(self.bodies[1])
        if self.border is not None:
            printer.print_string(" points ")
            printer.print_region(self.bodies[0])
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.tile.type)


@irdl_op_definition
class StoreOp(IRDLOperation):
    """`warp.store %a to %out[%j, %i] within [0, 120, 0, 56] border %border : !warp.tile<...>, memref<...>`

    Stores the points with first <= x < end and first <= y < end (relative to the tile; x first). The indices
    are those of the tile's first point. Where `border` holds, points outside the buffer are left out; with
    `vectors_uniform %yes` after it, where that holds too, a lane's own columns from 0 on lie inside or outside
    together. `aligned`, which may stand before it, is as in warp.load. If the first column is less than 0, by d, the
    tile to the right stores the same columns too: then all columns of a row may be stored, or all but up to d at either
    end, as suits the alignment of rows to vectors. With `from %c`, where `border` holds, columns before c are another
    tile's, which this one overlaps: they are not stored, but for those that such a tile on the left leaves to it. With
    `x_edge_only %yes`, where `border` and that hold, too, the tile lies in the buffer, which is wider.
    """

    name = "warp.store"

    tile = operand_def(TileType)
    buffer = operand_def(MemRefType)
    indices = var_operand_def(INDEX)
    aligned = opt_operand_def(i1)
    border = operand_def(i1)
    vectors_uniform = opt_operand_def(i1)
    x_edge_only = opt_operand_def(i1)
    first = opt_operand_def(INDEX)
    box = prop_def(DenseArrayBase)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        tile: SSAValue,
        buffer: SSAValue,
        indices: Sequence[SSAValue],
        within: tuple[tuple[int, int], tuple[int, int]],
        border: BorderStore,
        aligned: SSAValue | None = None,
    ):
        super().__init__(
            operands=[
                tile, buffer, list(indices), aligned,
                border.flag, border.vectors_uniform, border.x_edge_only, border.first,
            ],
            properties={"box": box_property(*within)},
        )  # fmt: skip

    @property
    def within(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """(columns, rows) stored, half-open."""
        return box_of_property(self.box)

    def verify_(self) -> None:
        layout, type = tile_type(self.tile).spread, self.buffer.type
        assert isinstance(type, MemRefType)
        rank = 2 + len(layout.depth)
        if len(type.get_shape()) != rank or len(self.indices) != rank:
            raise VerifyException(f"warp.store: a tile of {rank} dimensions needs a buffer and indices of as many")
        if tile_type(self.tile).element != type.element_type:
            raise VerifyException(f"warp.store: {tile_type(self.tile).element} does not go into {type.element_type}")
        check_box(self, self.box)
        (x0, x1), (y0, y1) = self.within
        lanes = (layout.origin[0], layout.origin[0] + layout.lanes[0] * layout.vector)
        warps = (layout.origin[1] + layout.rows[0], layout.origin[1] + layout.warps[0] * layout.pitch)
        if not lanes[0] <= x0 < x1 <= lanes[1] or not warps[0] <= y0 < y1 <= warps[1]:
            raise VerifyException(
                f"warp.store: the lanes hold columns {list(lanes)} and the warps rows {list(warps)} of the tile"
            )

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        tile = parser.parse_unresolved_operand()
        parser.parse_keyword("to")
        buffer = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        box = parse_box(parser)
        aligned = _parse_flag(parser, "aligned")
        parser.parse_keyword("border")
        flag = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
        border = BorderStore(flag, _parse_flag(parser, "vectors_uniform"), _parse_flag(parser, "x_edge_only"))
        if parser.parse_optional_keyword("from"):
            first = parser.resolve_operand(parser.parse_unresolved_operand(), INDEX)
            border = replace(border, first=first)
        parser.parse_punctuation(":")
        tile_type = parser.parse_type()
        parser.parse_punctuation(",")
        buffer_type = parser.parse_type()
        return cls(
            parser.resolve_operand(tile, tile_type),
            parser.resolve_operand(buffer, buffer_type),
            [parser.resolve_operand(i, INDEX) for i in indices],
            box,
            border,
            aligned,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.tile)
        printer.print_string(" to ")
        printer.print_ssa_value(self.buffer)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        print_box(printer, self.within)
        _print_flag(printer, "aligned", self.aligned)
        _print_flag(printer, "border", self.border)
        _print_flag(printer, "vectors_uniform", self.vectors_uniform)
        _print_flag(printer, "x_edge_only", self.x_edge_only)
        if self.first is not None:
            printer.print_string(" from ")
            printer.print_ssa_value(self.first)
        printer.print_string(" : ")
        printer.print_attribute(self.tile.type)
        printer.print_string(", ")
        printer.print_attribute(self.buffer.type)
