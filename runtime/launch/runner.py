"""Interface of a runner, made once per plan: a call only fills in addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tilefuse.runtime.launch.plan import KernelLaunch


class Runner(Protocol):
    """Runs one plan."""

    def run(self, pointers: list[int], scalars: Sequence[int], stream: int | None) -> None:
        """Run with the addresses of inputs and outputs, on `stream` (a raw pointer) if on a GPU.

        `scalars`: those of the plan, as kernels take them (`scalars.word`).
        """


def fill(words: Any, launch: KernelLaunch, pointers: Sequence[int], scalars: Sequence[int]) -> None:
    """Write addresses and scalars into a kernel's arguments."""
    for slot, buffer, offset in launch.addresses:
        words[slot] = pointers[buffer] + offset
    for slot, number in launch.scalars:
        words[slot] = scalars[number]
