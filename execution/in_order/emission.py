"""The kernel of an update: a thread per pure point, which goes over the reduction domain in order.

It writes over the old functions, where they lie; the box of the new ones says over which pure points. Right for every
update, whatever it reads and writes: pure points never see one another.
"""

from __future__ import annotations

from contextlib import ExitStack

from xdsl.dialects import arith, func
from xdsl.ir import SSAValue

from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import SET, GroupOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.execution.in_order.attribute import InOrderSchedule
from tilefuse.lowering.abi import threads
from tilefuse.lowering.emit import Num
from tilefuse.lowering.reads import Buffer
from tilefuse.lowering.symbols import word
from tilefuse.lowering.update_body import UpdateBody, UpdateFunction


def update_kernel(group: GroupOp) -> func.FuncOp:
    """Emit the kernel of a group that holds an update."""
    function = UpdateFunction(group)
    where: dict[SSAValue, Num] = {}
    with ExitStack() as open_scopes:
        _pure_point(function, where, open_scopes)
        if _domain(function, where, open_scopes):
            body = UpdateBody(function, where)
            body.compute()
            with function.e.when(body.predicate()):
                _write(function, body)
    return function.finished()


def _pure_point(function: UpdateFunction, where: dict[SSAValue, Num], open_scopes: ExitStack) -> None:
    """Open the loops over blocks and threads; each has a pure point of its own, or none."""
    e, op, out = function.e, function.op, function.out
    sizes = InOrderSchedule.expect(function.group.schedule).tile_sizes
    dims = op.pure_dims
    extents = [out.extent(d, e) for d in dims]
    counts = [e.ceildiv(n, size, f"tiles_{letter(d)}") for n, size, d in zip(extents, sizes, dims, strict=True)]
    depth: Num = 1
    for n in counts[2:]:
        depth = e.mul(depth, n)
    loops = [(depth, "bz", "block_z"), (counts[1] if len(counts) > 1 else 1, "by", "block_y")]
    loops.append((counts[0] if counts else 1, "bx", "block_x"))
    bz, by, bx = (open_scopes.enter_context(e.loop(n, name, level=level)) for n, name, level in loops)
    lanes = zip(reversed(threads(function.group)), "zyx", strict=True)
    tz, ty, tx = (open_scopes.enter_context(e.loop(n, f"t{a}", level=f"thread_{a}")) for n, a in lanes)
    blocks: list[Num] = [bx, by]
    for n in counts[2:-1]:
        quotient = e.op(arith.DivUIOp(e.value(bz), e.value(n)))
        blocks.append(e.sub(bz, e.mul(quotient, n)))
        bz = quotient
    blocks.append(bz)
    inside: SSAValue | None = None
    lanes_of: list[Num] = [tx, ty, tz, *[0] * len(dims)]
    for number, coordinate in enumerate(op.pure):
        offset = e.add(e.mul(blocks[number], sizes[number]), lanes_of[number])
        where[coordinate] = e.add(out.mins[dims[number]], offset)
        inside = e.both(inside, e.compare("slt", offset, extents[number]))
    open_scopes.enter_context(e.when(inside))


def _domain(function: UpdateFunction, where: dict[SSAValue, Num], open_scopes: ExitStack) -> bool:
    """Open the loops over the reduction domain, innermost last; False if it surely has no points."""
    e = function.e
    for dimension in reversed(function.op.domain):
        low, extent = (function.scalar(v) for v in (dimension.min, dimension.extent))
        if isinstance(extent, int) and extent <= 0:
            return False
        name = dimension.coordinate.name_hint or "r"
        step = open_scopes.enter_context(e.loop(extent, word(name)))
        where[dimension.coordinate] = e.add(low, step)
    return True


def _write(function: UpdateFunction, body: UpdateBody) -> None:
    """Write the values of all functions, when all are computed."""
    e, op = function.e, function.op
    where = body.position()
    written: list[tuple[SSAValue, Buffer, list[Num]]] = []
    for number, (way, new) in enumerate(zip(op.combiners, body.terms(), strict=True)):
        buffer = function.old(number)
        index = buffer.index(where, e)
        if way != SET:
            type = op.olds[number].type
            assert isinstance(type, FuncType)
            new = e.op(combined(way, type.element, e.load(buffer.memref, index), new))
        written.append((new, buffer, index))
    for new, buffer, index in written:
        e.store(new, buffer.memref, index)
