"""Predicted time of a warp-tile kernel from its features. Terms and sources: docs/cost-model.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tilefuse.analysis.machine import Machine
from tilefuse.execution.features import START_US, STORED_TAIL, Features, beside, with_starts
from tilefuse.execution.warp_tile.layout import LANES

BUSY_MEMORY = 0.65
"""Share of a kernel's time for which DRAM is busy, from which prefetching does not pay."""
IDLE_MEMORY, WAITED_FOR = 0.5, 0.55
"""Shares of a kernel's time for which DRAM is busy: up to which a single wave that has prefetched does not wait for it,
and from which it gains as any first wave."""
MOST_WAVES = 4.0
"""Waves of blocks from which blocks have drifted apart, so that some compute while others load."""
FULL_WAVE = 0.9
"""Share of the places for blocks that a single wave must fill: a kernel that moves in early takes the places that are
free first, so that some multiprocessors get more of its blocks than others."""
SMALL_WAVE = 0.25
"""A second wave as small as this does not pay what all blocks do for it."""
PREFETCH_US = 0.7
"""Microseconds by which a kernel is faster whose first wave finds what it loads in the cache."""
PREFETCHED_US, PREFETCHED_TAIL = 0.45, 0.48
"""A kernel of a single wave that finds what it loads in the cache: microseconds beside its launch and its instructions,
and the share that is left of the time per instruction of its last block."""
BEGIN_US, BEGUN_US, BEGIN_POWER = 0.7, 0.135, 8.0
"""Microseconds that such a kernel takes to begin, and per block of a multiprocessor; how sharply the longer of that and
of its instructions' time decides."""
MANY_COLUMNS, UNPAIRED_COST = 8, 1.4
"""Columns of a lane from which elements smaller than a word take so many times the instructions that are counted, where
no two points share a register: they are taken out of words, and joined again, one by one."""
PARTITIONS = 4
"""Parts of a multiprocessor, which share its warps out among them, each with registers of its own."""
IDLE_PLACES = 0.12
"""Share of the places of resident warps that are idle where a block has two warps for each part: the next block begins
when the last warp of one has ended. Without it kernels with blocks of eight warps take 1.03 times what they should."""
BURSTS_US, BURSTS_POWER, ACCESS_BYTES = 4.6, 0.03, 16
"""Microseconds of DRAM traffic in flight up to which more of it makes memory faster where warps pass one another more
bytes than they load, and the power with which it does, for each byte more over those loaded: a block loads nothing
while its warps wait for rows, so that loads come in bursts. Bytes of an access of shared memory."""
FULL_THREADS = 1024
"""Threads resident on a multiprocessor for which `overlap` is given."""


