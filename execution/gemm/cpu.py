"""Schedules of register blocks on a CPU, and their cycles: of a step, of memory, and of packing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from tilefuse.analysis.access import behind_boundaries, outer_reads
from tilefuse.analysis.dependence import depending
from tilefuse.analysis.instructions import instruction_cost
from tilefuse.analysis.machine import Machine
from tilefuse.dialects.img.ops import ReadOp, UpdateOp, WriteOp
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.execution.facts import GroupFacts, nominal_box
from tilefuse.execution.features import Features
from tilefuse.execution.gemm.attribute import GemmSchedule
from tilefuse.execution.gemm.vector_values import VectorValues, contiguous_reads, taken, vector_values

BLOCKS = ((2, 6), (2, 4), (4, 2), (2, 2), (4, 1), (2, 1))
"""Vectors along x, and rows, of blocks whose sums fit 16 registers."""
WIDE_BLOCKS = ((4, 6), (4, 5), (2, 12), (2, 8), *BLOCKS)
"""Vectors along x, and rows, of blocks whose sums fit 32 registers."""
ONE_VECTOR = ((1, 12), (1, 8))
"""Vectors along x, and rows, of blocks of functions with one vector along x, such as few channels."""
WIDE_ONE_VECTOR = ((1, 28), (1, 24), (1, 16), (1, 14), *ONE_VECTOR)
LOOPS = ((32, 1), (64, 1), (32, 4), (64, 4))
"""Points along x and rows of blocks that a compiler makes vectors of."""
ROWS_TOGETHER = 96
"""Rows of a thread that share copies."""
MORE_TOGETHER = 192
"""Rows of a thread that share copies where each core has `MANY_TILES` of so many rows: a product of matrices takes
0.95 of the time on two cores, and more on 16, which wait for the last tiles."""
SHARED_PLANES = (2, 4)
"""Planes that share copies, too, where a thread has all rows of each."""
PACK = 256
"""Steps whose operands are packed together, at most."""
PACK_SHARE = 2 / 3
"""Share of the first cache that what is packed may take: each block of rows reads it again."""
TILES_PER_CORE = 4
MANY_TILES = 16
GATHER = 4.0
"""Cycles of a lane that is loaded by itself."""
CHAIN = 4.0
"""Cycles from a sum to the next one with the same."""
STEP = 1.0
"""Cycles of a step beside its operations: addresses, and the end of the loop."""
FAR = 0.25
"""Cycles more of an element that comes from the second cache."""
LONG_BLOCK = 10000.0
"""Cycles of a block from which on threads take the next one when they are done, so that none waits for a slow core."""
LINE = 64
OFTEN = 4
"""Times that an operand is read from which on a cache gives it."""
RUN_BYTES = 512
"""Bytes side by side that memory gives at its rate: of fewer, it does not see them come."""
HIDDEN = 0.7
"""Share of the shorter one of memory and arithmetic that hides behind the other."""


@dataclass(slots=True, kw_only=True)
class CpuGemmFeatures(Features):
    """Counts of a kernel on a CPU."""

    bytes: float
    """Bytes from and to main memory, of the whole kernel; more if few of them are adjacent."""
    cycles: float
    """Cycles of a block."""

    def analytical(self, machine: Machine) -> float:
        memory = self.bytes / machine.bytes_per_us
        compute = math.ceil(self.blocks / machine.cores) * self.cycles / (machine.clock_ghz * 1e3)
        return max(memory, compute) + (1.0 - HIDDEN) * min(memory, compute) + machine.launch_us


def cpu_schedules(facts: GroupFacts, machine: Machine) -> Iterator[tuple[GemmSchedule, CpuGemmFeatures]]:
    """Return the schedules worth comparing, with their features."""
    update, pure = facts.update.update, facts.update_work.pure
    rank = len(pure)
    dims = [d for d in range(1, rank) if pure[d] > 1] or [1]
    element = max(element_bytes(old.type.element) for old in update.old_funcs if isinstance(old.type, FuncType))
    lanes = max(1, machine.vector_bytes // element)
    found = False
    for dim in dims if rank > 1 else [None]:
        for packs in (False, True):
            values = vector_values(update, dim, packs)
            if isinstance(values, str) or lanes == 1 or (packs and not values.packed and not values.by_columns):
                continue
            found = True
            for vectors, rows in _block_sizes(pure[0] <= lanes, machine):
                if (dim is None or rows > pure[dim]) and rows > 1:
                    continue
                pack = _packed_steps(vectors * machine.vector_bytes, machine) if packs else 0
                for schedule in _blocks(pure, dim, vectors * lanes, rows, lanes, pack, machine):
                    if schedule.rows_dim != dim:
                        continue  # a block of one row has it along y
                    if schedule.planes > 1 and not values.shares(update, schedule.planes_dim):
                        continue
                    is_far = _is_far(facts, schedule, machine)
                    cycles = _cycles(update, schedule, values, is_far)
                    if values.at_edges:
                        cycles = _with_edges(cycles, schedule, pure[0])
                    features = _features(facts, schedule, machine, cycles)
                    yield schedule.changed(dynamic=int(features.cycles >= LONG_BLOCK)), features
    if found:
        return
    for width, rows in LOOPS:
        if rank > 1 or rows == 1:
            points = [width, *[1] * (rank - 1)]
            if rank > 1:
                points[dims[0]] = rows
            schedule = GemmSchedule(threads=(1,) * rank, points=points)
            yield schedule, _features(facts, schedule, machine, _loop_cycles(update, schedule, lanes))


def _packed_steps(bytes: int, machine: Machine) -> int:
    """Return the steps to pack together: a power of two whose copies of `bytes` each stay in the first cache."""
    most = int(PACK_SHARE * machine.first_cache_bytes / bytes)
    return min(PACK, 1 << max(0, most.bit_length() - 1))


def _block_sizes(one_vector: bool, machine: Machine) -> Sequence[tuple[int, int]]:
    """Return the block sizes to compare: vectors along x, and rows."""
    if one_vector:
        return WIDE_ONE_VECTOR if machine.vector_registers >= 32 else ONE_VECTOR
    return WIDE_BLOCKS if machine.vector_registers >= 32 else BLOCKS


def _blocks(
    pure: tuple[int, ...], dim: int | None, width: int, rows: int, lanes: int, pack: int, machine: Machine
) -> Iterator[GemmSchedule]:
    """Yield schedules whose rows and planes per thread leave tiles for all cores."""
    points = [width, *[1] * (len(pure) - 1)]
    repeat = 1
    if dim is not None:
        points[dim] = rows
    if dim is not None and pack:
        others = math.prod(-(-n // p) for n, p in zip(pure, points, strict=True)) // -(-pure[dim] // rows)
        rows_per_core = others * pure[dim] // machine.cores
        together = MORE_TOGETHER if rows_per_core >= MANY_TILES * MORE_TOGETHER else ROWS_TOGETHER
        most = max(1, rows_per_core // (TILES_PER_CORE * rows))
        blocks = -(-pure[dim] // rows)
        # all tiles have about as many
        repeat = -(-blocks // max(1, round(blocks / max(1, min(together // rows, most)))))
    schedule = GemmSchedule(threads=(1,) * len(pure), points=points, vector=lanes, repeat=repeat, pack=pack)
    yield schedule
    if dim is None or rows == 1 or not pack or (beside := schedule.planes_dim) is None or rows * repeat < pure[dim]:
        return
    for planes in SHARED_PLANES:
        more = schedule.changed(planes=planes)
        if planes <= pure[beside] and _tiles(pure, more) >= TILES_PER_CORE * machine.cores:
            yield more


def _tiles(pure: Sequence[int], schedule: GemmSchedule) -> int:
    return math.prod(-(-n // t) for n, t in zip(pure, schedule.tile_sizes, strict=True))


def _features(facts: GroupFacts, schedule: GemmSchedule, machine: Machine, cycles: float) -> CpuGemmFeatures:
    work, size = facts.update_work, facts.model.nodes[facts.output].bytes
    read = _touched_bytes(facts)
    points = math.prod(work.pure) * work.steps
    if _is_far(facts, schedule, machine) and points * size < OFTEN * read:
        read *= max(1.0, RUN_BYTES / (schedule.points[0] * size))
    return CpuGemmFeatures(
        blocks=_tiles(work.pure, schedule),
        bytes=math.prod(work.pure) * facts.ends_bytes + read,
        cycles=schedule.repeat * schedule.planes * work.steps * (cycles + STEP),
    )


def _is_far(facts: GroupFacts, schedule: GemmSchedule, machine: Machine) -> bool:
    """Whether a block's operands leave the L1 cache before the next block begins."""
    run = max(LINE, schedule.points[0] * facts.model.nodes[facts.output].bytes)
    return run * facts.update_work.steps > machine.first_cache_bytes / 2


