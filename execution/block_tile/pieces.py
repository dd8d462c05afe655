"""Register tiling in x: values that a thread's adjacent points share are loaded once, by vector accesses.

A thread computes a small box of points, `vector` along x. What these read of a function, a box again, goes to
registers first: from global memory by vectors of up to 16 bytes where rows lie at multiples of them, else by scalars;
in border tiles so too where no boundary moves a column, else point by point. Shared memory is laid out so that
vectors always fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from tilefuse.analysis.access import accesses, behind_boundaries
from tilefuse.analysis.index import AnyIndex, BoundedIndex, GeneralIndex, Index, Movement, Span, is_windowed, movement
from tilefuse.analysis.regions import Follow
from tilefuse.analysis.strides import rows_are_contiguous
from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.ops import StageOp
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import PRIVATE, Emitter, Num
from tilefuse.lowering.reads import Resident, TileContext, read_global
from tilefuse.lowering.rows import BorderRow, inside_row

MOST_POINTS_IN_REGISTERS = 48
"""Points of one function that a thread holds in registers; what needs more is read where it is used, as registers are
better spent on more threads (3x3 blur of bytes on an H200, 60 points: 73 us instead of 65). A stage that has as many
points in registers takes their place there."""


def access_width(func: SSAValue, piece: int) -> int:
    """Return the elements of one access of at most 16 bytes that evenly divide a piece."""
    assert isinstance(func.type, FuncType)
    element = func.type.element
    if element == i1:
        return 1
    width = piece
    while width > 1 and (piece % width or width * element_bytes(element) not in (2, 4, 8, 16)):
        width -= 1
    return width


def runs(low: int, high: int, width: int) -> list[tuple[int, int]]:
    """Return (first, count) of aligned accesses that cover exactly the columns low..high."""
    found = []
    while low <= high:
        count = width
        while low % count or low + count > high + 1:
            count //= 2
        found.append((low, count))
        low += count
    return found


@dataclass
class Reader:
    """A stage and the points of it that a thread computes together."""

    stage: StageOp
    follow: Sequence[Follow]
    origin: Sequence[Num]
    """Relative to the block's tile."""
    spans: Sequence[Span]
    """Around `origin`."""
    step: int
    """Divisor of `origin` in x."""
    in_registers: bool = False
    """Whether a thread has the values of all of these points in registers."""

    @property
    def points(self) -> int:
        """Points of a thread."""
        return math.prod(high - low + 1 for low, high in self.spans)


@dataclass
class SharedRows:
    """A stage in shared memory."""

    array: SSAValue
    firsts: Sequence[int]
    """Coordinates of the first element, relative to the tile."""
    strides: Sequence[int]
    """Elements from one to the next, x first."""
    width: int
    """Elements of one access."""

    def index(self, e: Emitter, relative: Sequence[Num]) -> list[Num]:
        """Return the memref indices of a point."""
        result: Num = 0
        for c, first, stride in zip(relative, self.firsts, self.strides, strict=True):
            result = e.add(result, e.mul(e.sub(c, first), stride))
        return [result]


