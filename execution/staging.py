"""Staging of operands in shared memory: the arrays of a block, and the asynchronous copies into them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, StridedLayoutAttr, UnitAttr, i8
from xdsl.ir import SSAValue

from tilefuse.analysis.access import behind_boundaries
from tilefuse.dialects.nvgpu import COPY_BYTES, DeviceAsyncCopyOp
from tilefuse.execution.operands import Operand, OperandAxis
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import SHARED, Num
from tilefuse.lowering.reads import Located, locate, read_global
from tilefuse.lowering.update_body import UpdateFunction
from tilefuse.targets.limits import STATIC_SHARED_LIMIT

WRITTEN_ROUNDS = 16
"""Copies of a thread that are written out; of more, so many at a time."""


@dataclass(frozen=True)
class Slice:
    """The first points of a tile and of a slice of the domain, in absolute coordinates."""

    firsts: Mapping[SSAValue, Num]
    lasts: Mapping[SSAValue, Num]
    """The last step in the domain, of the coordinate of which some of the slice's may not be; none if all are."""


class Staging:
    """The shared arrays of a block; each buffer holds the box that a tile reads in one slice."""

    def __init__(self, function: UpdateFunction, operands: Sequence[Operand], buffers: int, threads: int):
        self.function, self.e = function, function.e
        self.operands, self.threads = operands, threads
        self.arrays = self._allocate(buffers)
        self.of = {read: number for number, o in enumerate(operands) for read in o.constants}
        """The operand that a read is of."""

    def _allocate(self, buffers: int) -> list[SSAValue]:
        e, space = self.e, IntegerAttr(SHARED, 64)
        types = [
            MemRefType(_type(self._buffer(o)).element_type, [buffers, *o.shape], memory_space=space)
            for o in self.operands
        ]
        sizes = [-(-o.elements * o.bytes * buffers // 16) * 16 for o in self.operands]
        if sum(sizes) <= STATIC_SHARED_LIMIT:
            return [e.alloca([buffers, *o.shape], t.element_type, SHARED, "staged")
                    for o, t in zip(self.operands, types, strict=True)]  # fmt: skip
        op = memref.AllocaOp.get(i8, shape=[sum(sizes)], memory_space=space)
        op.attributes["kernel.dynamic_shared"] = UnitAttr()
        together = e.op(op, "all_staged")
        starts = [0, *accumulate(sizes)]
        return [e.op(memref.ViewOp(together, e.value(s), [], t), "staged") for s, t in zip(starts, types, strict=False)]

    def _buffer(self, operand: Operand) -> KernelBuffer:
        return self.function.tile.buffers[behind_boundaries(operand.source)[0]]

    # --- copies

    def copy(self, buffer: Num, where: Slice, thread: Num) -> None:
        """Begin to copy a slice's operands into a buffer, distributed over the threads."""
        for operand, array in zip(self.operands, self.arrays, strict=True):
            low = [self._bound(axis, where, lowest=True) for axis in operand.axes]
            limits = [self._limits(axis, where) for axis in operand.axes]
            self._copy_box(operand, array, buffer, low, limits, thread)

    def _limits(self, axis: OperandAxis, where: Slice) -> tuple[Num, Num] | None:
        """Return the ends of the part of a box inside the domain; None if all of it is inside."""
        if not any(v in where.lasts for v in axis.terms):
            return None
        return tuple(self._bound(axis, where, lowest=lowest, inside=True) for lowest in (True, False))  # type: ignore[return-value]

    def _bound(self, axis: OperandAxis, where: Slice, *, lowest: bool, inside: bool = False) -> Num:
        """Return an end of a box along an axis; `inside`: of the part inside the domain."""
        e, total = self.e, axis.low if lowest else axis.high
        sizes = self.operands[0].sizes
        found: Num = total
        for v, n in axis.terms.items():
            if v not in where.firsts:
                found = e.add(found, e.mul(self.function.scalar(v), n))
                continue
            at: Num = where.firsts[v]
            if (n > 0) != lowest:
                last = e.add(at, sizes.get(v, 1) - 1)
                at = where.lasts.get(v, last) if inside else last
            found = e.add(found, e.mul(at, n))
        return found

    def _copy_box(
        self,
        operand: Operand,
        array: SSAValue,
        buffer: Num,
        low: Sequence[Num],
        limits: Sequence[tuple[Num, Num] | None],
        thread: Num,
    ) -> None:
        e, extents = self.e, operand.extents

        def elements(width: int) -> None:
            row = extents[0] // width

            def one(item: Num) -> None:
                places: list[Num] = []
                for n in (row, *extents[1:-1]):
                    item, place = e.div_rem(item, n)
                    places.append(place)
                places.append(item)
                if len(extents) == 1:
                    places = [places[-1] if row == 1 else places[0]]
                places[0] = e.mul(places[0], width)
                at = [e.add(first, place) for first, place in zip(low, places, strict=True)]
                at = [x if span is None else e.clamp(x, *span) for x, span in zip(at, limits, strict=True)]
                self._copy(operand, at, array, [buffer, *reversed(places)], width)

            self._share_out(row * math.prod(extents[1:]), thread, one)

        if not self._has_vectors(operand) or limits[0] is not None:
            elements(1)
            return
        aligned = self._is_aligned(self._buffer(operand), low[0], operand.width * operand.bytes)
        e.choose(aligned, lambda: elements(operand.width), lambda: elements(1))

    def _share_out(self, count: int, thread: Num, one: Callable[[Num], None]) -> None:
        """Emit `one(item)` for the thread's share of `count` items, interleaved with other threads'."""
        e = self.e
        full_rounds, rest = divmod(count, self.threads)
        if full_rounds:
            unroll = True if full_rounds <= WRITTEN_ROUNDS else WRITTEN_ROUNDS // 2
            with e.loop(full_rounds, "round", unroll=unroll) as i:
                one(e.add(thread, e.mul(i, self.threads)))
        if rest:
            with e.when(e.compare("slt", thread, rest)):
                one(e.add(thread, full_rounds * self.threads))

    def _copy(self, operand: Operand, at: Sequence[Num], array: SSAValue, there: Sequence[Num], width: int) -> None:
        e, buffer, bytes = self.e, self._buffer(operand), width * operand.bytes
        if not self._keeps_rows(operand) or bytes not in COPY_BYTES:
            assert width == 1
            e.store(read_global(e, self.function.tile, operand.source, at, None, needed=True), array, there)
            return
        located = locate(e, self.function.tile, operand.source, at, None, needed=True)

        def beside() -> None:
            here, place = ([e.value(i) for i in located.index], [e.value(i) for i in there])
            e.effect(DeviceAsyncCopyOp(buffer.memref, here, array, place, width, bytes == max(COPY_BYTES)))

        self._under_exteriors(located, beside, lambda value: e.store_vector([value] * width, array, there))

    def _under_exteriors(
        self, located: Located, inside: Callable[[], None], outside: Callable[[SSAValue], None]
    ) -> None:
        """Emit `inside`, or `outside(value)` where a constant exterior, the outermost first, applies."""
        e = self.e
        if not located.inside:
            inside()
            return
        (conditions, value), *rest = located.inside
        holds: SSAValue | None = None
        for condition in conditions.values():
            holds = e.both(holds, condition)
        assert holds is not None
        deeper = Located(located.index, rest)
        e.choose(holds, lambda: self._under_exteriors(deeper, inside, outside), lambda: outside(value))

    def _keeps_rows(self, operand: Operand) -> bool:
        """Whether neighbours along x are read from adjacent addresses: no boundary moves or masks single ones."""
        return all(0 not in b.dimensions for b in behind_boundaries(operand.source)[1])

    def _has_vectors(self, operand: Operand) -> bool:
        """Whether rows of a box are copied by vectors where aligned."""
        in_vectors = operand.extents[0] % operand.width == 0 and operand.width > 1
        contiguous = _rows_are_contiguous(_type(self._buffer(operand)))
        return in_vectors and contiguous and self._keeps_rows(operand) and operand.width * operand.bytes in COPY_BYTES

    def _is_aligned(self, buffer: KernelBuffer, first: Num, bytes: int) -> SSAValue:
        """Whether vectors of `bytes` at `first` of every row are aligned."""
        return vectors_are_aligned(self.function, buffer, first, bytes)


def vectors_are_aligned(function: UpdateFunction, buffer: KernelBuffer, first: Num, bytes: int) -> SSAValue:
    """Emit whether vectors of `bytes` at coordinate `first` of every row of a function are aligned."""
    e, size = function.e, _element_bytes(buffer)
    metadata = memref.ExtractStridedMetaDataOp(buffer.memref)
    pointer = e.op(memref.ExtractAlignedPointerAsIndexOp.get(buffer.memref))
    e.effect(metadata)
    low = e.value(e.add(pointer, e.mul(e.sub(first, buffer.mins[0]), size)))
    for n in list(metadata.strides)[:-1]:
        low = e.op(arith.OrIOp(low, e.value(e.mul(n, size))))
    return e.compare("eq", e.op(arith.AndIOp(low, e.value(bytes - 1))), 0)


def buffer_rows_are_contiguous(buffer: KernelBuffer) -> bool:
    """Whether neighbours along x are adjacent in memory, as the kernel knows."""
    return _rows_are_contiguous(_type(buffer))


def _type(buffer: KernelBuffer) -> MemRefType:
    assert isinstance(buffer.memref.type, MemRefType)
    return buffer.memref.type


def _element_bytes(buffer: KernelBuffer) -> int:
    element = _type(buffer).element_type
    return max(1, int(getattr(element, "bitwidth", 8)) // 8)


def _rows_are_contiguous(type: MemRefType) -> bool:
    layout = type.layout
    if not isinstance(layout, StridedLayoutAttr):
        return True
    return getattr(layout.strides.data[-1], "data", None) == 1
