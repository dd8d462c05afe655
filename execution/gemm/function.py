"""The function of a reduction with blocks of points per thread: where its points lie, and their sums."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from tilefuse.dialects.img.ops import GroupOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.execution.gemm.attribute import GemmSchedule
from tilefuse.lowering.emit import PRIVATE, Num
from tilefuse.lowering.update_body import UpdateFunction


class GemmFunction(UpdateFunction):
    """The kernel while it is emitted: what all kinds of blocks take."""

    def __init__(self, group: GroupOp):
        super().__init__(group)
        self.schedule = GemmSchedule.expect(group.schedule)
        self.dims = self.op.pure_dims
        self.firsts: list[Num] = []
        """Per pure coordinate, from the least of its box on: where the block's points begin."""
        self.lanes: list[Num] = []
        """The number of the thread among those of its block."""
        self.extents = [self.out.extent(d, self.e) for d in self.dims]

    def new_sums(self, *shape: int) -> list[SSAValue]:
        """The sums of a thread, per function."""
        types = (self.old(number).memref.type for number in range(len(self.op.olds)))
        return [self.e.alloca(shape, type.element_type, PRIVATE, "sums") for type in types]  # type: ignore[attr-defined]

    def coordinates(self, at: Sequence[Num]) -> dict[SSAValue, Num]:
        """The pure coordinates of a point that lies so far from the least of the box."""
        places = zip(self.op.pure, self.dims, at, strict=True)
        return {coordinate: self.e.add(self.out.mins[d], place) for coordinate, d, place in places}

    def _position(self, number: int, at: Sequence[Num]) -> list[Num]:
        """Where a pure point of a function lies in memory: it is written at its coordinates, in their order."""
        of = self.coordinates(at)
        write = self.op.write_op
        where = [self.e.affine(x, [of[v] for v in write.indices]) for x in write.map.data.results]
        return self.old(number).index(where, self.e)

    def element(self, number: int) -> Attribute:
        """Of a function, with its sign."""
        type = self.op.olds[number].type
        assert isinstance(type, FuncType)
        return type.element

    def begin(self, sums: Sequence[SSAValue], place: Sequence[Num], at: Sequence[Num]) -> None:
        """Take what stands in memory into the sums."""
        for number, of in enumerate(sums):
            self.e.store(self.e.load(self.old(number).memref, self._position(number, at)), of, place)

    def end(self, sums: Sequence[SSAValue], place: Sequence[Num], at: Sequence[Num]) -> None:
        """Put sums into memory."""
        for number, of in enumerate(sums):
            self.e.store(self.e.load(of, place), self.old(number).memref, self._position(number, at))
