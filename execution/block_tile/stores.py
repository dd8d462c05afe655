"""Stores of block tiles: from a thread's registers or from shared memory to global memory.

Each stored stage has a box of its own: in border tiles points outside of it are not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from tilefuse.analysis.index import Span
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.block_tile.pieces import Alignment, SharedRows, access_widths, moves_by_pieces, unrolled
from tilefuse.execution.block_tile.share_out import Threads
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.reads import TileContext
from tilefuse.lowering.stored import Stored

Relative = Callable[[Sequence[Num]], list[Num]]
"""Coordinates relative to the tile of a thread's point, counted from its first, x first."""
Value = Callable[[int, Sequence[Num]], SSAValue]
"""The value of that number at such a point."""


def stores_by_pieces(stored: Stored) -> bool:
    """Whether row pieces that are contiguous in a thread are contiguous in memory, too."""
    return bool(stored.follow) and moves_by_pieces(stored.follow[0])


class Stores:
    """Emit the stores of one group."""

    def __init__(
        self,
        e: Emitter,
        tile: TileContext,
        group: GroupOp,
        outputs: Sequence[KernelBuffer],
        alignment: Alignment,
        piece: int,
    ):
        self.e, self.tile, self.group, self.outputs, self.alignment, self.piece = (
            e, tile, group, outputs, alignment, piece,
        )  # fmt: skip

    def store(self, stored: Stored, sizes: Sequence[int], relative: Relative, value: Value) -> None:
        """Store a thread's points: a box of `sizes`, in pieces along x where pieces help."""
        e = self.e

        def absolute(k: Sequence[Num]) -> list[Num]:
            return [self.tile.absolute(e, f, c) for f, c in zip(stored.follow, relative(k), strict=True)]

        if self.piece > 1 and stores_by_pieces(stored) and sizes[0] == self.piece:
            with unrolled(e, [1, *sizes[1:]]) as k:
                self._row(stored, k, absolute, value)
            return
        with unrolled(e, sizes) as k:
            where = absolute(k)
            with e.when(self._needed(stored, where)):
                for i, n in stored.results:
                    buffer = self.outputs[n]
                    e.store(value(i, k), buffer.memref, buffer.index(where, e))

    def store_shared(self, stored: Stored, rows: Sequence[SharedRows], own: Sequence[Span], threads: Threads) -> None:
        """Store a tile's own points, `own`, from shared memory, distributed over the threads."""
        e = self.e
        sizes = [high - low + 1 for low, high in own]
        by_pieces = self.piece > 1 and stores_by_pieces(stored) and not sizes[0] % self.piece
        width = self.piece if by_pieces else 1

        def each(at: Sequence[Num]) -> None:
            first = [e.add(e.mul(at[0], width), own[0][0]), *(e.add(i, low) for i, (low, _) in zip(at[1:], own[1:]))]

            def relative(k: Sequence[Num]) -> list[Num]:
                return [e.add(c, i) for c, i in zip(first, k, strict=True)]

            def value(i: int, k: Sequence[Num]) -> SSAValue:
                return e.load(rows[i].array, rows[i].index(e, relative(k)))

            self.store(stored, [width, *([1] * (len(own) - 1))], relative, value)

        with threads.together() as t:
            threads.walk(t, [sizes[0] // width, *sizes[1:]], each)

    def _row(self, stored: Stored, k: Sequence[Num], absolute: Relative, value: Value) -> None:
        """Store a row piece of every value: by vectors where rows are aligned and the piece lies in the stage's box."""
        e = self.e
        rest = list(k[1:])

        def scalars() -> None:
            with e.loop(self.piece, "kx", unroll=True) as x:
                where = absolute([x, *rest])
                with e.when(self._inside(stored, where)):
                    for i, n in stored.results:
                        buffer = self.outputs[n]
                        e.store(value(i, [x, *rest]), buffer.memref, buffer.index(where, e))

        def vectors() -> None:
            for i, n in stored.results:
                f, buffer = self.group.funcs[n], self.outputs[n]

                def store(width: int, buffer: KernelBuffer = buffer, i: int = i) -> None:
                    for first in range(0, self.piece, width):
                        values = [value(i, [first + v, *rest]) for v in range(width)]
                        where = buffer.index(absolute([first, *rest]), e)
                        e.store_vector(values, buffer.memref, where)

                self.alignment.choose(f, buffer, access_widths(f, self.piece), store)

        ends = [self._inside(stored, absolute([x, *rest])) for x in (0, self.piece - 1)]
        inside = e.both(*ends)
        assert inside is not None
        e.choose(e.either(e.negate(self.tile.border), inside), vectors, scalars)

    def _inside(self, stored: Stored, where: Sequence[Num]) -> SSAValue | None:
        """Whether a point lies in the box of a stage."""
        e, buffer = self.e, self.outputs[stored.first]
        inside: SSAValue | None = None
        for d, x in enumerate(where):
            inside = e.both(inside, e.within(e.sub(x, buffer.mins[d]), buffer.extent(d, e)))
        return inside

    def _needed(self, stored: Stored, where: Sequence[Num]) -> SSAValue | None:
        """Return the condition that a point lies in the box of a stage; true in interior tiles."""
        inside = self._inside(stored, where)
        return None if inside is None else self.e.either(self.e.negate(self.tile.border), inside)
