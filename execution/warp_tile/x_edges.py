"""Loads of border tiles cut off along x only: as in the interior, except for lanes outside the picture.

All rows lie alike, and rows above and below are in the buffer: so lanes may read beside a row, and what is one lane's
and another's meets as in the interior. Lanes beside the box are read at its ends, where their columns repeat. There are
no planes, which may be moved, too, and then lie otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tilefuse.dialects.warp import LoadOp
from tilefuse.execution.warp_tile.body import LanePoint
from tilefuse.execution.warp_tile.layout import columns_at_once
from tilefuse.execution.warp_tile.pieces import Pieces
from tilefuse.execution.warp_tile.registers import Registers
from tilefuse.execution.warp_tile.schedule import layout_of
from tilefuse.lowering.emit import Num


class XEdgePieces(Pieces):
    """Row pieces at x edges. The lane inside beside the first (or last) column gets part of its piece from one outside.

    That is one vector further out, as it would be anyway, if nobody asks for its columns. Else it has them in pieces of
    its own: it is read a piece further out than the lane inside, and offers the other end of what it has.
    """

    def __init__(self, body: Registers, op: LoadOp) -> None:
        super().__init__(body, op)
        self.further = self.layout.vector if not op.fills else self.piece

    @staticmethod
    def can_load(op: LoadOp) -> bool:
        """Whether rows are loaded in pieces, and outside lanes hold the box's end if they must be filled."""
        vector = layout_of(op.tile).vector
        alone = op.partial is None or not op.fills or vector > columns_at_once(op.tile.type.element, vector)
        return op.pieces is not None and alone

    @property
    def ends(self) -> tuple[int, int]:
        """Return the columns of an outside lane that are the box's first and last."""
        last, moved = self.layout.vector - 1, self.further
        return moved if self.partial == "left" else 0, last - moved if self.partial == "right" else last

    def column(self, at: LanePoint) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Return a lane's first column from the operation's `rows`; whether the lane is before or after the box."""
        e, first = self.e, self.body.here(0, self.layout.rows[0], at.deep)
        column = self.body.run(self.op.rows, first, self.layout)[len(self.op.indices) - 1]
        unmoved = self.body.memory_index(self.op.indices, at, self.layout)[-1]
        return column, e.compare("slt", unmoved, column), e.compare("sgt", unmoved, column)

    def located(self, at: LanePoint) -> tuple[list[Num], SSAValue]:
        e, (begin, before, behind) = self.e, self.column(at)
        column: Num = begin
        if self.partial == "right":
            column = e.add(begin, e.pick(behind, self.further, 0))
        elif self.partial == "left":
            column = e.sub(begin, e.pick(before, self.further, 0))
        index, place = super().located(at)
        return [*index[:-1], column], place

    def offered(self, words: Sequence[SSAValue], at: LanePoint) -> Sequence[SSAValue]:
        offered = super().offered(words, at)
        if not self.op.fills:
            return offered
        _, before, behind = self.column(at)
        each = self.piece // self.in_word if self.in_word > 1 else self.piece
        if self.partial == "left":
            outside, others = before, words[each - 1 : each]
        else:
            outside, others = behind, words[len(words) - each :][: len(offered)]
        return [self.e.select(outside, other, word) for other, word in zip(others, offered, strict=True)]