def _touched_bytes(facts: GroupFacts) -> float:
    """Return the bytes of the needed boxes of all functions that are read, each counted once."""
    nodes, node_of, update = facts.model.nodes, facts.model.node_of, facts.update.update
    found = {node_of[behind_boundaries(read.source)[0]] for read in outer_reads(update)}
    boxes = {id: nodes[id].needed or nominal_box(facts.model, id, facts.extent) for id in found}
    return float(sum(math.prod(box) * nodes[id].bytes for id, box in boxes.items()))


def _cycles(update: UpdateOp, schedule: GemmSchedule, values: VectorValues, is_far: bool) -> float:
    """Return the cycles of a step of a block of vectors, two operations and loads each; `is_far`: beyond L1."""
    vectors, rows = schedule.points[0] // schedule.lanes, schedule.rows
    packed = set(values.packed)
    shared = {v for v in values.along_x - values.by_row if isinstance(v.owner, Operation)} if packed else set()
    operations, loads, copied = float(len(update.old_funcs) * vectors * rows), len(packed) * vectors, 0.0
    side_by = set(contiguous_reads(update, update.pure[0]))
    missed = FAR * schedule.points[0] if is_far else 0.0
    misses = 0.0
    ahead, of_columns = set[Operation](), 0.0
    if schedule.pack and values.by_columns:
        ahead, of_columns = _ahead(update, values), rows * _cycles_of_columns(update, schedule, values)
        loads += rows * len(values.by_columns)
        copied += GATHER * len(values.of_steps)
    for op in update.body.block.ops:
        if isinstance(op, WriteOp) or not op.results or op in ahead:
            continue
        value: SSAValue = op.results[0]
        times = rows if value in values.by_row else 1
        if value in shared:
            copied += 2.0 * vectors + missed if op in side_by else GATHER * schedule.points[0]
            continue
        misses += times * missed if isinstance(op, ReadOp) and value in values.along_x else 0.0
        times *= vectors if value in values.along_x else 1
        if isinstance(op, ReadOp):
            loads += times
        else:
            operations += times * (0.0 if _fuses(op) else instruction_cost(op))
    return max(operations / 2, loads / 2, CHAIN) + misses + copied / (schedule.repeat * schedule.planes) + of_columns