class Alignment:
    """Row alignment per global buffer: whether all pieces of its rows start at multiples of a size.

    Made outside of all loops, where it computes the address bits that each row of each block's tile has in common.
    """

    def __init__(self, e: Emitter):
        self.e = e
        self._bits: dict[SSAValue, SSAValue] = {}
        self._pointers: dict[SSAValue, SSAValue] = {}

    def add(self, func: SSAValue, buffer: KernelBuffer, first: Num) -> None:
        """Record a function that is accessed by pieces, from the absolute column `first`."""
        assert isinstance(func.type, FuncType)
        if not rows_are_contiguous(func):
            return
        e, size = self.e, element_bytes(func.type.element)
        start = e.sub(first, buffer.mins[0])
        bits = self._bits.get(buffer.memref)
        terms: list[Num] = []
        if bits is None:
            metadata = memref.ExtractStridedMetaDataOp(buffer.memref)
            self._pointers[buffer.memref] = e.op(memref.ExtractAlignedPointerAsIndexOp.get(buffer.memref))
            e.effect(metadata)
            terms = [e.mul(n, size) for n in list(metadata.strides)[:-1]]
        terms.append(e.add(self._pointers[buffer.memref], e.mul(start, size)))
        for n in terms:
            bits = e.value(n) if bits is None else e.op(arith.OrIOp(bits, e.value(n)))
        assert bits is not None
        self._bits[buffer.memref] = bits

    def aligned_for(self, func: SSAValue, buffer: KernelBuffer, width: int) -> SSAValue | None:
        """Whether rows are aligned for accesses of `width` elements; None if never."""
        bits = self._bits.get(buffer.memref)
        if bits is None or width == 1:
            return None
        assert isinstance(func.type, FuncType)
        e, size = self.e, width * element_bytes(func.type.element)
        return e.compare("eq", e.op(arith.AndIOp(bits, e.value(size - 1))), 0)

    def choose(self, func: SSAValue, buffer: KernelBuffer, widths: Sequence[int], emit: Callable[[int], None]) -> None:
        """Emit with the widest access of `widths` for which rows are aligned, else with 1 element."""
        condition = self.aligned_for(func, buffer, widths[0]) if widths else None
        if condition is None:
            emit(1)
            return
        self.e.choose(condition, lambda: emit(widths[0]), lambda: self.choose(func, buffer, widths[1:], emit))