@dataclass(slots=True, kw_only=True)
class WarpFeatures(Features):
    """Features of a warp-tile kernel. A tile is a warp's; bytes are per tile unless stated otherwise."""

    at_border: float
    """The share of the blocks whose tiles lie at the edges of the picture."""
    warps: int
    """Warps, and tiles, of a block."""
    resident_blocks: int
    """Blocks that a multiprocessor has registers, threads and shared memory for."""
    instructions: float
    """Instructions of one lane, without those that exchange rows between warps."""
    exchanges: float
    """Writes and reads of rows that go from warp to warp, of one lane."""
    barriers: int
    own_bytes: float
    """Points that no other tile reads or writes."""
    other_bytes: float
    """Points of neighbouring blocks' tiles that are loaded too."""
    stored_bytes: float
    loads: bool
    """Whether anything is loaded."""
    loaded_bytes: float
    """Bytes that one lane loads into tiles, all in flight at once."""
    touched_bytes: float
    """Bytes of one lane, counted as often as an access touches their lines in the first-level cache."""
    stored_again: float
    """Further bytes that stores of one lane touch, if rows are stored one element at a time."""
    guarded: bool
    """Whether rows that are loaded or stored are not aligned to vectors."""
    row_bytes: float
    """Average bytes of a warp's rows in memory."""
    rows: int
    """Rows of a block, including the halo."""
    unpaired_columns: int = 0
    """Columns of a lane where no two points share a register; else 0."""
    unpaired_share: float = 1.0
    """Share to which loads and stores of these, element by element, count beside the arithmetic."""

    def analytical(self, machine: Machine) -> float:
        return _microseconds(self, machine)

    def waves(self, machine: Machine) -> float:
        """Return the number of waves: blocks over the resident blocks of the GPU."""
        return self.blocks / (self.resident_blocks * machine.cores)

    def per_core(self, machine: Machine) -> int:
        """Return blocks of the fullest multiprocessor."""
        return -(-self.blocks // machine.cores)

    def resident_threads(self, machine: Machine) -> float:
        """Return the average number of resident threads of the kernel per multiprocessor."""
        busy = 1.0 - IDLE_PLACES * max(0.0, self.warps / PARTITIONS - 1.0)
        return busy * LANES * self.warps * min(self.resident_blocks, self.per_core(machine))


def _microseconds(work: WarpFeatures, machine: Machine) -> float:
    """Predict the microseconds of the kernel, with its launch."""
    c = machine.calibration
    per_core = work.per_core(machine)
    tiles, resident = work.blocks * work.warps, work.resident_threads(machine)
    together = min(1.0, work.resident_blocks / per_core)  # the share of the blocks in the first wave

    instructions = _instructions(work, machine)
    compute = _compute(work, instructions, machine)
    dram = _dram(work, machine)
    # neighbours in x share the ends of rows, and drift apart while they go down tall tiles
    drift = (1.0 - together) * min(1.0, max(0.0, (work.rows - 8) / 24))
    narrow = 1.0 + c.narrow_rows * max(0.0, 16 * LANES / work.row_bytes - 1.0) * drift
    store = tiles * work.stored_bytes / (machine.bytes_per_us * c.store_over_dram)
    cache = (
        tiles
        * (work.own_bytes + work.other_bytes + LANES * c.store_again * work.stored_again)
        / (machine.bytes_per_us * c.cache_over_dram)
    )
    memory = narrow * max(dram, store, cache)
    if work.loads:  # what is only stored waits for nothing
        memory *= math.sqrt(max(1.0, c.in_flight / max(1.0, resident * work.loaded_bytes)))

    # the shorter of the two hides behind the longer, the better the more threads there are; a first wave of blocks
    # loads together and computes together
    touched = work.loaded_bytes + c.touched_again * (work.touched_bytes - work.loaded_bytes)
    load = tiles * LANES * touched / (machine.instructions_per_us * c.load_bytes_per_instruction)
    longer, shorter = max(memory, compute), min(memory, compute)
    power = c.overlap * math.pow(resident / FULL_THREADS, c.overlap_power)
    both = max(beside(longer, shorter + load, power), memory * _bursts(work, machine))
    in_first_wave = min(1.0, c.desynchronized * together) * shorter
    tail = instructions * c.tail_us * (1.0 + c.guarded_tail * work.guarded)
    if work.loads:
        both += in_first_wave + work.blocks / machine.cores * c.block_us
    else:
        tail += in_first_wave + STORED_TAIL * work.stored_bytes / LANES
    return with_starts(both, work.blocks, work.loads) + tail + machine.launch_us


def least_microseconds(
    blocks: int, tiles: int, of_lane: tuple[float, float, float], machine: Machine, exchanges: float = 0.0
) -> float:
    """Return a lower bound of `predict` for `tiles` in `blocks`: the launch, and the longer of starts and instructions.

    `of_lane`: its instructions, those of its text, and the share of blocks at borders.
    """
    c = machine.calibration
    instructions, code, at_border = of_lane
    instructions += exchanges * c.exchange_row
    lanes = tiles * LANES * instructions * c.issue_overhead
    slower = (1.0 + c.code_penalty * max(0.0, code / c.code_limit - 1.0)) * (1.0 + c.border * at_border)
    computed = max(lanes * slower / machine.instructions_per_us, blocks * START_US)
    return 0.999 * (computed + instructions * c.tail_us + machine.launch_us)


def _instructions(work: WarpFeatures, machine: Machine) -> float:
    """Count the instructions of one lane, with waits at barriers converted to instructions."""
    c = machine.calibration
    # with few other blocks there is little to do while the warps of one wait for each other
    waiting = work.barriers * c.barrier / work.resident_blocks
    return work.instructions + work.exchanges * c.exchange_row + waiting


def _compute(work: WarpFeatures, of_lane: float, machine: Machine) -> float:
    """Predict the microseconds of all lanes' instructions, `of_lane` each, on the fullest multiprocessor."""
    c = machine.calibration
    code = 1.0 + c.code_penalty * max(0.0, work.code / c.code_limit - 1.0)
    instructions = work.blocks * work.warps * LANES * of_lane * c.issue_overhead * code
    compute = instructions / machine.instructions_per_us * (1.0 + c.border * work.at_border)
    if work.unpaired_columns >= MANY_COLUMNS:
        compute *= 1.0 + (UNPAIRED_COST - 1.0) * work.unpaired_share
    # some multiprocessors have a block more than others, and not only by one where blocks move in early; but where
    # all places are taken each has as many
    full = FULL_WAVE <= work.waves(machine) <= 1.0
    per_core = work.per_core(machine)
    idle = per_core * machine.cores / work.blocks - 1.0
    slow = math.pow(max(1.0, c.full_issue_threads / work.resident_threads(machine)), c.full_issue_power)
    return compute * slow * (1.0 + (1.0 if full else c.imbalance) * idle)


def _bursts(work: WarpFeatures, machine: Machine) -> float:
    """Return the time of memory that is not hidden, over that with loads always in flight."""
    if not work.loads:
        return 1.0
    ample = BURSTS_US * machine.bytes_per_us / machine.cores
    in_flight = max(1.0, work.resident_threads(machine) * work.loaded_bytes)
    passed = work.exchanges * ACCESS_BYTES / max(1.0, work.loaded_bytes)
    return math.pow(max(1.0, ample / in_flight), BURSTS_POWER * max(0.0, passed - 1.0))


def _dram(work: WarpFeatures, machine: Machine) -> float:
    """Predict the microseconds of DRAM traffic."""
    bytes = work.own_bytes + work.other_bytes * machine.calibration.overlap_miss
    return work.blocks * work.warps * bytes / machine.bytes_per_us


def saved_by_prefetch(work: WarpFeatures, time: float, machine: Machine) -> float:
    """Return the microseconds that prefetching saves; 0 where it does not pay."""
    dram, waves = _dram(work, machine), work.waves(machine)
    if not work.loads or dram >= BUSY_MEMORY * time:
        return 0.0
    if waves < FULL_WAVE or 1.0 < waves < 1.0 + SMALL_WAVE or waves > MOST_WAVES:
        return 0.0
    if waves > 1.0 or work.barriers:
        return PREFETCH_US / max(1.0, waves)
    # of a single wave DRAM works while the kernel before computes: it takes what its instructions take
    of_lane = _instructions(work, machine)
    computed = _compute(work, of_lane, machine) + PREFETCHED_TAIL * of_lane * machine.calibration.tail_us
    begun = BEGIN_US + work.blocks / machine.cores * BEGUN_US
    prefetched = machine.launch_us + PREFETCHED_US + beside(max(computed, begun), min(computed, begun), BEGIN_POWER)
    share = min(1.0, max(0.0, (WAITED_FOR - dram / prefetched) / (WAITED_FOR - IDLE_MEMORY)))
    return max(0.0, share * (time - prefetched) + (1.0 - share) * PREFETCH_US)
