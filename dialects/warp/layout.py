"""Layout of a tile over lanes, registers and warps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import f32, i8, i16
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

HalfOpen = tuple[int, int]
"""(first, end): a half-open interval."""


@dataclass(frozen=True)
class Layout:
    """Mapping of points of the grid to the registers of a warp's lanes.

    Lane l of warp w holds the columns origin x + l * vector + `columns` and the rows origin y + w * pitch +
    `rows`, counted from the first point of the block's tile; and all of `depth`, the further dimensions.
    Columns 0 to vector and rows 0 to pitch are its own; others are copies of its neighbours'.
    """

    origin: tuple[int, int]
    """(x, y) of lane 0's and warp 0's first own point, relative to the tile."""
    lanes: tuple[int, int]
    """Lanes of a warp, and the consecutive columns of each."""
    warps: tuple[int, int]
    """Warps of a block, and the consecutive rows of each."""
    columns: HalfOpen
    rows: HalfOpen
    depth: tuple[HalfOpen, ...] = ()
    packed: int = 1
    """Points in one register: with 2, a lane's columns c and c + `pair_stride` are the 16-bit halves of one."""
    pair_stride: int = 0
    """Columns from one point of a register to the other: half of `vector`, if not given, or a part of it."""

    def __post_init__(self) -> None:
        if self.packed == 2 and not self.pair_stride:
            object.__setattr__(self, "pair_stride", self.vector // 2)

    @property
    def vector(self) -> int:
        """Columns that a lane owns."""
        return self.lanes[1]

    @property
    def pitch(self) -> int:
        """Rows that a warp owns."""
        return self.warps[1]

    @property
    def reach(self) -> tuple[int, int]:
        """Columns in registers to the left and right of a lane's own."""
        return (-self.columns[0], self.columns[1] - self.vector)

    @property
    def height(self) -> int:
        """Rows that a lane holds."""
        return self.rows[1] - self.rows[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Register array of a lane: further dimensions (last one first), rows, columns or pairs of columns."""
        return (*(b - a for a, b in reversed(self.depth)), self.height, self.width)

    @property
    def width(self) -> int:
        """Registers of a lane per row: one for each column at which a packed register may begin.

        Some of these stay without value where pairs lie closer than half of a lane's columns: see `between`.
        """
        return self.vector - self.pair_stride + sum(self.reach)

    @property
    def starts(self) -> tuple[int, ...]:
        """The columns at which a lane's own registers begin; only copied pairs begin in between."""
        return tuple(
            c for c in range(self.vector) if not self.pair_stride or c % (2 * self.pair_stride) < self.pair_stride
        )

    @property
    def dense(self) -> bool:
        """Whether a lane's own registers are adjacent, and so are all registers of a row."""
        return 2 * self.pair_stride in (0, self.vector)

    @property
    def between(self) -> frozenset[int]:
        """The columns at which copied registers begin, within a lane's own columns and beside them."""
        left, right = self.reach
        return frozenset(c + d for c in self.starts for d in range(-left, right + 1)) - frozenset(self.starts)

    def parts(self, start: int) -> tuple[int, ...]:
        """Return the starts of the one or two own registers, of any lane, that the register at `start` consists of.

        That one, or two: the second half of the first and the first half of the second.
        """
        return (start,) if start % self.vector in self.starts else (start - self.pair_stride, start + self.pair_stride)

    def same_threads(self, other: Layout) -> bool:
        """Whether two tiles are distributed over lanes and warps in the same manner."""
        return (self.origin, self.lanes, self.warps) == (other.origin, other.lanes, other.warps)

    def covers(self, other: Layout) -> bool:
        """Whether a lane's points here include all of its points there."""
        pairs = zip((self.columns, self.rows, *self.depth), (other.columns, other.rows, *other.depth), strict=True)
        return len(self.depth) == len(other.depth) and all(a[0] <= b[0] and b[1] <= a[1] for a, b in pairs)

    def with_spans(self, columns: HalfOpen | None = None, rows: HalfOpen | None = None) -> Layout:
        """Return a layout of the same threads, with other columns or rows per lane."""
        return replace(self, columns=columns or self.columns, rows=rows or self.rows)


@irdl_attr_definition
class LayoutAttr(Data[Layout]):
    """`#warp.layout<origin = [-4, -1], lanes = [32, 4], warps = [8, 8], columns = [-1, 5], rows = [-1, 9]>`.

    See `Layout`; `depth = [[0, 3]]` follows where there are further dimensions, `packed = 2` where two points
    share a register, and `pair_stride = 2` after that where these are not half of a lane's columns apart.
    """

    name = "warp.layout"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Layout:
        def pair() -> tuple[int, int]:
            at = parser.pos
            found = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            if len(found) != 2:
                parser.raise_error("expected two integers", at)
            return (found[0], found[1])

        def named(key: str) -> tuple[int, int]:
            parser.parse_keyword(key)
            parser.parse_punctuation("=")
            return pair()

        with parser.in_angle_brackets():
            values: list[tuple[int, int]] = []
            for i, key in enumerate(("origin", "lanes", "warps", "columns", "rows")):
                if i:
                    parser.parse_punctuation(",")
                values.append(named(key))
            depth: Sequence[tuple[int, int]] = ()
            packed, pair_stride = 1, 0
            while parser.parse_optional_punctuation(","):
                if not depth and parser.parse_optional_keyword("depth"):
                    parser.parse_punctuation("=")
                    depth = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, pair)
                    continue
                parser.parse_keyword("packed")
                parser.parse_punctuation("=")
                packed = parser.parse_integer()
                if parser.parse_optional_punctuation(","):
                    parser.parse_keyword("pair_stride")
                    parser.parse_punctuation("=")
                    pair_stride = parser.parse_integer()
                break
        origin, lanes, warps, columns, rows = values
        return Layout(origin, lanes, warps, columns, rows, depth=tuple(depth), packed=packed, pair_stride=pair_stride)

    def print_parameter(self, printer: Printer) -> None:
        a = self.data
        pairs = {
            "origin": a.origin, "lanes": a.lanes, "warps": a.warps, "columns": a.columns, "rows": a.rows,
        }  # fmt: skip
        text = ", ".join(f"{key} = [{x}, {y}]" for key, (x, y) in pairs.items())
        if a.depth:
            text += f", depth = [{', '.join(f'[{x}, {y}]' for x, y in a.depth)}]"
        if a.packed != 1:
            text += f", packed = {a.packed}"
        if not a.dense:
            text += f", pair_stride = {a.pair_stride}"
        printer.print_string(f"<{text}>")

    def verify(self) -> None:
        a = self.data
        if min(*a.lanes, *a.warps) < 1:
            raise VerifyException("lanes and warps, and the points of each, must be positive")
        if a.lanes[0] & (a.lanes[0] - 1) or a.lanes[0] > 64:
            raise VerifyException(f"the number of lanes must be a power of two, at most 64, not {a.lanes[0]}")
        for low, high in (a.columns, a.rows, *a.depth):
            if low >= high:
                raise VerifyException(f"[{low}, {high}] is empty; a span is [first, end]")
        if a.columns[0] > 0 or a.columns[1] < a.vector:
            raise VerifyException(f"columns {list(a.columns)} must contain a lane's own columns, [0, {a.vector}]")
        if a.packed not in (1, 2):
            raise VerifyException(f"packed must be 1 or 2, not {a.packed}")
        if a.packed == 2 and a.vector % 2:
            raise VerifyException(f"packed = 2 needs an even number of columns per lane, not {a.vector}")
        if a.pair_stride and (a.packed == 1 or a.pair_stride < 0 or a.vector % (2 * a.pair_stride)):
            raise VerifyException(
                f"pair_stride = {a.pair_stride} says how far the two points of a register lie from each other: "
                f"it takes packed = 2, and pairs that fill a lane's {a.vector} columns"
            )
        if a.packed == 2 and max(a.reach) > a.vector - a.pair_stride:
            raise VerifyException(
                f"pairs of columns that lie {a.pair_stride} apart take at most {a.vector - a.pair_stride} of a lane's "
                f"neighbours, not {max(a.reach)}"
            )


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute):
    """`!warp.tile<f32, #warp.layout<...>>`: values of one function, spread over the registers of a block."""

    name = "warp.tile"

    element: Attribute
    layout: LayoutAttr

    def __init__(self, element: Attribute = f32, layout: Layout | LayoutAttr | None = None):
        assert layout is not None
        super().__init__(element, LayoutAttr(layout) if isinstance(layout, Layout) else layout)

    def verify(self) -> None:
        if self.spread.packed == 2 and self.element not in (i8, i16):
            raise VerifyException(f"two points share a register if they have at most 16 bits, not as {self.element}")
        stride = self.spread.pair_stride
        if self.element == i8 and (self.spread.vector % 4 if stride == 1 else stride % 2):
            raise VerifyException(
                "pairs of bytes are neighbours, of whole words, or an even number of columns apart, "
                f"not {stride} of {self.spread.vector}"
            )

    @property
    def spread(self) -> Layout:
        """The layout."""
        return self.layout.data
