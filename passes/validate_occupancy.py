"""`validate-occupancy`: hold every schedule against what the target has.

Checks, per group: the schedule is well-formed for its execution model; threads, shared memory and registers of
a block are within the target's limits, by NVIDIA's allocation rules (`targets/occupancy.py`); at least one
block fits a multiprocessor. Registers and spills are known where a compiler's report has put `registers` and
`spill_bytes` on the group. On a CPU the arrays of a tile lie on a thread's stack and have to fit there. Code that is
written out for a thread has a budget (`execution/written_out.py`), as compilers are slow over it. Too much
of anything is an error that names the limit and the stage; with `fix=true` the tile is made smaller instead. The
result stands on the group as `occupancy` (for a GPU).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.passes import ModulePass

from tilefuse.analysis.machine import check_target
from tilefuse.analysis.model import PipelineModel, extract
from tilefuse.analysis.regions import NotFusable, alignment, fixed_span, follow_chain, regions
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import Memory, ScheduleAttr, Shape
from tilefuse.dialects.img.ops import EVEN, GroupOp, PipelineOp
from tilefuse.execution.block_tile.placement import Placement, prefetched, row_step, shared_bytes
from tilefuse.execution.places import check_places
from tilefuse.execution.warp_tile.layout import LANES, exchange_bytes, group_layout, warp_layout
from tilefuse.execution.written_out import MOST_WRITTEN_OUT, written_out
from tilefuse.targets.gpus import Gpu, gpu
from tilefuse.targets.occupancy import exceeded_limits, occupancy

ASSUMED_REGISTERS = 32
"""Registers per thread counted with where no compiler has reported any."""

STACK_BYTES = 4 << 20
"""Most that the arrays of a CPU's tile may take: half of what Linux gives the stack of a thread."""


@dataclass(frozen=True)
class _Need:
    threads: int
    registers: int
    shared: int
    largest: str
    """The stage that takes most shared memory."""


def _complain(group: GroupOp, message: str) -> PipelineError:
    return PipelineError(f"group '{group.sym_name.data}': {message}", group)


def _int(group: GroupOp, key: str) -> int | None:
    attr = group.attributes.get(key)
    return attr.value.data if isinstance(attr, IntegerAttr) else None


