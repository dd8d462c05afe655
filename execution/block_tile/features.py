"""Predicted time of a block-tile kernel from its features. Terms and sources: docs/cost-model.md."""

from __future__ import annotations

from dataclasses import dataclass

from tilefuse.analysis.machine import Machine
from tilefuse.execution.features import STORED_TAIL, Features, with_starts

HIDING_THREADS = 640
"""Threads per multiprocessor from which latency is hidden."""
FEW_BLOCKS = 0.2
"""Share of its time that a kernel takes longer with one resident block than with many, whatever their threads: a block
that ends leaves its place idle until the next one has loaded."""
USUAL_BLOCKS = 4.0
"""Resident blocks of the kernels that the times were fitted to."""
PASS = 4.0
"""Instructions of a warp in the time of its pass through the banks of shared memory."""
POINTWISE_MEMORY = 1.15
"""Memory time over the roofline where threads move one point at a time."""
ISSUE_OVERHEAD = 1.2
"""Instructions issued over instructions counted."""
CPU_BORDER = 4.0
"""Extra time of a border tile on a CPU, over that of an interior one: its selects keep it from vectorising."""
MANY_ROWS, MANY_ROWS_COST = 8, 1.12
"""Points of a thread above each other from which its arithmetic takes so many times as long: threads are fewer, and
each ends later."""
BLOCK_TAIL = 2.0
"""Microseconds in which the last blocks of a kernel leave most of the machine idle."""
FLATTERED = 1.25
"""The cheapest of many block tiles takes longer than the model says by about this: it is the one most flattered."""
FLATTERED_MEMORY = 1.05
"""The factor of the time that memory takes: bytes are counted as they are."""
SHORTER_NOT_HIDDEN = 0.15
"""Share of the shorter of memory and arithmetic that does not hide behind the longer."""


@dataclass(slots=True, kw_only=True)
class BlockFeatures(Features):
    """Features of a block-tile kernel."""

    bytes: float
    """Bytes of a tile, from and to memory."""
    instructions: float
    """Instructions of a tile, of all threads."""
    resident_threads: int = 0
    """Resident threads per multiprocessor."""
    one_by_one: bool = False
    """Whether threads move one point at a time."""
    written_out: float = 0.0
    """Instructions of a thread: straight-line code, on a GPU."""
    resident_blocks: float = USUAL_BLOCKS
    """Resident blocks per multiprocessor."""
    thread_rows: int = 1
    """Points of a thread above each other."""
    passes: float = 0.0
    """Passes of the warps of a tile through the banks of shared memory, for each lane."""
    steps: int = 1
    """Steps of an update, which a block computes one after the other."""
    stored_alone: float = 0.0
    """Bytes that a thread stores where nothing is loaded."""
    at_border: float = 0.0
    """Share of the tiles that lie at the edges of the picture; on a CPU."""

    def analytical(self, machine: Machine) -> float:
        memory = self.blocks * self.bytes / machine.bytes_per_us
        compute = self.blocks * max(self.instructions, PASS * self.passes) / machine.instructions_per_us
        if machine.is_gpu:
            slow = max(1.0, HIDING_THREADS / max(self.resident_threads, 1)) ** 0.5
            slow *= 1.0 + FEW_BLOCKS * (1 / self.resident_blocks - 1 / USUAL_BLOCKS)
            # of 15 tiles that compute the steps of an update the cheapest was not flattered
            flattered, memory_flattered = (FLATTERED, FLATTERED_MEMORY) if self.steps == 1 else (1.0, 1.0)
            memory = memory * (POINTWISE_MEMORY if self.one_by_one else 1.0) * slow * memory_flattered
            compute = compute * ISSUE_OVERHEAD * slow * flattered
            compute *= MANY_ROWS_COST if self.thread_rows >= MANY_ROWS else 1.0
            limit = machine.calibration.code_limit
            compute *= 1.0 + machine.calibration.code_penalty * max(0.0, self.written_out / limit - 1.0)
        else:
            compute *= 1.0 + CPU_BORDER * self.at_border
        if not machine.is_gpu and self.blocks * self.instructions <= machine.alone_instructions:
            compute *= machine.cores  # of which one computes all
        elif self.blocks < machine.cores:
            compute *= machine.cores / self.blocks
        total = max(memory, compute) + SHORTER_NOT_HIDDEN * min(memory, compute)
        if not machine.is_gpu:
            return total + machine.launch_us
        total += self.blocks / machine.cores * machine.calibration.block_us
        total = with_starts(total, self.blocks, not self.stored_alone) + STORED_TAIL * self.stored_alone
        return total + (BLOCK_TAIL + machine.launch_us) * flattered
