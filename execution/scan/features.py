"""Features of a recurrence: chains of dependent steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tilefuse.analysis.machine import Machine
from tilefuse.execution.candidate import Candidate
from tilefuse.execution.features import Roofline
from tilefuse.execution.scan.attribute import ScanSchedule

CHAIN_STEP_US = 0.0028
"""Microseconds from an operation of a chain to the next: 5 cycles."""
MEMORY_US = 0.6
"""Microseconds that a line waits for its inputs: a miss of all caches."""
SLICE_US = 0.65
"""Microseconds of the barriers, and the copies, of a slice."""
STORE_US = 0.002
"""Microseconds of a step that is stored by way of shared memory."""
ROW_US = 0.04
"""Microseconds of a step along x: lanes read its inputs from one bank of shared memory."""
CPU_STEPS_NOT_HIDDEN = 0.15
"""Share of a CPU's steps that does not hide behind memory or arithmetic."""
CPU_SCAN_STEP, CPU_CHAIN = 3.0, 0.3
"""Cycles of a step of lines side by side on a CPU, and of each operation of its chain."""
STAGED_USE = 0.55
"""Share of memory's rate that lines side by side have whose inputs are copied beside."""
LINES_USE = 0.45
"""Share of memory's rate that lines side by side have which load for themselves."""
SECTOR_USE = 0.45
"""Share of memory's rate, while lanes lie along the lines: each has sectors of its own."""

CHUNK_US = 9.0
"""Microseconds of a block that has a chunk of a line, beside its loads: barriers, waits; and of clearing its flags."""
WAVE_US = 1.4
"""Microseconds that a wave of such blocks takes beside its loads and operations."""
WINDOW_US = 0.85
"""Microseconds from the last chunk of a window to that of the next one, of a line that is alone."""
CHUNKS_USE = 0.9
"""Share of memory's rate that chunks have."""
CHUNK_INSTRUCTIONS = 16.0
"""Instructions of a step of a chunk besides those of its body: addresses, shared memory, sums."""


@dataclass(slots=True, kw_only=True)
class ScanFeatures(Roofline):
    """Counts of a kernel, and of the chain of one line."""

    steps: float
    """Steps of a line."""
    chain: float
    """Operations of a step, one after the other at worst."""
    lines: float
    unroll: int
    """Steps whose inputs are loaded at once."""
    width: int
    """Lines that a thread takes together."""
    is_along_rows: bool
    """Whether lines go along rows of what they read or write, so that lanes lie in rows of their own."""
    slice: int = 0
    """Steps whose inputs are staged at once; 0 if they are not."""
    buffers: int = 1
    """Slices that are there, or on their way."""
    is_along_x: bool = False
    """Whether lines go along x, and so along rows of all that they read and write."""
    chunks: int = 0
    """Chunks of a line that blocks share; 0 if a line belongs to one thread."""
    steps_of_chunk: int = 0
    """Steps of a chunk, though the line may end before."""
    windows: float = 0.0
    """Windows of a line's chunks."""
    at_once: int = 0
    """Blocks with such chunks that a multiprocessor has room for."""

    def analytical(self, machine: Machine) -> float:
        memory, compute = self.roofline(machine)
        if self.chunks:
            taken = self.chunks * self.steps_of_chunk
            compute *= taken / self.steps
            compute += self.lines * taken * CHUNK_INSTRUCTIONS / machine.instructions_per_us
            waits = math.ceil(self.blocks / (machine.cores * self.at_once)) * WAVE_US
            # others' blocks run while those of a line wait
            waits += CHUNK_US + (self.windows - 1.0) * WINDOW_US * self.chunks / self.blocks
            return memory / CHUNKS_USE + compute + waits + machine.launch_us
        if not machine.is_gpu:
            at_once = min(self.lines, machine.cores * min(float(self.width), 8.0))
            step = (CPU_SCAN_STEP + CPU_CHAIN * self.chain) / (machine.clock_ghz * 1e3)
            parts = (memory, compute, self.lines / at_once * self.steps * step)
            return max(parts) + CPU_STEPS_NOT_HIDDEN * parts[2] * (parts[2] < max(parts)) + machine.launch_us
        rounds = max(1.0, math.ceil(self.lines / (machine.cores * machine.max_threads_per_core)))
        if self.slice:
            ahead = self.slice * max(1, self.buffers - 1)
            each = self.chain * CHAIN_STEP_US + (STORE_US if self.is_along_rows else 0.0)
            each += ROW_US if self.is_along_x else 0.0
            waits = self.steps / ahead * MEMORY_US + self.steps / self.slice * SLICE_US
            return max(memory / STAGED_USE, compute, rounds * (self.steps * each + waits)) + machine.launch_us
        # a sector has eight steps of a line along x
        waits = self.steps / max(self.unroll, 8 if self.is_along_rows else 1)
        chain = rounds * (self.steps * self.chain * CHAIN_STEP_US + waits * MEMORY_US)
        return max(memory / (SECTOR_USE if self.is_along_rows else LINES_USE), compute, chain) + machine.launch_us


@dataclass(frozen=True)
class ScanCandidate(Candidate):
    """A candidate, with its schedule if it stages operands."""

    staged: ScanSchedule | None = None
