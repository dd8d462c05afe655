"""Features of a reduction with register blocks: loads and operations that points share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from tilefuse.analysis.access import behind_boundaries, coordinates, indices_of, outer_reads
from tilefuse.analysis.index import GeneralIndex
from tilefuse.analysis.instructions import instruction_cost
from tilefuse.analysis.machine import Machine
from tilefuse.dialects.img.ops import ReadOp, UpdateOp, WriteOp
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.execution.facts import GroupFacts, nominal_box
from tilefuse.execution.features import Features
from tilefuse.execution.gemm.attribute import GemmSchedule
from tilefuse.execution.gemm.slices import sizes_of, unrolled_steps
from tilefuse.execution.operands import Operand

READ_INSTRUCTIONS = 2.0
"""Instructions of a read: its address, and the load."""
WARPS_AT_RATE = 6.0
"""Warps per scheduler, times what each has to do at once, that keep a multiprocessor busy."""
SCHEDULERS = 4
CACHE_READS_PER_INSTRUCTION = 0.5
"""Reads of the L1 cache by a warp in the time of one of its instructions on all schedulers."""

RESIDENT_THREADS = 2048
"""Threads of a multiprocessor that hide how long loads take which registers wait for."""
OTHERS_NOT_HIDDEN = 0.15
"""Share of memory, caches and arithmetic that does not hide behind the longest of them."""
KEPT_BYTES = 16 << 20
"""Bytes of a function that the L2 cache keeps from one layer of tiles to the next."""
L2_SECTOR = 32
"""Bytes that are loaded from the L2 cache at once."""
L2_RATIO = 1.3
"""Bytes from the L2 cache in the time of one from main memory."""
COPY = 5.0
"""Instructions of a copy to shared memory."""
LOAD_PASSES = 2.0
"""Passes of a warp's vector load from shared memory, if adjacent lanes share the vector; else twice as many."""
PASSES_PER_INSTRUCTION = 0.25
"""Such passes in the time of one instruction on all schedulers."""
UNSTAGED = 2.0
"""Loads from shared memory in the time of one through the L1 cache, with its address."""
COPY_US = 0.4
"""Microseconds from a copy to its use, with a barrier, where nothing hides them."""
SINGLE_SLICE_WARPS = 16.0
"""Warps of a multiprocessor that hide what blocks of a single slice wait for."""
SINGLE_SLICE_NOT_HIDDEN = 0.3
"""Share of memory, copies and arithmetic of such blocks that does not hide behind the longest of them."""
SINGLE_SLICE_BLOCKS = 4.0
"""Such blocks on a multiprocessor, from which on no more is hidden."""
SINGLE_SLICE_US = 0.05
"""Microseconds for each that a multiprocessor begins."""
INSTRUCTION_US = 0.0006
"""Microseconds of an instruction of a thread, where few threads run beside it."""
NEXT_DIMENSION = 1.5
"""Time of blocks of points along a dimension over those along the one before, where operands lie alike."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Operations of a thread for one step of its points; shared operations count once."""

    operations: float
    reads: int


@lru_cache(maxsize=512)
def shared(update: UpdateOp, points: tuple[int, ...], unroll: int) -> Shared:
    """Count the operations and reads of `points` pure points and `unroll` innermost steps, shared ones once.

    Per step. Reads at computed places count as different ones wherever what they are computed from is.
    """
    along: dict[SSAValue, int] = {c: n for c, n in zip(update.pure, points, strict=True) if n > 1}
    along[update.domain[0].coordinate] = unroll
    depends: dict[SSAValue, frozenset[SSAValue]] = {c: frozenset([c]) for c in along}
    operations, reads, combining = 0.0, 0, len(update.old_funcs) * math.prod(points) * unroll
    for op in update.body.block.ops:
        on = frozenset[SSAValue]().union(*(depends.get(v, frozenset()) for v in op.operands))
        if isinstance(op, ReadOp):
            reads += _places(op, along, depends)
        elif not isinstance(op, WriteOp):
            cost = 0.0 if _fuses(op, update) else instruction_cost(op)
            operations += cost * math.prod(along[c] for c in on)
        for result in op.results:
            depends[result] = on
    return Shared((operations + combining) / unroll, math.ceil(reads / unroll))


def _fuses(op: Operation, update: UpdateOp) -> bool:
    """Whether an op is a product that is only added: the two fuse to one instruction."""
    if not isinstance(op, arith.MulfOp | arith.MuliOp):
        return False
    terms = dict(zip(update.write_op.values, update.combiners, strict=True))
    return all(u.operation is update.write_op for u in op.result.uses) and terms.get(op.result) == "add"