def _check_shape(group: GroupOp, model: PipelineModel) -> None:
    """Whether the schedule can be lowered at all."""
    schedule = group.schedule
    assert schedule is not None
    check_places(group, model)
    ids = [model.node_of[s.funcs[0]] for s in group.stages]
    output = model.node_of[group.output_stage.funcs[0]]
    try:
        follow = follow_chain(model, ids, output)
        if schedule.execution is Shape.WarpTile:
            group_layout(group, model)
            return
    except NotFusable as error:
        raise _complain(group, str(error)) from error
    for d, (tile, threads) in enumerate(zip(schedule.tile_sizes, schedule.thread_counts, strict=True)):
        fixed = fixed_span(model, output, d)
        if fixed is not None and tile != fixed[1] - fixed[0] + 1:
            raise _complain(group, f"dimension {d} has {fixed[1] - fixed[0] + 1} points and is not tiled by {tile}")
        if tile % threads or (
            d == 0 and (tile // threads) % schedule.vector_width and math.prod(schedule.thread_counts) > 1
        ):
            raise _complain(
                group,
                f"a tile of {tile} in dimension {d} is not shared evenly by {threads} threads"
                + (f" with {schedule.vector_width} points each" if d == 0 else ""),
            )
        if d > 2 and threads > 1:
            raise _complain(group, f"threads lie in the first three dimensions; dimension {d} has {threads}")
    for d, (tile, step) in enumerate(
        zip(schedule.tile_sizes, alignment(follow, len(schedule.tile_sizes)), strict=True)
    ):
        if tile % step:
            raise _complain(group, f"scaled accesses need a tile of a multiple of {step} in dimension {d}, not {tile}")


def _need(group: GroupOp, model: PipelineModel) -> _Need:
    schedule = group.schedule
    assert schedule is not None
    ids = {model.node_of[s.funcs[0]]: s for s in group.stages}
    output = model.node_of[group.output_stage.funcs[0]]
    registers = _int(group, "registers") or ASSUMED_REGISTERS
    threads = math.prod(schedule.thread_counts)
    if schedule.execution is Shape.WarpTile:
        return _Need(threads, registers, exchange_bytes(model, group_layout(group, model)), group.sym_name.data)
    region = regions(model, list(ids), output, schedule.tile_sizes)
    places = {
        id: Placement(*s.place.where, s.place.slot.data, s.place.pad.data)
        for id, s in ids.items()
        if s.place is not None
    }
    steps = {id: row_step(s, schedule) for id, s in ids.items()}
    twice = {model.node_of[s.funcs[0]] for s in prefetched(group)}
    shared = [id for id, p in places.items() if p.memory is Memory.Shared]
    largest = max(shared, key=lambda id: region[id].points * model.nodes[id].bytes, default=output)
    return _Need(threads, registers, shared_bytes(model, places, region, steps, twice), ids[largest].sym_name.data)


def _arrays(group: GroupOp, model: PipelineModel) -> tuple[int, str]:
    """Bytes that the arrays of a tile take on a CPU, and the stage, or input, that takes most of them."""
    schedule = group.schedule
    assert schedule is not None
    if schedule.execution is Shape.BlockTile:
        need = _need(group, model)
        return need.shared, need.largest
    layout = group_layout(group, model)
    arrays = [(model.nodes[id].name, held) for id, held in layout.stages.items()]
    arrays += [(model.nodes[id].name, held) for (id, _), held in layout.sources.items()]
    sizes = []
    for name, held in arrays:
        rows, columns = layout.pitch + sum(held.wide), LANES * layout.vector + sum(held.reach)
        points = layout.warps * rows * columns * math.prod(b - a + 1 for a, b in held.rest)
        sizes.append((points * held.bytes, name))
    return sum(size for size, _ in sizes), max(sizes)[1]


def _smaller(group: GroupOp, model: PipelineModel) -> ScheduleAttr | None:
    """The schedule with half the rows (then half the columns) per block; None if there is nothing to halve."""
    schedule = group.schedule
    assert schedule is not None
    output = model.node_of[group.output_stage.funcs[0]]
    tile, threads = list(schedule.tile_sizes), list(schedule.thread_counts)
    if schedule.execution is Shape.WarpTile:
        return _smaller_warp_tile(group, model)
    for d in (1, 0):
        if d >= len(tile) or fixed_span(model, output, d) is not None or tile[d] % 2:
            continue
        minimum = schedule.vector_width if d == 0 else 1
        if (tile[d] // 2) % threads[d] == 0 and tile[d] // 2 // threads[d] >= minimum:
            tile[d] //= 2
        elif threads[d] % 2 == 0:
            tile[d] //= 2
            threads[d] //= 2
        else:
            continue
        return ScheduleAttr.new_from(schedule, tile=tile, threads=threads)
    return None


def _fewer_blocks(group: GroupOp, on: Gpu) -> ScheduleAttr | None:
    """The schedule with registers shared by fewer blocks, if that may be what makes them spill."""
    schedule = group.schedule
    assert schedule is not None
    blocks = schedule.resident_blocks
    if schedule.execution is not Shape.WarpTile or blocks == 1:
        return None
    # what was given, and what was missing, at 4 bytes each
    need = (_int(group, "registers") or ASSUMED_REGISTERS) + (_int(group, "spill_bytes") or 0) // 4
    enough = on.registers_per_sm // (need * math.prod(schedule.thread_counts))
    # left to itself (0), a compiler may spill to make room for more blocks than it is asked for
    return ScheduleAttr.new_from(schedule, blocks=max(1, min(enough, blocks - 1) if blocks else enough))


def _smaller_warp_tile(group: GroupOp, model: PipelineModel) -> ScheduleAttr | None:
    """Half the rows per warp; from one row on half the columns per lane, with four rows again."""
    schedule = group.schedule
    assert schedule is not None
    ids = [model.node_of[s.funcs[0]] for s in group.stages]
    output = model.node_of[group.output_stage.funcs[0]]
    old = group_layout(group, model)
    exchanged = [id for id, held in old.stages.items() if held.exchanged]
    pitch, vector = old.pitch // 2, old.vector
    while vector:
        width = LANES * vector
        try:
            follow = follow_chain(model, ids, output)
            region = regions(model, ids, output, [width, *schedule.tile_sizes[1:]], follow)
            layout = warp_layout(
                model, ids, output, region, width, vector, old.warps,
                pitch=max(1, pitch), exchanged=exchanged,
            )  # fmt: skip
        except NotFusable:
            layout = None
        if pitch and layout is not None:
            tile = [layout.width, layout.height, *schedule.tile_sizes[2:]]
            return ScheduleAttr.new_from(schedule, tile=tile, vector=vector)
        vector, pitch = vector // 2, 4
    return None


@dataclass(frozen=True)
class ValidateOccupancy(ModulePass):
    """Check every schedule against the target's threads, registers and shared memory."""

    name = "validate-occupancy"

    target: str = "h200"
    """A GPU's model or arch, or cpu."""
    fix: bool = False
    """Make tiles smaller until they fit, instead of an error."""
    keep: tuple[str, ...] = ()
    """Groups, by name, that `fix` does not change: those scheduled by hand."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_target(self.target, self.name)
        on = gpu(self.target) if self.target != "cpu" else None
        for pipeline in op.body.block.ops:
            if not isinstance(pipeline, PipelineOp):
                continue
            groups = [g for g in pipeline.body.block.ops if isinstance(g, GroupOp)]
            model = extract(pipeline) if groups else None
            for group in groups:
                assert model is not None
                if group.schedule is None:
                    raise _complain(group, "there is no schedule to validate; run tile first")
                self._validate(group, model, on)

    def _validate(self, group: GroupOp, model: PipelineModel, on: Gpu | None) -> None:
        _check_shape(group, model)
        while True:
            problems = self._problems(group, model, on) if on is not None else self._cpu_problems(group, model)
            if not problems:
                break
            kept = group.sym_name.data in self.keep
            smaller = None
            if self.fix and not kept:
                if on is not None and _int(group, "spill_bytes") and len(problems) == 1:
                    smaller = _fewer_blocks(group, on)
                smaller = smaller or _smaller(group, model)
            if smaller is None:
                raise _complain(
                    group,
                    f"{'; '.join(problems)} on {on.name if on is not None else 'a CPU'}. " + self._remedy(kept),
                )
            group.schedule = smaller
            group.attributes.pop(EVEN, None)  # its blocks are others
            # what was reported belongs to the old tile
            group.attributes.pop("registers", None)
            group.attributes.pop("spill_bytes", None)
        if on is None:
            return
        need = _need(group, model)
        found = occupancy(on, need.threads, need.registers, need.shared)
        group.attributes["occupancy"] = StringAttr(
            f"{found.blocks_per_sm} blocks per SM, {found.fraction:.0%} of the warps, limited by {found.limited_by}; "
            f"{need.shared} shared bytes"
        )

    def _remedy(self, kept: bool) -> str:
        if not self.fix:
            return "Use a smaller tile, or fix=true"
        return "Its schedule is kept; write a smaller tile" if kept else "No smaller tile is left"

    def _too_long(self, group: GroupOp, model: PipelineModel) -> list[str]:
        """Say so where more code is written out than a compiler takes a reasonable time for.

        No problem where `fix` has nothing smaller: the compiler takes its time then, but the pipeline compiles.
        """
        operations, longest = written_out(group, model)
        may_change = self.fix and group.sym_name.data not in self.keep
        if operations <= MOST_WRITTEN_OUT or (may_change and _smaller(group, model) is None):
            return []
        return [
            f"about {operations} operations are written out for a thread, most of them of '{longest}', where "
            f"{MOST_WRITTEN_OUT} are the most; a smaller tile, more threads or less unroll have fewer"
        ]

    def _cpu_problems(self, group: GroupOp, model: PipelineModel) -> list[str]:
        size, largest = _arrays(group, model)
        assert group.schedule is not None
        # warp tiles are arrays and loops there
        problems = self._too_long(group, model) if group.schedule.execution is Shape.BlockTile else []
        if size > STACK_BYTES:
            problems.append(f"{size} bytes of stack, most of them for '{largest}', where a tile has {STACK_BYTES}")
        return problems

    def _problems(self, group: GroupOp, model: PipelineModel, on: Gpu) -> list[str]:
        need = _need(group, model)
        # shared memory by a message of its own: less than the target allows can be had without asking for more
        problems = [*exceeded_limits(on, need.threads, need.registers, 0), *self._too_long(group, model)]
        schedule = group.schedule
        assert schedule is not None
        problems += [
            f"{count} threads along {axis}, where a block has {most} at most"
            for axis, count, most in zip("xyz", schedule.thread_counts, on.max_block, strict=False)
            if count > most and need.threads <= on.max_threads_per_block
        ]
        warps = -(-need.threads // on.warp_size)
        most = min(on.max_blocks_per_sm, on.max_warps_per_sm // warps)
        if not problems and schedule.resident_blocks > most:
            problems.append(
                f"blocks = {schedule.resident_blocks}, where a multiprocessor holds {most} of {need.threads} threads"
            )
        if need.shared > on.shared_bytes_per_block:
            problems.append(
                f"{need.shared} bytes of shared memory, most of them for stage '{need.largest}', where a block has "
                f"{on.shared_bytes_per_block}"
            )
        if spilled := _int(group, "spill_bytes"):
            problems.append(f"{spilled} bytes of registers spill to memory")
        return problems
