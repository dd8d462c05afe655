"""Repeated calls: a call like an earlier one needs only addresses, new result arrays, and a launch."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tilefuse.runtime.arrays.kinds import ArrayKind, Device, describe, new_array
from tilefuse.runtime.arrays.layouts import ALIGNMENT
from tilefuse.runtime.call.scalars import Scalar, distinct
from tilefuse.runtime.launch.prepared import Prepared

SEVERAL_OUTPUTS = (tuple, list)
"""Types of `out=` for several outputs. (A union of types is made anew each time.)"""


class CachedCall(NamedTuple):
    """Facts shared by all calls with arrays of one library, shape, stride and alignment."""

    prepared: Prepared
    device: Device
    stream_kind: ArrayKind
    """Library whose current stream the call runs on."""
    kind: ArrayKind
    """Kind of the arrays that it returns."""
    new: tuple[tuple[tuple[int, ...], str], ...]
    """Shape and dtype of each output, if the call is to make them."""
    spans: tuple[tuple[int, int], ...]
    """Bytes from the address to the lowest and behind the highest element, of inputs and given outputs."""
    inputs: int

    def may_overlap(self, pointers: Sequence[int]) -> bool:
        """Whether a given output's address range meets the range of an input or another output."""
        for i in range(self.inputs, len(pointers)):
            low, high = self.spans[i]
            start, end = pointers[i] + low, pointers[i] + high
            for j in range(i):
                other = pointers[j]
                if start < other + self.spans[j][1] and other + self.spans[j][0] < end:
                    return True
        return False

    def make_outputs(self, raw: int | None, inputs: Sequence[Any]) -> tuple[list[Any], list[int]] | None:
        """Make new result arrays; return them and their addresses, or None if one is not aligned as kernels need.

        `raw`: the stream that writes them, None for the current one.
        """
        arrays, pointers = [], []
        for shape, dtype in self.new:
            array = new_array(self.kind, shape, dtype, self.device, raw, inputs, "an output")
            pointer = self.kind.address(array)
            if pointer % ALIGNMENT:
                return None
            arrays.append(array)
            pointers.append(pointer)
        return arrays, pointers


class CallDescription:
    """A call's arrays as their libraries describe them, and the matching earlier call, if any."""

    __slots__ = ("cached", "decisive", "facts", "key", "may_overlap", "pointers")

    def __init__(
        self,
        facts: list[tuple[ArrayKind, int, Hashable]],
        decisive: tuple[Hashable, ...],
        calls: Mapping[Hashable, CachedCall],
    ):
        self.facts = facts
        self.decisive = decisive
        self.pointers = [pointer for _, pointer, _ in facts]
        """Addresses of the inputs and given outputs."""
        self.key = (tuple([(kind, pointer % ALIGNMENT, rest) for kind, pointer, rest in facts]), decisive)
        self.cached = calls.get(self.key)
        self.may_overlap = self.cached is not None and self.cached.may_overlap(self.pointers)


class CallCache:
    """Cache of the calls of a program, up to `most` kinds; the oldest are dropped first.

    `outputs`: number of outputs. `decisive`: names of the parameters that determine sizes.
    """

    def __init__(self, outputs: int, decisive: Iterable[str], most: int):
        self.calls: dict[Hashable, CachedCall] = {}
        self._outputs = outputs
        self._decisive = tuple(decisive)
        self._most = most
        self._latest: CallDescription | None = None
        self._lock = threading.Lock()

    def describe(
        self,
        inputs: Sequence[Any],
        out: Any,
        params: Mapping[str, Scalar],
        requested: Sequence[Mapping[str, tuple[int, ...]]] = (),
    ) -> CallDescription | None:
        """Describe a call's arrays; None if one must be viewed each time, or outputs are given by name or in part.

        `requested`: sizes and mins by name. Returns the latest description if no fact has changed: making a key and
        looking it up takes a microsecond.
        """
        if out is not None:
            outs = out if isinstance(out, SEVERAL_OUTPUTS) else (out,)
            if len(outs) != self._outputs:
                return None
            inputs = [*inputs, *outs]
        facts = describe(inputs)
        if not facts:
            return None
        decisive: tuple[Hashable, ...] = distinct(params, self._decisive) if self._decisive else ()
        if any(requested):
            decisive = (decisive, *(tuple(sorted(part.items())) for part in requested))
        latest = self._latest
        if latest is not None and latest.facts == facts and latest.decisive == decisive:
            return latest
        found = CallDescription(facts, decisive, self.calls)
        if found.cached is not None:
            self._latest = found
        return found

    def insert(self, at: CallDescription, call: CachedCall) -> None:
        """Record the facts of a call."""
        with self._lock:
            if len(self.calls) >= self._most:
                del self.calls[next(iter(self.calls))]
            self.calls[at.key] = call