def _places(op: ReadOp, along: dict[SSAValue, int], depends: dict[SSAValue, frozenset[SSAValue]]) -> int:
    """Count the distinct places of a read among the points."""
    behind = frozenset[SSAValue]().union(*(depends.get(v, frozenset()) for v in op.indices))
    if any(v not in along and depends.get(v) for v in op.indices):
        return math.prod(along[c] for c in behind)
    ordered = sorted(behind, key=list(along).index)
    slots = {v: n for n, v in enumerate(ordered)}
    return different_places(
        op.map.data.results, tuple(slots.get(v) for v in op.indices), tuple(along[c] for c in ordered)
    )


@lru_cache(maxsize=4096)
def different_places(exprs: tuple[AffineExpr, ...], slots: tuple[int | None, ...], counts: tuple[int, ...]) -> int:
    """Count the distinct values of expressions over all points of a box of `counts`.

    Operand n of the expressions is the coordinate `slots[n]` of a point, or 0.
    """
    used = [{s for d in x.used_dims() if (s := slots[d]) is not None} for x in exprs]
    found, rest = 1, set(range(len(exprs)))
    while rest:
        # what has a coordinate in common, directly or by others
        together, on = {min(rest)}, set(used[min(rest)])
        while more := {n for n in rest - together if used[n] & on}:
            together |= more
            on |= set().union(*(used[n] for n in more))
        rest -= together
        places = set()
        for offsets in product(*(range(n) if s in on else (0,) for s, n in enumerate(counts))):
            at = [0 if s is None else offsets[s] for s in slots]
            places.add(tuple(exprs[n].eval(at, []) for n in sorted(together)))
        found *= len(places)
    return found


def around(update: UpdateOp, points: tuple[int, ...]) -> float:
    """Count the bytes that a thread loads per step around its points, from windows or data-dependent places.

    Of a place that data decide a whole sector is loaded.
    """
    along: dict[SSAValue, int] = {c: n for c, n in zip(update.pure, points, strict=True) if n > 1}
    depends: dict[SSAValue, frozenset[SSAValue]] = {c: frozenset([c]) for c in along}
    of, bytes = coordinates(update), 0.0
    for op in update.body.block.ops:
        on = frozenset[SSAValue]().union(*(depends.get(v, frozenset()) for v in op.operands))
        depends |= dict.fromkeys(op.results, on)
        if not isinstance(op, ReadOp) or op.source in update.currents:
            continue
        indices = indices_of(op, of)
        if any(isinstance(i, GeneralIndex) for i in indices) and isinstance(op.source.type, FuncType):
            computed = any(isinstance(i, GeneralIndex) and i.data_dependent for i in indices)
            bytes += _places(op, along, depends) * (L2_SECTOR if computed else element_bytes(op.source.type.element))
    return bytes


def streams(update: UpdateOp) -> bool:
    """Whether each step reads new values for each point of a picture, so that memory must deliver them.

    So do caches what is read at a place that data decide.
    """
    own, of = {*update.pure[:2], *(d.coordinate for d in update.domain)}, coordinates(update)
    reads = outer_reads(update)
    return any(own <= set(op.indices) and _has_one_value_indices(op) for op in reads) or any(
        isinstance(i, GeneralIndex) and i.data_dependent for op in reads for i in indices_of(op, of)
    )


def _has_one_value_indices(op: ReadOp) -> bool:
    """Whether each index of a read depends on at most one value."""
    return all(len(set(x.used_dims())) <= 1 for x in op.map.data.results)


