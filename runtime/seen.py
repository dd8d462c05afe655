"""Calls like one before: such a call needs no more than addresses, new arrays for its results, and a launch."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tilefuse.runtime.arrays import ArrayKind, Device, glance
from tilefuse.runtime.layouts import ALIGNMENT
from tilefuse.runtime.prepared import Prepared
from tilefuse.runtime.scalars import Number


class SeenCall(NamedTuple):
    """What holds for all calls with arrays of the same library, shapes, strides and alignment."""

    prepared: Prepared
    device: Device
    stream_kind: ArrayKind
    """Whose current stream the call runs on."""
    kind: ArrayKind
    """Of the arrays that it returns."""
    new: tuple[tuple[tuple[int, ...], str], ...]
    """Shape and dtype of each output, if the call is to make them."""
    spans: tuple[tuple[int, int], ...]
    """Of the inputs and given outputs: bytes from the address to the lowest and behind the highest."""
    inputs: int

    def may_overlap(self, pointers: Sequence[int]) -> bool:
        """Whether a given output lies between the ends of an input or of another output."""
        for i in range(self.inputs, len(pointers)):
            low, high = self.spans[i]
            start, end = pointers[i] + low, pointers[i] + high
            for j in range(i):
                other = pointers[j]
                if start < other + self.spans[j][1] and other + self.spans[j][0] < end:
                    return True
        return False

    def make_outputs(self, raw: int | None, inputs: Sequence[Any]) -> tuple[list[Any], list[int]] | None:
        """New arrays and their addresses; None if they are not what kernels count on.

        `raw`: the stream that writes them, None for the current one.
        """
        arrays, pointers = [], []
        for shape, dtype in self.new:
            array = self.kind.empty(shape, dtype, self.device, raw, inputs)
            pointer = self.kind.address(array)
            if pointer % ALIGNMENT:
                return None
            arrays.append(array)
            pointers.append(pointer)
        return arrays, pointers


class SeenCalls:
    """The calls that a program has seen, up to `most` kinds of them; the oldest go first.

    `outputs`: how many there are. `decisive`: the parameters that decide sizes.
    """

    def __init__(self, outputs: int, decisive: Iterable[str], most: int):
        self.calls: dict[Hashable, SeenCall] = {}
        self._outputs = outputs
        self._decisive = tuple(decisive)
        self._most = most
        self._lock = threading.Lock()

    def key(self, inputs: Sequence[Any], out: Any, params: Mapping[str, Number]) -> tuple[list[int], Hashable] | None:
        """The addresses of inputs and given outputs, and the key of such a call in `calls`.

        None if an array must be viewed each time, or outputs are given by name or in part.
        """
        if out is None:
            outs: Sequence[Any] = ()
        else:
            outs = out if isinstance(out, tuple | list) else (out,)
            if len(outs) != self._outputs:
                return None
        found = glance([*inputs, *outs])
        if found is None or not found[0]:
            return None
        if not self._decisive:
            return found
        return found[0], (found[1], tuple([params[n] for n in self._decisive]))

    def remember(self, key: Hashable, call: SeenCall) -> None:
        """Keep what is known of a call."""
        with self._lock:
            if len(self.calls) >= self._most:
                del self.calls[next(iter(self.calls))]
            self.calls[key] = call
