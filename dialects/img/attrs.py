"""Attributes of the img dialect: boundary kinds, boxes, and the schedule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import DenseArrayBase, IntAttr, StringAttr, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Data, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum


class BoundaryKind(StrEnum):
    """How a function continues outside its box; the names and meanings are Halide's BoundaryConditions."""

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
    """Where the values of a stage live between producer and consumer."""

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
                f"a stage computed per {level.value} cannot live in {memory.value} memory; use "
                + ", ".join(sorted(f"{lv.value}/{m.value}" for lv, m in _PLACES))
            )
        if (self.pad.data or self.slot.data) and memory is not Memory.Shared:
            raise VerifyException(f"only shared memory has slots and padding, not {memory.value} memory")


MOST_TILE = 1 << 20
"""Points of a tile in one dimension: where a tile ends, which may be outside of the picture, is a 32-bit number."""


@irdl_attr_definition
class ScheduleAttr(ParametrizedAttribute):
    """`#img.schedule<warp_tile, tile = [120, 28], threads = [32, 8], vector = 4, blocks = 3>`: how a group runs.

    `tile`: points of the group's output that one block computes, per dimension, x first. `threads`: threads
    of a block per dimension (for warp_tile: lanes in x, warps in y).
    `vector`: consecutive x-points that a thread loads, computes and stores together. `blocks`: how many blocks
    the compiler has to leave registers for on a multiprocessor; 0 for what it likes.

    `unroll = [2, 4]`, for block_tile: how many rounds of a thread's loop over each dimension are written out, x
    first. A thread has `tile / threads` points; in x a round is `vector` of them, in the other dimensions one. Rows
    that are written out are computed together, and what they read in common is loaded once. Left out: all rounds, but
    one in a block of a single thread, whose loop over x the compiler vectorises.

    `stream = 4`, for block_tile: a block computes up to 4 tiles one after the other along y. Inputs that are stages of
    the group in shared memory then have two places there: the next tile's are copied while the present is computed.

    `ahead = 23`, for warp_tile: the blocks of 23 rows of tiles run at once. Those of the first 23 rows ask for what
    lies in their tiles of the pipeline's inputs to come to the L2 cache before they wait for the kernels before to end;
    each block, when it has begun its own loads, asks for what lies in the tile 23 rows of tiles below.
    """

    name = "img.schedule"

    execution: StringAttr
    tile: Attribute
    threads: Attribute
    vector: IntAttr
    unroll: Attribute
    blocks: IntAttr
    stream: IntAttr
    ahead: IntAttr

    def __init__(
        self,
        model: str,
        tile: Sequence[int],
        threads: Sequence[int],
        vector: int = 1,
        blocks: int = 0,
        unroll: Sequence[int] = (),
        stream: int = 1,
        ahead: int = 0,
    ):
        super().__init__(
            StringAttr(model),
            DenseArrayBase.from_list(i64, list(tile)),
            DenseArrayBase.from_list(i64, list(threads)),
            IntAttr(vector),
            DenseArrayBase.from_list(i64, list(unroll)),
            IntAttr(blocks),
            IntAttr(stream),
            IntAttr(ahead),
        )

    @property
    def model(self) -> str:
        """The execution model, by name."""
        return self.execution.data

    @property
    def tile_sizes(self) -> tuple[int, ...]:
        """Points per tile, x first."""
        return tuple(int(v) for v in self.tile.get_values())  # type: ignore[attr-defined]

    @property
    def thread_counts(self) -> tuple[int, ...]:
        """Threads per block, x first; as many entries as the tile has."""
        return tuple(int(v) for v in self.threads.get_values())  # type: ignore[attr-defined]

    @property
    def vector_width(self) -> int:
        """Consecutive x-points per thread."""
        return self.vector.data

    @property
    def unroll_factors(self) -> tuple[int, ...]:
        """Rounds of a thread's loops that are written out, x first; empty if all are."""
        return tuple(int(v) for v in self.unroll.get_values())  # type: ignore[attr-defined]

    @property
    def one_thread(self) -> bool:
        """Whether a block is a single thread, as on CPUs."""
        return math.prod(self.thread_counts) == 1

    @property
    def piece(self) -> int:
        """Consecutive x-points that a thread of a block tile computes together."""
        if self.one_thread or not self.tile_sizes:
            return 1
        return max(1, min(self.vector_width, self.tile_sizes[0] // self.thread_counts[0]))

    @property
    def rounds(self) -> tuple[int, ...]:
        """Rounds of a thread's loops over its points of a block tile, x first."""
        points = [size // count for size, count in zip(self.tile_sizes, self.thread_counts, strict=True)]
        return tuple(n if d else n // self.piece for d, n in enumerate(points))

    @property
    def micro_tile(self) -> tuple[int, ...]:
        """Points that a thread of a block tile computes together, x first."""
        if self.one_thread:
            return self.unroll_factors or (1,) * len(self.tile_sizes)
        return (self.piece, *(self.unroll_factors or self.rounds)[1:])[: len(self.tile_sizes)]

    @property
    def resident_blocks(self) -> int:
        """Blocks that a multiprocessor must have registers for; 0 if that is left to the compiler."""
        return self.blocks.data

    @property
    def tiles_per_block(self) -> int:
        """Tiles that a block computes one after the other, along y."""
        return self.stream.data

    @property
    def rows_ahead(self) -> int:
        """Rows of tiles from a block's own tile down to the one whose cache lines it prefetches; 0 for none."""
        return self.ahead.data

    @classmethod
    def new_from(cls, other: Self, **changes: object) -> Self:
        """A copy of `other` with some of its parameters changed, by the names that `__init__` has for them.

        Factors of `unroll` that no longer divide become the largest that do, and `ahead` becomes 0 where other blocks
        run at once.
        """
        values: dict[str, object] = {
            "model": other.model,
            "tile": other.tile_sizes,
            "threads": other.thread_counts,
            "vector": other.vector_width,
            "blocks": other.resident_blocks,
            "stream": other.tiles_per_block,
            "ahead": other.rows_ahead,
        }
        if {"model", "tile", "threads", "vector", "blocks"} & changes.keys():
            values["ahead"] = 0
        new = cls(**(values | {"unroll": ()} | changes))  # type: ignore[arg-type]
        if "unroll" in changes or not other.unroll_factors or new.model != other.model:
            return new
        factors = [math.gcd(f, n) for f, n in zip(other.unroll_factors, new.rounds, strict=True)]
        return cls.new_from(new, unroll=factors)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def int_list() -> list[int]:
            parser.parse_punctuation("=")
            return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)

        with parser.in_angle_brackets():
            model = parser.parse_identifier()
            parser.parse_punctuation(",")
            parser.parse_keyword("tile")
            tile = int_list()
            parser.parse_punctuation(",")
            parser.parse_keyword("threads")
            threads = int_list()
            unroll: list[int] = []
            numbers = {"vector": 1, "blocks": 0, "stream": 1, "ahead": 0}
            while parser.parse_optional_punctuation(","):
                if parser.parse_optional_keyword("unroll"):
                    unroll = int_list()
                    continue
                key = parser.parse_optional_keyword_in(numbers)
                if key is None:
                    parser.raise_error("expected 'vector', 'unroll', 'blocks', 'stream' or 'ahead'")
                parser.parse_punctuation("=")
                numbers[key] = parser.parse_integer(allow_negative=False)
        return cls(model, tile, threads, unroll=unroll, **numbers).parameters

    def print_parameters(self, printer: Printer) -> None:
        def ints(values: Sequence[int]) -> str:
            return "[" + ", ".join(map(str, values)) + "]"

        vector = f", vector = {self.vector_width}" if self.vector_width != 1 else ""
        unroll = f", unroll = {ints(self.unroll_factors)}" if self.unroll_factors else ""
        blocks = f", blocks = {self.resident_blocks}" if self.resident_blocks else ""
        stream = f", stream = {self.tiles_per_block}" if self.tiles_per_block != 1 else ""
        ahead = f", ahead = {self.rows_ahead}" if self.rows_ahead else ""
        printer.print_string(
            f"<{self.model}, tile = {ints(self.tile_sizes)}, "
            f"threads = {ints(self.thread_counts)}{vector}{unroll}{blocks}{stream}{ahead}>"
        )

    def verify(self) -> None:
        tile, threads = self.tile_sizes, self.thread_counts
        if len(tile) != len(threads):
            raise VerifyException(f"tile has {len(tile)} dimensions but threads has {len(threads)}")
        if any(t <= 0 for t in (*tile, *threads)) or self.vector_width <= 0:
            raise VerifyException("tile, threads and vector must be positive")
        if max(tile, default=1) > MOST_TILE:
            raise VerifyException(f"a tile of {max(tile)} points in one dimension is too large; {MOST_TILE} at most")
        if self.tiles_per_block < 1 or (self.tiles_per_block > 1 and len(tile) < 2):
            raise VerifyException("stream is a number of tiles along y, 1 or more")
        if not 0 <= self.rows_ahead * max(tile, default=1) < 1 << 31:
            raise VerifyException(f"ahead = {self.rows_ahead}: a number of rows of tiles, 0 for none")
        if self.rows_ahead and len(tile) < 2:
            raise VerifyException("ahead is a number of rows of tiles, and a row of points has none")
