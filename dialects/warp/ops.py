"""Operations on tiles that lie in the registers of a block's warps.

All threads of a block run them together. `lower-warp-tiles` gives them registers, shuffles and shared rows;
for a machine without warps, plain arrays.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IndexType, MemRefType, UnitAttr, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.warp.layout import Layout, TileType

_INDEX = IndexType()


def _tile_type(value: SSAValue) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def _check_coordinates(op: Operation, block: Block, layout: Layout) -> None:
    rank = 2 + len(layout.depth)
    if [a.type for a in block.args] != [_INDEX] * rank:
        raise VerifyException(f"{op.name}: its region takes {rank} coordinates of type index, x first")


def _yielded(op: Operation, block: Block) -> list[Attribute]:
    last = block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException(f"{op.name}: its region must end in warp.yield")
    return [v.type for v in last.values]


def _parse_flag(parser: Parser, keyword: str) -> SSAValue | None:
    if not parser.parse_optional_keyword(keyword):
        return None
    return parser.resolve_operand(parser.parse_unresolved_operand(), i1)


def _print_flag(printer: Printer, keyword: str, flag: SSAValue | None) -> None:
    if flag is not None:
        printer.print_string(f" {keyword} ")
        printer.print_ssa_value(flag)


@irdl_op_definition
class LoadOp(IRDLOperation):
    """A tile of a buffer in memory.

    ```
    %a = warp.load %in[%j, %i] : memref<?x?xf32> -> !warp.tile<f32, ...>
    %a = warp.load %in[%j, %i] border %border rows {
    ^bb0(%x: index, %y: index):
      ...
      warp.yield %whole, %j1, %i1 : i1, index, index
    } points {
    ^bb0(%x: index, %y: index):
      ...
      warp.yield %v : f32
    } : memref<?x?xf32> -> !warp.tile<f32, ...>
    ```
    The indices are those of the tile's first point, in the memref's order. With `aligned %yes` after them, a lane's
    own columns of a row may be one access where that holds: they start at a multiple of their size. With `words`
    after that, rows are loaded in words elsewhere, which may begin before a lane's columns, and end after them.

    Where `border` holds, a point is what `points` computes of its coordinates relative to the tile; and where `rows`,
    given the coordinates of a lane's first own column in a row, yields true, the lane's own columns are consecutive
    elements from the indices that it yields; that must be the same for all rows. Two more values of i1 say that all of
    the lane's columns are to be as the first of these elements, or as the last; with `replaces` (`border %border
    replaces rows`) two more, i1 and the element, replace the row by the element where false. With `plain` before that,
    points inside the buffer are its elements in border tiles too, so that warps all of whose points are may load them.
    """

    name = "warp.load"

    buffer = operand_def(MemRefType)
    indices = var_operand_def(_INDEX)
    aligned = opt_operand_def(i1)
    border = opt_operand_def(i1)
    words = opt_prop_def(UnitAttr)
    plain = opt_prop_def(UnitAttr)
    replaces = opt_prop_def(UnitAttr)
    bodies = var_region_def("single_block")
    tile = result_def(TileType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        buffer: SSAValue,
        indices: Sequence[SSAValue],
        layout: Layout,
        aligned: SSAValue | None = None,
        border: SSAValue | None = None,
        rows: Region | None = None,
        points: Region | None = None,
        *,
        words: bool = False,
        plain: bool = False,
        replaces: bool = False,
    ):
        assert isinstance(buffer.type, MemRefType)
        flags = {"words": words, "plain": plain, "replaces": replaces}
        super().__init__(
            operands=[buffer, list(indices), aligned, border],
            properties={name: UnitAttr() for name, is_set in flags.items() if is_set},
            result_types=[TileType(buffer.type.element_type, layout)],
            regions=[[r for r in (rows, points) if r is not None]],
        )

    @property
    def rows(self) -> Block:
        """What says where a lane's row lies, in border tiles."""
        return self.bodies[0].block

    @property
    def points(self) -> Block:
        """What computes a point, in border tiles."""
        return self.bodies[1].block

    @property
    def fills(self) -> bool:
        """Whether `rows` says where a row is all as its first or as its last element."""
        if self.border is None:
            return False
        return len(_yielded(self, self.rows)) > 1 + len(self.indices) + (0 if self.replaces is None else 2)

    def verify_(self) -> None:
        layout, type = _tile_type(self.tile).spread, self.buffer.type
        assert isinstance(type, MemRefType)
        rank = 2 + len(layout.depth)
        if len(type.get_shape()) != rank or len(self.indices) != rank:
            raise VerifyException(f"warp.load: a tile of {rank} dimensions needs a buffer and indices of as many")
        element = _tile_type(self.tile).element
        if element != type.element_type:
            raise VerifyException(f"warp.load: a buffer of {type.element_type} gives no {element}")
        if (self.border is not None) != (len(self.bodies) == 2):
            raise VerifyException("warp.load: border comes with two regions, rows and points")
        if self.border is None:
            for name, flag in (("plain", self.plain), ("replaces", self.replaces)):
                if flag is not None:
                    raise VerifyException(f"warp.load: {name} is said of border tiles; add border")
            return
        for block in (self.rows, self.points):
            _check_coordinates(self, block, layout)
        row: list[Attribute] = [i1, *[_INDEX] * rank]
        replaced: list[Attribute] = [] if self.replaces is None else [i1, element]
        if _yielded(self, self.rows) not in ([*row, *replaced], [*row, i1, i1, *replaced]):
            last = f", and i1 and {element}" if replaced else ""
            raise VerifyException(f"warp.load: rows yields i1, {rank} indices, perhaps i1 and i1{last}")
        if _yielded(self, self.points) != [element]:
            raise VerifyException(f"warp.load: points yields {element}")

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        buffer = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        aligned = _parse_flag(parser, "aligned")
        words = parser.parse_optional_keyword("words") is not None
        border = rows = points = None
        plain = replaces = False
        if parser.parse_optional_keyword("border"):
            border = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
            plain = parser.parse_optional_keyword("plain") is not None
            replaces = parser.parse_optional_keyword("replaces") is not None
            parser.parse_keyword("rows")
            rows = parser.parse_region()
            parser.parse_keyword("points")
            points = parser.parse_region()
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
        operands = [parser.resolve_operand(i, _INDEX) for i in indices]
        memory = parser.resolve_operand(buffer, type)
        op = cls(
            memory, operands, tile.spread, aligned, border, rows, points, words=words, plain=plain, replaces=replaces
        )
        op.tile.name_hint = None
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.buffer)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        _print_flag(printer, "aligned", self.aligned)
        if self.words is not None:
            printer.print_string(" words")
        if self.border is not None:
            printer.print_string(" border ")
            printer.print_ssa_value(self.border)
            for name, flag in (("plain", self.plain), ("replaces", self.replaces)):
                if flag is not None:
                    printer.print_string(f" {name}")
            for keyword, body in zip(("rows", "points"), self.bodies, strict=True):
                printer.print_string(f" {keyword} ")
                printer.print_region(body)
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.tile.type)


@irdl_op_definition
class MapOp(IRDLOperation):
    """Tiles computed point by point.

    ```
    %b = warp.map {
    ^bb0(%x: index, %y: index):
      %l = warp.at %a[-1, 0] : !warp.tile<f32, ...>
      ...
      warp.yield %v : f32
    } : !warp.tile<f32, ...>
    ```
    The region's arguments are the coordinates relative to the block's tile. Dead lanes and rows take part:
    what they compute is never stored, and must not be used as an address unless its range is known.
    """

    name = "warp.map"

    body = region_def("single_block")
    tiles = var_result_def(TileType)

    assembly_format = "$body attr-dict `:` type($tiles)"

    def __init__(self, body: Region, elements: Sequence[Attribute], layout: Layout):
        super().__init__(regions=[body], result_types=[[TileType(e, layout) for e in elements]])

    @property
    def layout(self) -> Layout:
        """The layout of all its results."""
        return self.tiles[0].type.spread

    def verify_(self) -> None:
        if not self.tiles:
            raise VerifyException("warp.map: needs a result")
        if any(t.type.spread != self.layout for t in self.tiles):
            raise VerifyException("warp.map: all results have one layout")
        if self.layout.reach != (0, 0):
            raise VerifyException("warp.map: a lane computes its own columns only; use warp.neighbours for others")
        _check_coordinates(self, self.body.block, self.layout)
        elements = [t.type.element for t in self.tiles]
        if _yielded(self, self.body.block) != elements:
            raise VerifyException(f"warp.map: its region yields {', '.join(map(str, elements))}")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The values of a region of the warp dialect."""

    name = "warp.yield"

    values = var_operand_def()

    assembly_format = "($values^ `:` type($values))? attr-dict"

    traits = traits_def(IsTerminator(), HasParent(MapOp, LoadOp))

    def __init__(self, *values: SSAValue):
        super().__init__(operands=[list(values)])


@irdl_op_definition
class AtOp(IRDLOperation):
    """`%v = warp.at %a[-1, 0](%c) : !warp.tile<f32, ...>`: a value of a tile beside the point being computed.

    The offsets are in x and y; the indices of further dimensions are absolute.
    """

    name = "warp.at"

    tile = operand_def(TileType)
    deep = var_operand_def(_INDEX)
    offset = prop_def(DenseArrayBase)
    value = result_def()

    traits = traits_def(Pure())

    def __init__(self, tile: SSAValue, offset: tuple[int, int], deep: Sequence[SSAValue] = ()):
        assert isinstance(tile.type, TileType)
        super().__init__(
            operands=[tile, list(deep)],
            properties={"offset": DenseArrayBase.from_list(i64, list(offset))},
            result_types=[tile.type.element],
        )

    @property
    def offsets(self) -> tuple[int, int]:
        """(x, y)"""
        x, y = self.offset.get_values()
        return (int(x), int(y))

    def verify_(self) -> None:
        if len(self.offset) != 2:
            raise VerifyException("warp.at: needs an offset in x and one in y")
        around = self.parent_op()
        if not isinstance(around, MapOp):
            raise VerifyException("warp.at: stands in the region of a warp.map")
        layout, mine = _tile_type(self.tile).spread, around.layout
        if self.value.type != _tile_type(self.tile).element:
            raise VerifyException(f"warp.at: the tile holds {_tile_type(self.tile).element}, not {self.value.type}")
        if not layout.same_threads(mine):
            raise VerifyException("warp.at: the tile is spread otherwise than the one computed from it")
        if len(self.deep) != len(layout.depth):
            raise VerifyException(f"warp.at: the tile has {len(layout.depth)} further dimensions")
        dx, dy = self.offsets
        left, right = layout.reach
        if dx < -left or dx > right:
            held = list(layout.columns)
            raise VerifyException(f"warp.at: a lane holds columns {held} of the tile, not those at {dx}")
        if mine.rows[0] + dy < layout.rows[0] or mine.rows[1] + dy > layout.rows[1]:
            raise VerifyException(
                f"warp.at: rows {list(mine.rows)} read rows at {dy}, but the tile holds rows {list(layout.rows)}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> AtOp:
        tile = parser.parse_unresolved_operand()
        at = parser.pos
        offset = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        if len(offset) != 2:
            parser.raise_error("expected an offset in x and one in y", at)
        deep = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_punctuation(":")
        at = parser.pos
        type = parser.parse_type()
        if not isinstance(type, TileType):
            parser.raise_error("expected a !warp.tile", at)
        operands = [parser.resolve_operand(i, _INDEX) for i in deep or ()]
        return cls(parser.resolve_operand(tile, type), (offset[0], offset[1]), operands)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.tile)
        printer.print_string("[{}, {}]".format(*self.offsets))
        if self.deep:
            with printer.in_parens():
                printer.print_list(self.deep, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_attribute(self.tile.type)


@irdl_op_definition
class NeighboursOp(IRDLOperation):
    """`%b = warp.neighbours %a : !warp.tile<...> -> !warp.tile<...>`: the same tile, with more held per lane.

    Columns come from the neighbouring lanes, by shuffles; rows from the neighbouring warps, through shared
    memory. What would come from outside the block is undefined.
    """

    name = "warp.neighbours"

    tile = operand_def(TileType)
    wider = result_def(TileType)

    assembly_format = "$tile attr-dict `:` type($tile) `->` type($wider)"
    traits = traits_def(Pure())

    def __init__(self, tile: SSAValue, layout: Layout):
        assert isinstance(tile.type, TileType)
        super().__init__(operands=[tile], result_types=[TileType(tile.type.element, layout)])

    @property
    def exchanges_rows(self) -> bool:
        """Whether rows come from other warps."""
        return _tile_type(self.wider).spread.rows != _tile_type(self.tile).spread.rows

    def verify_(self) -> None:
        old, new = _tile_type(self.tile).spread, _tile_type(self.wider).spread
        if _tile_type(self.tile).element != _tile_type(self.wider).element or not new.same_threads(old):
            raise VerifyException("warp.neighbours: only the columns and rows held may change")
        if old.depth != new.depth or old.packed != new.packed or not new.covers(old):
            raise VerifyException("warp.neighbours: the result holds all that the operand does")
        if max(new.reach) > new.vector * new.lanes[0]:
            raise VerifyException("warp.neighbours: columns come from the same warp")
        if self.exchanges_rows:
            if old.rows != (0, old.pitch):
                raise VerifyException(
                    f"warp.neighbours: a warp gives its own rows, [0, {old.pitch}], not {list(old.rows)}"
                )
            if new.rows[0] < -old.pitch or new.rows[1] > 2 * old.pitch:
                raise VerifyException(
                    f"warp.neighbours: rows {list(new.rows)} reach beyond the neighbouring warps, of {old.pitch} rows"
                )


@irdl_op_definition
class StoreOp(IRDLOperation):
    """`warp.store %a to %out[%j, %i] within [0, 120, 0, 56] border %border : !warp.tile<...>, memref<...>`

    Stores the points with first <= x < end and first <= y < end (relative to the tile; x first). The indices
    are those of the tile's first point. Where `border` holds, points outside the buffer are left out. `aligned`,
    which may stand before it, is as in warp.load. If the first column is less than 0, by d, the tile to the right
    stores the same columns too: then all columns of a row may be stored, or all but up to d at either end, as suits
    where vectors lie in memory.
    """

    name = "warp.store"

    tile = operand_def(TileType)
    buffer = operand_def(MemRefType)
    indices = var_operand_def(_INDEX)
    aligned = opt_operand_def(i1)
    border = operand_def(i1)
    box = prop_def(DenseArrayBase)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        tile: SSAValue,
        buffer: SSAValue,
        indices: Sequence[SSAValue],
        columns: tuple[int, int],
        rows: tuple[int, int],
        border: SSAValue,
        aligned: SSAValue | None = None,
    ):
        super().__init__(
            operands=[tile, buffer, list(indices), aligned, border],
            properties={"box": DenseArrayBase.from_list(i64, [*columns, *rows])},
        )

    @property
    def within(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """(columns, rows) stored, half-open."""
        x0, x1, y0, y1 = (int(v) for v in self.box.get_values())
        return (x0, x1), (y0, y1)

    def verify_(self) -> None:
        layout, type = _tile_type(self.tile).spread, self.buffer.type
        assert isinstance(type, MemRefType)
        rank = 2 + len(layout.depth)
        if len(type.get_shape()) != rank or len(self.indices) != rank:
            raise VerifyException(f"warp.store: a tile of {rank} dimensions needs a buffer and indices of as many")
        if _tile_type(self.tile).element != type.element_type:
            raise VerifyException(f"warp.store: {_tile_type(self.tile).element} does not go into {type.element_type}")
        if len(self.box) != 4:
            raise VerifyException("warp.store: within is [x first, x end, y first, y end]")
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
        parser.parse_keyword("within")
        at = parser.pos
        box = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        if len(box) != 4:
            parser.raise_error("expected [x first, x end, y first, y end]", at)
        aligned = _parse_flag(parser, "aligned")
        parser.parse_keyword("border")
        border = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
        parser.parse_punctuation(":")
        tile_type = parser.parse_type()
        parser.parse_punctuation(",")
        buffer_type = parser.parse_type()
        return cls(
            parser.resolve_operand(tile, tile_type),
            parser.resolve_operand(buffer, buffer_type),
            [parser.resolve_operand(i, _INDEX) for i in indices],
            (box[0], box[1]),
            (box[2], box[3]),
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
        (x0, x1), (y0, y1) = self.within
        printer.print_string(f" within [{x0}, {x1}, {y0}, {y1}]")
        _print_flag(printer, "aligned", self.aligned)
        _print_flag(printer, "border", self.border)
        printer.print_string(" : ")
        printer.print_attribute(self.tile.type)
        printer.print_string(", ")
        printer.print_attribute(self.buffer.type)