def access_widths(func: SSAValue, piece: int) -> list[int]:
    """Return `access_width` and its halves: rows of pictures of even width are aligned to two elements."""
    widths = [access_width(func, piece)]
    while widths[-1] > 2:
        widths.append(widths[-1] // 2)
    return widths


@contextmanager
def unrolled(e: Emitter, sizes: Sequence[int]) -> Iterator[list[Num]]:
    """Unroll the loops over a box, x innermost."""
    with ExitStack() as stack:
        k: list[Num] = [0] * len(sizes)
        for d in reversed(range(len(sizes))):
            k[d] = stack.enter_context(e.loop(sizes[d], f"k{letter(d)}", unroll=True))
        yield k


@dataclass
class _Window:
    """The box of a function that a thread's points read."""

    follow: list[Follow]
    origin: list[Num]
    spans: list[Span]
    step: int
    """Step of which `origin` is a multiple in x."""
    most: int
    """Points up to which they are worth registers."""

    def grow(self, other: _Window) -> bool:
        """Extend the box by another; return False if it follows the tile differently."""
        if self.follow != other.follow or self.origin != other.origin:
            return False
        self.spans = [(min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(self.spans, other.spans, strict=True)]
        self.step, self.most = math.gcd(self.step, other.step), max(self.most, other.most)
        return True

    @property
    def extents(self) -> list[int]:
        return [high - low + 1 for low, high in self.spans]

    @property
    def points(self) -> int:
        result = 1
        for n in self.extents:
            result *= n
        return result


def _window(e: Emitter, reader: Reader, indices: Sequence[AnyIndex]) -> _Window | None:
    first = indices[0] if indices else None
    step = reader.step * first.num if isinstance(first, Index) and first.var == 0 else reader.step
    window = _Window([], [], [], abs(step), max(MOST_POINTS_IN_REGISTERS, reader.points * reader.in_registers))
    for index in indices:
        if isinstance(index, Index) and index.var is not None and index.den == 1:
            via = reader.follow[index.var]
            window.follow.append(times(via, index.num))
            window.origin.append(e.mul(reader.origin[index.var], index.num))
            window.spans.append(index.span(reader.spans))
        elif isinstance(index, BoundedIndex) or (isinstance(index, Index) and index.var is None):
            window.follow.append(Follow(None))
            window.origin.append(0)
            window.spans.append(index.span(()))
        else:
            return None
    return window


def moves_by_pieces(follow: Follow) -> bool:
    """Whether columns begin at a multiple of any piece for tiles that do."""
    return follow.dim == 0 and follow.ratio.denominator == 1


def reads_by_pieces(stage: StageOp, follow: Sequence[Follow]) -> bool:
    """Whether all reads of a stage that move with x are contiguous in memory, data-dependent ones aside."""
    windowed = False
    for access in accesses(stage):
        if is_windowed(access.indices):
            windowed = True
        elif any(_runs_along_x(i) for i in access.indices):
            return False
    return (windowed or not _looks_up(stage)) and moves_by_pieces(follow[0])


def _runs_along_x(index: AnyIndex) -> bool:
    return not index.data_dependent if isinstance(index, GeneralIndex) else isinstance(index, Index) and index.var == 0


def _looks_up(stage: StageOp) -> bool:
    return any(isinstance(i, GeneralIndex) for access in accesses(stage) for i in access.indices)


def pieced_inputs(
    stages: Sequence[StageOp], follow: Mapping[StageOp, Sequence[Follow]]
) -> Iterator[tuple[SSAValue, Follow]]:
    """Return the outside functions that may be read by pieces, with how their columns follow the tile."""
    inside = {f for s in stages for f in s.funcs}
    for stage in stages:
        for access in accesses(stage):
            base = access.base
            if base not in inside and is_windowed(access.indices) and moves_by_pieces(follow[stage][0]):
                yield base, times(follow[stage][0], access.indices[0].num)  # type: ignore[union-attr]


def times(follow: Follow, number: int) -> Follow:
    """Scale how a coordinate follows the tile by `number`."""
    return follow if number == 1 or follow.dim is None else Follow(follow.dim, follow.ratio * number)


def windows(e: Emitter, readers: Sequence[Reader]) -> dict[tuple[SSAValue, Movement], _Window]:
    """Return the windows that the points of `readers` read, by function (boundaries included) and direction."""
    found: dict[tuple[SSAValue, Movement], _Window | None] = {}
    for reader in readers:
        for access in accesses(reader.stage):
            of = movement(access.indices)
            if of is None or not is_windowed(access.indices):
                continue
            source, window = (access.function, of), _window(e, reader, access.indices)
            if window is None or not moves_by_pieces(window.follow[0]):
                found[source] = None
            elif source not in found:
                found[source] = window
            elif (old := found[source]) is not None and not old.grow(window):
                found[source] = None
    kept: dict[tuple[SSAValue, Movement], _Window] = {}
    points_of: dict[SSAValue, int] = {}
    for (function, of), w in found.items():
        if w is not None and (
            points_of.get(function, 0) + w.points <= MOST_POINTS_IN_REGISTERS
            or MOST_POINTS_IN_REGISTERS < w.points <= w.most
        ):
            points_of[function] = points_of.get(function, 0) + w.points
            kept[function, of] = w
    return kept


class Gather:
    """Emit the piecewise loads of one group."""

    def __init__(
        self,
        e: Emitter,
        tile: TileContext,
        alignment: Alignment,
        shared: Mapping[SSAValue, SharedRows],
        piece: int,
    ):
        self.e, self.tile, self.alignment, self.shared, self.piece = e, tile, alignment, shared, piece

    def load(self, readers: Sequence[Reader]) -> dict[tuple[SSAValue, Movement], Resident]:
        """Load all points that `readers` read, where pieces help; return them by function and direction."""
        loaded: dict[tuple[SSAValue, Movement], Resident] = {}
        for (source, of), window in windows(self.e, readers).items():
            base, boundaries = behind_boundaries(source)
            if base in self.shared:
                # a mask that not all readers share is applied as each reads
                if not boundaries or base in self.tile.masks:
                    loaded[source, of] = self._shared(source, self.shared[base], window)
            elif base in self.tile.buffers and source not in self.tile.cached:
                loaded[source, of] = self._global(source, window)
        return loaded

    def _array(self, source: SSAValue, window: _Window) -> tuple[SSAValue, Resident]:
        e = self.e
        assert isinstance(source.type, FuncType)
        name = source.name_hint or behind_boundaries(source)[0].name_hint or "in"
        array = e.alloca(window.extents[::-1], source.type.storage, PRIVATE, f"p_{name}")

        def load(e: Emitter, relative: Sequence[Num]) -> SSAValue:
            at = [e.sub(e.sub(c, o), low) for c, o, (low, _) in zip(relative, window.origin, window.spans, strict=True)]
            return e.load(array, at[::-1])

        return array, Resident(load)

    def _rows(self, window: _Window, row: Callable[[list[Num]], None]) -> None:
        """Emit `row` for the row at each further coordinate, counted from the window's first."""
        with unrolled(self.e, [1, *window.extents[1:]]) as k:
            row(k)

    def _at(self, window: _Window, k: Sequence[Num], column: Num) -> list[Num]:
        """Return the tile-relative coordinates of row `k`, `column` columns from the piece's origin."""
        e = self.e
        rest = zip(window.origin[1:], k[1:], window.spans[1:], strict=True)
        return [e.add(window.origin[0], column), *(e.add(o, e.add(c, low)) for o, c, (low, _) in rest)]

    def _fill(
        self, array: SSAValue, window: _Window, width: int, memory: SSAValue, index: Callable[[list[Num]], list[Num]]
    ) -> None:
        """Load a window by accesses of `width` elements, and narrower ones at its ends."""
        e = self.e
        low, high = window.spans[0]

        def row(k: list[Num]) -> None:
            rest = [*k[1:]][::-1]
            if width == 1:
                with e.loop(high + 1 - low, "kx", unroll=True) as x:
                    value = e.load(memory, index(self._at(window, k, e.add(x, low))))
                    e.store(value, array, [*rest, x])
                return
            for first, count in runs(low, high, width):
                where = index(self._at(window, k, first))
                for v, value in enumerate(e.load_vector(memory, where, count)):
                    e.store(value, array, [*rest, first - low + v])

        self._rows(window, row)

    def _shared(self, source: SSAValue, rows: SharedRows, window: _Window) -> Resident:
        array, resident = self._array(source, window)
        self._fill(array, window, rows.width, rows.array, lambda relative: rows.index(self.e, relative))
        return resident

    def _global(self, source: SSAValue, window: _Window) -> Resident:
        e, tile = self.e, self.tile
        base, _ = behind_boundaries(source)
        buffer = tile.buffers[base]
        array, resident = self._array(source, window)
        (low, high), width = window.spans[0], access_width(base, self.piece)

        def absolute(relative: Sequence[Num]) -> list[Num]:
            return [tile.absolute(e, f, c) for f, c in zip(window.follow, relative, strict=True)]

        def guarded() -> None:
            def row(k: list[Num]) -> None:
                with e.loop(high + 1 - low, "kx", unroll=True) as x:
                    where = absolute(self._at(window, k, e.add(x, low)))
                    e.store(read_global(e, tile, source, where, None), array, [*[*k[1:]][::-1], x])

            self._rows(window, row)

        def row_at(k: Sequence[Num]) -> BorderRow | None:
            return inside_row(e, tile, source, absolute(self._at(window, k, low)), high + 1 - low)

        def moved() -> None:
            def row(k: list[Num]) -> None:
                at = row_at(k)
                assert at is not None
                for first, count in runs(low, high, width):
                    where = [*at.index[:-1], e.add(at.index[-1], first - low)]
                    for v, value in enumerate(e.load_vector(buffer.memref, where, count)):
                        kept = value if at.keep is None else e.select(at.keep[0], value, at.keep[1])
                        e.store(kept, array, [*[*k[1:]][::-1], first - low + v])

            self._rows(window, row)

        def border() -> None:
            # most pieces of a border tile lie inside along x: only whole rows of theirs are moved
            fits, row = self.alignment.aligned_for(base, buffer, width), row_at([0] * len(window.spans))
            together = None if fits is None or row is None else e.both(fits, row.vectors_uniform)
            if together is None:
                guarded()
            else:
                e.choose(together, moved, guarded)

        def interior() -> None:
            def fill(width: int) -> None:
                self._fill(array, window, width, buffer.memref, lambda r: buffer.index(absolute(r), e))

            self.alignment.choose(base, buffer, access_widths(base, window.step), fill)

        e.choose(tile.border, border, interior)
        return resident