def _with_edges(cycles: float, schedule: GemmSchedule, columns: int) -> float:
    """Return the cycles of a step of a block whose first and last points along x are computed one by one."""
    blocks = -(-columns // schedule.points[0])
    edges = min(1.0, 2 / blocks)
    return (1 - edges) * cycles + edges * CHAIN * schedule.points[0] * schedule.rows


def _ahead(update: UpdateOp, values: VectorValues) -> set[Operation]:
    """Return the operations that only row values depend on, and that are computed before the steps."""
    ahead: set[Operation] = set()
    for op in reversed(list(update.body.block.ops)):
        users = [use.operation for r in op.results for use in r.uses]
        if any(r in values.by_columns for r in op.results) or (users and all(user in ahead for user in users)):
            ahead.add(op)
    return ahead


def _cycles_of_columns(update: UpdateOp, schedule: GemmSchedule, values: VectorValues) -> float:
    """Return the cycles of a precomputed row value per step: by vectors along the domain, or one by one."""
    inner = update.domain[0].coordinate
    moving = depending(update.body.block.ops, [inner])
    moving -= {r for v in values.of_steps for op in taken(v) for r in op.results}
    operations = [op for op in _ahead(update, values) if not moving.isdisjoint(op.results)]
    reads = [op for op in operations if isinstance(op, ReadOp)]
    lanes = schedule.lanes if values.along_steps else 1
    cost = sum(instruction_cost(op) for op in operations if not isinstance(op, ReadOp))
    return (cost + len(reads) + len(values.of_steps) + len(values.by_columns)) / 2 / lanes


def _loop_cycles(update: UpdateOp, schedule: GemmSchedule, lanes: int) -> float:
    """Return the cycles of a step with sums in an array; strided values are loaded lane by lane."""
    width, rows = schedule.points[0], schedule.rows
    vectors = max(1.0, width / lanes)
    wide, along_x = contiguous_reads(update, update.pure[0]), depending(update.body.block.ops, [update.pure[0]])
    cycles = 3.0 * vectors * rows * len(update.old_funcs)
    for op in update.body.block.ops:
        if along_x.isdisjoint(op.operands):
            cycles += rows
            continue
        if isinstance(op, ReadOp):
            cycles += rows * (vectors if op in wide else GATHER * width)
        elif not isinstance(op, WriteOp):
            cycles += rows * vectors * instruction_cost(op)
    return cycles


def _fuses(op: Operation) -> bool:
    return isinstance(op, arith.MulfOp) and all(isinstance(u.operation, WriteOp) for u in op.results[0].uses)
