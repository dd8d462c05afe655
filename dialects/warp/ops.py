"""Operations on tiles in the registers of a block's warps.

All threads of a block run them together. `lower-warp-tiles` gives them registers, shuffles and shared rows;
for a machine without warps, plain arrays.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IndexType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.parents import HasParentNamed
from tilefuse.dialects.warp.layout import Layout, TileType

INDEX = IndexType()


def tile_type(value: SSAValue) -> TileType:
    """Return the type of a value that is a tile."""
    assert isinstance(value.type, TileType)
    return value.type


def check_coordinates(op: Operation, block: Block, layout: Layout) -> None:
    """Raise VerifyException unless a region takes the coordinates of a point."""
    rank = 2 + len(layout.depth)
    if [a.type for a in block.args] != [INDEX] * rank:
        raise VerifyException(f"{op.name}: its region takes {rank} coordinates of type index, x first")


def yielded(op: Operation, block: Block) -> list[Attribute]:
    """Return the types that a region yields. Raises VerifyException if it does not end in warp.yield."""
    last = block.last_op
    if not isinstance(last, WarpYieldOp):
        raise VerifyException(f"{op.name}: its region must end in warp.yield")
    return [v.type for v in last.values]


@irdl_op_definition
class MapOp(IRDLOperation):
    """Compute tiles point by point.

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
            raise VerifyException("warp.map: all results must have one layout")
        if self.layout.reach != (0, 0):
            raise VerifyException("warp.map: a lane computes its own columns only; use warp.neighbours for others")
        check_coordinates(self, self.body.block, self.layout)
        elements = [t.type.element for t in self.tiles]
        if yielded(self, self.body.block) != elements:
            raise VerifyException(f"warp.map: its region yields {', '.join(map(str, elements))}")


@irdl_op_definition
class WarpYieldOp(IRDLOperation):
    """Yield the values of a region of the warp dialect."""

    name = "warp.yield"

    values = var_operand_def()

    assembly_format = "($values^ `:` type($values))? attr-dict"

    traits = traits_def(IsTerminator(), HasParentNamed("warp.map", "warp.load"))

    def __init__(self, *values: SSAValue):
        super().__init__(operands=[list(values)])


@irdl_op_definition
class AtOp(IRDLOperation):
    """`%v = warp.at %a[-1, 0](%c) : !warp.tile<f32, ...>`: a value of a tile beside the point being computed.

    The offsets are in x and y; the indices of further dimensions are absolute.
    """

    name = "warp.at"

    tile = operand_def(TileType)
    deep = var_operand_def(INDEX)
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
        """Offsets (x, y) of the point that is read."""
        x, y = self.offset.get_values()
        return (int(x), int(y))

    def verify_(self) -> None:
        if len(self.offset) != 2:
            raise VerifyException("warp.at: needs an offset in x and one in y")
        around = self.parent_op()
        if not isinstance(around, MapOp):
            raise VerifyException("warp.at: must be in the region of a warp.map")
        layout, mine = tile_type(self.tile).spread, around.layout
        if self.value.type != tile_type(self.tile).element:
            raise VerifyException(f"warp.at: the tile holds {tile_type(self.tile).element}, not {self.value.type}")
        if not layout.same_threads(mine):
            raise VerifyException("warp.at: the tile is spread otherwise than the one computed from it")
        if layout.packed == mine.packed and layout.pair_stride != mine.pair_stride:
            raise VerifyException(
                f"warp.at: the tile's pairs of columns lie {layout.pair_stride} apart, "
                f"those computed {mine.pair_stride}"
            )
        if len(self.deep) != len(layout.depth):
            raise VerifyException(f"warp.at: the tile has {len(layout.depth)} further dimensions")
        dx, dy = self.offsets
        left, right = layout.reach
        if dx < -left or dx > right:
            columns = list(layout.columns)
            raise VerifyException(f"warp.at: a lane holds columns {columns} of the tile, not those at {dx}")
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
        operands = [parser.resolve_operand(i, INDEX) for i in deep or ()]
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
    """`%b = warp.neighbours %a : !warp.tile<...> -> !warp.tile<...>`: the tile with more columns or rows per lane.

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
        return tile_type(self.wider).spread.rows != tile_type(self.tile).spread.rows

    def verify_(self) -> None:
        old, new = tile_type(self.tile).spread, tile_type(self.wider).spread
        if tile_type(self.tile).element != tile_type(self.wider).element or not new.same_threads(old):
            raise VerifyException("warp.neighbours: only the columns and rows per lane may change")
        if (old.depth, old.packed, old.pair_stride) != (new.depth, new.packed, new.pair_stride) or not new.covers(old):
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
