"""Marking of launches after which the next kernel must not start early (`late_launch`).

An SM splits one memory into L1 cache and shared memory, anew only while no block runs on it. Where the blocks of the
next kernel move in before those of this one have ended (`chain-kernels`), the split stays as it is: a kernel that
gathers, and has no shared memory of its own, then runs with the small cache of the kernel before, or of one long before
that. So a kernel is marked if the next one would have less than half of the cache that it has by itself.
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
