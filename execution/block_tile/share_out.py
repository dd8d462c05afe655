"""Distribution of boxes of work over the threads of a block."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tilefuse.dialects.img.axes import letter
from tilefuse.lowering.emit import Emitter, Num


class Threads:
    """The threads of a block, `counts` per dimension, x first."""

    def __init__(self, e: Emitter, counts: Sequence[int]):
        self.e = e
        self.counts = [*counts, 1, 1, 1][:3]
        self.total = math.prod(self.counts)

    @contextmanager
    def together(self) -> Iterator[Num]:
        """Open the loops over threads; return the thread's number. A single thread needs no loops."""
        e = self.e
        if self.total == 1:
            yield 0
            return
        x, y, z = self.counts
        with (
            e.loop(z, "tz", level="thread_z") as tz,
            e.loop(y, "ty", level="thread_y") as ty,
            e.loop(x, "tx", level="thread_x") as tx,
        ):
            yield e.add(e.mul(e.add(e.mul(tz, y), ty), x), tx, "t")

    def walk(self, t: Num, box: Sequence[int], each: Callable[[list[Num]], None], *, from_last: bool = False) -> None:
        """Run `each` for every place in `box`, distributed over the threads.

        `from_last`: the last threads begin, which have least to do in a walk before this one.
        """
        e = self.e
        if self.total == 1:
            self.nested(box, each)
            return
        start = e.sub(self.total - 1, t) if from_last else t
        # A flat walk keeps all lanes busy, whatever the box's width.
        with e.loop(math.prod(box), "i", start=start, step=self.total) as i:
            rest: Num = i
            at: list[Num] = []
            for size in box[:-1]:
                rest, part = e.div_rem(rest, size)
                at.append(part)
            each([*at, rest])

    def nested(self, box: Sequence[int], each: Callable[[list[Num]], None]) -> None:
        """Emit the plain loops of a single thread, x innermost."""
        e = self.e
        at: list[Num] = [0] * len(box)

        def go(d: int) -> None:
            if d < 0:
                each(list(at))
                return
            with e.loop(box[d], letter(d), simd=d == 0) as i:
                at[d] = i
                go(d - 1)

        go(len(box) - 1)
