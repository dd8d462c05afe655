"""The kernel of an update: a thread per pure point, which goes over the reduction domain in order.

It writes over the old functions, where they lie; the box of the new ones says over which pure points. Right for every
update, whatever it reads and writes: pure points never see one another.
"""

from __future__ import annotations

from contextlib import ExitStack

from xdsl.dialects import func
from xdsl.ir import SSAValue

from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.in_order.attribute import InOrderSchedule
from tilefuse.execution.update_kernel import UpdateKernel
from tilefuse.lowering.abi import threads
from tilefuse.lowering.emit import Num
from tilefuse.lowering.reads import scalar_index
from tilefuse.lowering.symbols import word


def update_kernel(group: GroupOp) -> func.FuncOp:
    """Emit the kernel of a group that holds an update."""
    return _InOrder(group).emit()


class _InOrder(UpdateKernel):
    def emit(self) -> func.FuncOp:
        """The whole function."""
        with ExitStack() as open_scopes:
            self._pure_point(open_scopes)
            if self._domain(open_scopes):
                self.body()
        return self.finished()

    def _pure_point(self, open_scopes: ExitStack) -> None:
        """Open the loops over blocks and threads; each has a pure point of its own, or none."""
        e, op = self.e, self.op
        sizes = InOrderSchedule.expect(self.group.schedule).tile_sizes
        out = self.out
        dims = op.pure_dims
        extents = [out.extent(d, e) for d in dims]
        counts = [e.ceildiv(n, size, f"tiles_{letter(d)}") for n, size, d in zip(extents, sizes, dims, strict=True)]
        depth: Num = 1
        for n in counts[2:]:
            depth = e.mul(depth, n)
        loops = [(depth, "bz", "block_z"), (counts[1] if len(counts) > 1 else 1, "by", "block_y")]
        loops.append((counts[0] if counts else 1, "bx", "block_x"))
        bz, by, bx = (open_scopes.enter_context(e.loop(n, name, level=level)) for n, name, level in loops)
        lanes = zip(reversed(threads(self.group)), "zyx", strict=True)
        tz, ty, tx = (open_scopes.enter_context(e.loop(n, f"t{a}", level=f"thread_{a}")) for n, a in lanes)
        blocks = self.blocks_of(counts, bx, by, bz)
        inside: SSAValue | None = None
        lanes_of: list[Num] = [tx, ty, tz, *[0] * len(dims)]
        for number, coordinate in enumerate(op.pure):
            offset = e.add(e.mul(blocks[number], sizes[number]), lanes_of[number])
            self.where[coordinate] = e.add(out.mins[dims[number]], offset)
            inside = e.both(inside, e.compare("slt", offset, extents[number]))
        open_scopes.enter_context(e.when(inside))

    def _domain(self, open_scopes: ExitStack) -> bool:
        """Open the loops over the reduction domain, innermost last; False if it surely has no points."""
        e = self.e
        for dimension in reversed(self.op.domain):
            low, extent = (scalar_index(e, self.tile, v) for v in (dimension.min, dimension.extent))
            if isinstance(extent, int) and extent <= 0:
                return False
            name = dimension.coordinate.name_hint or "r"
            step = open_scopes.enter_context(e.loop(extent, word(name)))
            self.where[dimension.coordinate] = e.add(low, step)
        return True