def staged_loads(update: UpdateOp, schedule: GemmSchedule, staged: Sequence[Operand]) -> float:
    """Count a thread's loads from shared memory per step of its points, by vectors where aligned.

    Reads that are not staged count as loads, too.
    """
    sizes = sizes_of(update, schedule)
    operand_of = {read: o for o in staged for read in o.constants}
    written = unrolled_steps(schedule.slice, schedule.unroll)
    written += [max(1, schedule.unroll // math.prod(written))] * (len(written) < len(schedule.slice))
    along: dict[SSAValue, int] = {c: n for c, n in zip(update.pure, schedule.points, strict=True) if n > 1}
    along |= {d.coordinate: n for d, n in zip(update.domain, written, strict=False)}
    multiples = {update.pure[0]: schedule.run} | {d.coordinate: along.get(d.coordinate, 1) for d in update.domain}
    depends: dict[SSAValue, frozenset[SSAValue]] = {c: frozenset([c]) for c in along}
    loads = 0.0
    for op in update.body.block.ops:
        on = frozenset[SSAValue]().union(*(depends.get(v, frozenset()) for v in op.operands))
        depends |= dict.fromkeys(op.results, on)
        if not isinstance(op, ReadOp):
            continue
        width = 1 / UNSTAGED
        if (operand := operand_of.get(op)) is not None and operand.axes:
            terms = operand.axes[0].terms
            multiple = math.gcd(*(n * multiples.get(v, 1) for v, n in terms.items() if sizes.get(v, 1) > 1))
            width = float(operand.width if multiple % operand.width == 0 and operand.extents[0] > 1 else 1)
        loads += _places(op, along, depends) / width
    return loads / math.prod(written)


@dataclass(slots=True, kw_only=True)
class StagedFeatures(Features):
    """Counts of a kernel with staged operands."""

    bytes: float
    """Bytes from and to main memory, of the whole kernel, if operands are read once."""
    staged_bytes: float
    """Bytes that a block stages for one slice."""
    copies: float
    """Copies of a thread for one slice."""
    operations: float
    """Operations of a thread in one step."""
    loads: float
    """Loads of a thread from shared memory, for one step."""
    steps: float
    """Points of the domain."""
    slices: float
    """Slices of the domain."""
    threads: int
    """Threads of a block."""
    registers: int
    """Estimated registers of a thread."""
    shared: int
    """Bytes of shared memory of a block."""
    parallel: float
    """Operations of a thread that wait for none of each other."""
    buffers: int
    shares: bool
    """Whether a warp is a patch of threads, so that neighbours share what they load."""

    def analytical(self, machine: Machine) -> float:
        of_registers = machine.registers_per_core // (self.registers * self.threads)
        of_shared = machine.fast_bytes_per_core // max(1, self.shared)
        resident = max(1, min(machine.max_threads_per_core // self.threads, of_registers, of_shared, 32))
        per_sm = math.ceil(self.blocks / machine.cores)
        full, rest = divmod(per_sm, resident)
        time = full * self._wave(machine, resident) + (self._wave(machine, rest) if rest else 0.0)
        through_l2 = self.blocks * self.slices * self.staged_bytes / (L2_RATIO * machine.bytes_per_us)
        parts = (self.bytes / machine.bytes_per_us, through_l2, time)
        if self.slices > 1:
            return max(parts) + machine.launch_us
        if self.bytes <= machine.cores * machine.fast_bytes_per_core:
            return self._small(machine, per_sm, resident) + machine.launch_us
        # a block that copies once and then computes hides nothing of either: only the warps of others do
        waiting: float = max(1.0, SINGLE_SLICE_WARPS / (resident * self.threads / 32)) ** 0.5
        share: float = SINGLE_SLICE_NOT_HIDDEN * max(1.0, SINGLE_SLICE_BLOCKS / resident) ** 0.5
        begun = per_sm * SINGLE_SLICE_US
        return (max(parts) + share * (sum(parts) - max(parts))) * waiting + begun + machine.launch_us

    def _small(self, machine: Machine, per_sm: int, resident: int) -> float:
        """Predict a kernel of single slices whose operands fit all multiprocessors together at once.

        All blocks copy at the same time, and then all compute: of neither does the other hide anything.
        """
        full, rest = divmod(per_sm, resident)
        compute = full * self._compute(machine, resident) + (self._compute(machine, rest) if rest else 0.0)
        most = per_sm * machine.cores / self.blocks
        bytes = max(self.bytes, self.blocks * self.staged_bytes / L2_RATIO) * most
        chain = (full + (rest > 0)) * (self.steps * (self.operations + self.loads) + self.copies * COPY)
        return bytes / machine.bytes_per_us + compute + chain * INSTRUCTION_US + per_sm * SINGLE_SLICE_US

    def _compute(self, machine: Machine, blocks: int) -> float:
        """Predict the microseconds of the instructions of this many blocks on one multiprocessor."""
        warps = blocks * self.threads / 32
        rate = machine.instructions_per_us / machine.cores / 32
        busy = min(1.0, warps / SCHEDULERS * self.parallel / WARPS_AT_RATE / 8)
        passes = self.loads * (1.0 if self.shares else 2.0) * LOAD_PASSES / PASSES_PER_INSTRUCTION
        each = max(self.operations + self.loads, passes)
        return warps * (self.steps * each + self.slices * self.copies * COPY) / (rate * busy)

    def _wave(self, machine: Machine, blocks: int) -> float:
        """Predict the microseconds of this many concurrent blocks on one multiprocessor."""
        compute = self._compute(machine, blocks)
        copies = blocks * self.slices * self.staged_bytes / (L2_RATIO * machine.bytes_per_us / machine.cores)
        # blocks beside it, and slices that are on their way already, hide a part of the wait
        hidden = blocks * max(1, self.buffers - 1 if self.slices > 1 else 1)
        return max(compute, copies) + (min(compute, copies) + self.slices * COPY_US) / hidden


@dataclass(slots=True, kw_only=True)
class GemmFeatures(Features):
    """Counts of a kernel and of a thread."""

    bytes: float
    """Bytes from and to main memory, of the whole kernel, if operands are read once."""
    instructions: float
    """Instructions of a thread in one step."""
    reads: float
    """Loads of a thread through the L1 cache, for one step."""
    steps: float
    """Points of the domain."""
    threads: int
    """Threads of a block."""
    registers: int
    """Estimated registers of a thread."""
    parallel: float
    """Operations of a thread that wait for none of each other."""
    around: float
    """Bytes of a thread from the L2 cache for one step, at places around its points; 0 where memory gives it nothing
    new at each step, and waiting for that is no matter."""
    spread: int
    """The last dimension along which a thread has several points: the further, the less of a line do these share."""

    def analytical(self, machine: Machine) -> float:
        memory = self.bytes / machine.bytes_per_us
        if not machine.is_gpu:
            lanes = machine.instructions_per_us / machine.cores
            rounds = math.ceil(self.blocks / machine.cores)
            return max(memory, rounds * self.steps * self.instructions / lanes) + machine.launch_us
        of_registers = max(1, min(machine.registers_per_core // (self.registers * self.threads), 32))
        resident = max(1, min(machine.max_threads_per_core // self.threads, of_registers))
        per_sm = math.ceil(self.blocks / machine.cores)
        rounds = math.ceil(per_sm / resident)
        # the last round has fewer blocks on a multiprocessor, which then run at the rate that they can alone
        time, left = 0.0, per_sm
        for _ in range(min(rounds, 2)):
            now = min(resident, left)
            share = (rounds - 1) if now == resident and rounds > 1 and time == 0.0 else 1
            time += share * self._wave(machine, now)
            left -= share * now
        if not self.around:
            return max(memory, time * NEXT_DIMENSION ** (self.spread - 1)) + machine.launch_us
        loaded = self.around * self.steps * self.threads * self.blocks / (L2_RATIO * machine.bytes_per_us)
        waiting: float = max(1.0, RESIDENT_THREADS / (resident * self.threads)) ** 0.5
        parts: tuple[float, ...] = (memory * waiting, loaded * waiting, time * NEXT_DIMENSION ** (self.spread - 1))
        return max(parts) + OTHERS_NOT_HIDDEN * (sum(parts) - max(parts)) + machine.launch_us

    def _wave(self, machine: Machine, blocks: int) -> float:
        """Predict the microseconds of this many concurrent blocks on one multiprocessor."""
        warps = blocks * self.threads / 32
        rate = machine.instructions_per_us / machine.cores / 32
        busy = min(1.0, warps / SCHEDULERS * self.parallel / WARPS_AT_RATE / 8)
        issue = warps * max(
            self.instructions + READ_INSTRUCTIONS * self.reads, self.reads / CACHE_READS_PER_INSTRUCTION
        )
        return self.steps * issue / (rate * busy)


def operand_bytes(facts: GroupFacts, tile: Sequence[int] = ()) -> float:
    """Return the bytes of all functions that are read, each counted once.

    With the `tile` of a block: large ones once for each of the tiles that lie behind one another and read the same of
    them, in the dimensions from the third on. No cache keeps them for so long.
    """
    update, nodes, pure = facts.update.update, facts.model.nodes, facts.update_work.pure
    depends: dict[SSAValue, frozenset[SSAValue]] = {c: frozenset([c]) for c in update.pure}
    times: dict[int, int] = {}
    for op in update.body.block.ops:
        on = frozenset[SSAValue]().union(*(depends.get(v, frozenset()) for v in op.operands))
        depends |= dict.fromkeys(op.results, on)
        base = facts.model.node_of.get(behind_boundaries(op.source)[0]) if isinstance(op, ReadOp) else None
        if base is not None:
            behind = [d for d in range(2, len(tile)) if update.pure[d] not in on]
            again = math.prod(-(-pure[d] // tile[d]) for d in behind)
            times[base] = max(times.get(base, 1), again)
    found = 0.0
    for id, again in times.items():
        box = nominal_box(facts.model, id, facts.extent)
        bytes = float(math.prod((nodes[id].needed or box) if tile else box) * nodes[id].bytes)
        found += bytes * (again if bytes > KEPT_BYTES else 1)
    return found
