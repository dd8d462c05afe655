"""Blocks that compute several tiles one after the other, and copy the inputs of the next tile meanwhile.

for s in 0 .. n:
  if s < n: fetch(tile s) into half s % 2; its copies are a group
  if s > 0: wait for all groups but the last; barrier; compute(tile s - 1) from half (s - 1) % 2; barrier
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import gpu
from xdsl.ir import SSAValue

from tilefuse.dialects.nvgpu import DeviceAsyncCreateGroupOp, DeviceAsyncWaitOp
from tilefuse.lowering.emit import Emitter, Num

TileCall = Callable[[Num, Sequence[SSAValue]], None]
"""Emits the call of a function for a row of tiles, with further arguments."""


def emit_stream(
    e: Emitter, first: Num, count: Num, arrays: Sequence[SSAValue], fetch: TileCall, compute: TileCall
) -> None:
    """Emit the loop over tile rows `first` to `first + count - 1`; without `arrays` nothing is copied ahead."""
    if not arrays:
        with e.loop(count, "s") as s:
            compute(e.add(first, s), ())
            e.effect(gpu.BarrierOp())
        return

    def half(tile: Num) -> list[SSAValue]:
        return [*arrays, e.value(e.div_rem(tile, 2)[1])]

    with e.loop(e.add(count, 1), "s") as s:
        with e.when(e.compare("slt", s, count)):
            fetch(e.add(first, s), half(s))
        group = e.op(DeviceAsyncCreateGroupOp())
        with e.when(e.compare("sgt", s, 0)):
            before = e.sub(s, 1)
            e.effect(DeviceAsyncWaitOp(group, pending=1))
            e.effect(gpu.BarrierOp())
            compute(e.add(first, before), half(before))
            e.effect(gpu.BarrierOp())
