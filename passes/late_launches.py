"""Marking of launches after which the next kernel must not start early (`late_launch`).

A multiprocessor divides one memory into L1 cache and shared memory, and changes the division only while it runs no
block. If blocks of the next kernel start before the end of this one (`chain-kernels`), the division stays: a kernel
with gathers and without shared memory then runs with the small cache of an earlier kernel. So a kernel is marked if the
next one would have less than half of its cache.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr

from tilefuse.dialects.img.ops import LATE_LAUNCH, GroupOp
from tilefuse.targets.gpus import Gpu, kernels_overlap

L1_ALONE = 28 << 10
"""Bytes of L1 cache where all that can be shared memory is shared memory."""


def mark_late_launches(groups: Sequence[GroupOp], shared: Sequence[int], on: Gpu) -> None:
    """Mark the groups after which the next kernel starts late, for groups launched repeatedly in this order.

    `shared`: bytes of shared memory on an SM that is full of a group's blocks.
    """
    for group in groups:
        group.attributes.pop(LATE_LAUNCH, None)
    if not kernels_overlap(on.arch):
        return  # each kernel ends before the next one begins, whatever is marked
    split, total = 0, on.shared_bytes_per_sm + L1_ALONE
    for group, own, after in zip(groups, shared, [*shared[1:], shared[0]], strict=True):
        split = max(split, own)
        if total - split < (total - after) / 2:
            group.attributes[LATE_LAUNCH] = UnitAttr()
            split = 0
