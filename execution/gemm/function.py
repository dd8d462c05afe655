"""Common part of register-block kernels: places of points, and their sums."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tilefuse.dialects.img.ops import GroupOp
from tilefuse.dialects.img.types import storage_type
from tilefuse.execution.gemm.attribute import GemmSchedule
from tilefuse.lowering.emit import PRIVATE, Num
from tilefuse.lowering.update_body import UpdateFunction
from tilefuse.lowering.update_ends import Ends


class GemmFunction(UpdateFunction):
    """A register-block kernel during emission: the part common to all kinds of blocks."""

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
        """Allocate the sums of a thread, per function."""
        types = (storage_type(self.element(number)) for number in range(len(self.op.old_funcs)))
        return [self.e.alloca(shape, type, PRIVATE, "sums") for type in types]

    def coordinates(self, at: Sequence[Num]) -> dict[SSAValue, Num]:
        """Return the pure coordinates of a point at an offset from the box's first."""
        places = zip(self.op.pure, self.dims, at, strict=True)
        return {coordinate: self.e.add(self.out.mins[d], place) for coordinate, d, place in places}

    def begin(
        self, sums: Sequence[SSAValue], place: Sequence[Num], at: Sequence[Num], ends: Ends | None = None
    ) -> None:
        """Set the sums of a point to its initial values. `ends`: of the enclosing piece of code."""
        ends = Ends(self) if ends is None else ends
        for value, of in zip(ends.start(self.coordinates(at)), sums, strict=True):
            self.e.store(value, of, place)

    def end(self, sums: Sequence[SSAValue], place: Sequence[Num], at: Sequence[Num]) -> None:
        """Store the results of a point from its sums."""
        Ends(self).store(self.coordinates(at), [self.e.load(of, place) for of in sums])
