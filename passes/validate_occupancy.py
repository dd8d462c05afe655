"""`validate-occupancy`: check every schedule against the target's limits.

Checks per group: the schedule is valid for its execution model, including its atomics and tables; threads, shared
memory and registers of a block are within the target's limits, by NVIDIA's allocation rules (`targets/occupancy.py`);
at least one block fits a multiprocessor; workspaces fit the GPU's memory, as far as their size is known before a call.
Registers and spills are known if a compiler's report has set `registers` and `spill_bytes` on the group. On a CPU the
arrays of a tile must fit a thread's stack. Unrolled code of a thread has a budget (`execution/written_out.py`), since
compilers are slow on it.

A violation is an error that names the limit and the stage; with `fix=true` the tile is made smaller instead. The pass
writes the result on the group as `occupancy`, and marks groups with which the next kernel should not overlap
(`late_launch`; for a GPU).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, ModuleOp, StringAttr
from xdsl.passes import ModulePass

from tilefuse.analysis.machine import check_target, is_cpu
from tilefuse.analysis.model import PipelineModel, extract
from tilefuse.analysis.regions import NotFusable
from tilefuse.dialects.img.ops import SINGLE_WAVE, GroupOp, PipelineOp
from tilefuse.dialects.img.schedule import ScheduleAttr
from tilefuse.dialects.img.types import element_bytes
from tilefuse.execution.base import Spill, group_error
from tilefuse.execution.code_length import too_long
from tilefuse.execution.registry import model_of
from tilefuse.lowering.abi import groups_of
from tilefuse.passes.late_launches import mark_late_launches
from tilefuse.targets.gpus import Gpu, gpu
from tilefuse.targets.occupancy import exceeded_limits, occupancy

ASSUMED_REGISTERS = 32
"""Registers per thread counted with where no compiler has reported any."""

STACK_BYTES = 4 << 20
"""Most that the arrays of a CPU's tile may take: half of what Linux gives the stack of a thread."""


def _int(group: GroupOp, key: str) -> int | None:
    attr = group.attributes.get(key)
    return attr.value.data if isinstance(attr, IntegerAttr) else None


def _registers(group: GroupOp) -> int:
    """Return the registers of a thread."""
    return _int(group, "registers") or ASSUMED_REGISTERS


def _threads(group: GroupOp) -> int:
    """Return the threads of a block."""
    assert group.schedule is not None
    return math.prod(group.schedule.thread_counts)


def mark_launches(pipeline: PipelineOp, on: Gpu) -> None:
    """Mark the late launches of a scheduled pipeline by its schedules alone, without regard to reported registers."""
    groups, model = groups_of(pipeline), extract(pipeline)
    full = []
    for group in groups:
        shared = model_of(group).shared_memory(group, model).bytes
        full.append(shared * occupancy(on, _threads(group), ASSUMED_REGISTERS, shared).blocks_per_sm)
    mark_late_launches(groups, full, on)


@dataclass(frozen=True)
class ValidateOccupancy(ModulePass):
    """Check every schedule against the target's threads, registers and shared memory."""

    name = "validate-occupancy"

    target: str = "h200"
    """Machine whose limits apply: a GPU's model or arch, or cpu."""
    fix: bool = False
    """Whether to shrink tiles until they fit, instead of an error."""
    keep: tuple[str, ...] = ()
    """Names of groups that `fix` does not change, such as those scheduled by hand."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_target(self.target, self.name)
        for pipeline in op.body.block.ops:
            if not isinstance(pipeline, PipelineOp):
                continue
            groups = [g for g in pipeline.body.block.ops if isinstance(g, GroupOp)]
            model = extract(pipeline) if groups else None
            shared: list[int] = []
            for group in groups:
                assert model is not None
                if group.schedule is None:
                    raise group_error(group, "there is no schedule to validate; run tile first")
                shared.append(self.validate(group, model))
            if groups and not is_cpu(self.target):
                mark_late_launches(groups, shared, gpu(self.target))

    def validate(self, group: GroupOp, model: PipelineModel) -> int:
        """Check a group, or shrink its tile; return the shared memory in bytes that its blocks take on an SM."""
        on = None if is_cpu(self.target) else gpu(self.target)
        try:
            model_of(group).check(group, model)
        except NotFusable as error:
            raise group_error(group, error) from error
        while problems := self._problems(group, model, on) if on is not None else self._cpu_problems(group, model):
            smaller = self._smaller(group, model, on, single=len(problems) == 1)
            if smaller is None:
                where = on.name if on is not None else "a CPU"
                raise group_error(group, f"{'; '.join(problems)} on {where}. {self._remedy(group)}")
            group.schedule = smaller
            group.attributes.pop(SINGLE_WAVE, None)  # its blocks are others
            # what was reported belongs to the old tile
            group.attributes.pop("registers", None)
            group.attributes.pop("spill_bytes", None)
        if on is None:
            return 0
        shared = model_of(group).shared_memory(group, model).bytes
        found = occupancy(on, _threads(group), _registers(group), shared)
        group.attributes["occupancy"] = StringAttr(
            f"{found.blocks_per_sm} blocks per SM, {found.fraction:.0%} of the warps, limited by {found.limited_by}; "
            f"{shared} shared bytes"
        )
        return found.blocks_per_sm * shared

    def _may_change(self, group: GroupOp) -> bool:
        return self.fix and group.sym_name.data not in self.keep

    def _smaller(self, group: GroupOp, model: PipelineModel, on: Gpu | None, *, single: bool) -> ScheduleAttr | None:
        """Return the schedule to try next; None if there is none. `single`: there is only one problem."""
        if not self._may_change(group):
            return None
        execution, spilled = model_of(group), _int(group, "spill_bytes")
        if on is not None and spilled and single:
            spill = Spill(_registers(group), spilled, on.registers_per_sm)
            if (fewer := execution.fewer_registers(group, spill)) is not None:
                return fewer
        return execution.smaller(group, model)

    def _remedy(self, group: GroupOp) -> str:
        smaller = model_of(group).smaller_schedule
        if not self.fix:
            return f"Use {smaller}, or fix=true"
        if not self._may_change(group):
            return f"Its schedule is kept; write {smaller}"
        return model_of(group).no_smaller_schedule

    def _too_long(self, group: GroupOp, model: PipelineModel, *, warps: bool) -> list[str]:
        """Report code that is unrolled beyond a reasonable compile time.

        No problem where `fix` has nothing smaller: the compiler takes its time then, but the pipeline compiles.
        """
        problem = too_long(group, model, warps=warps)
        may_stay = self._may_change(group) and model_of(group).smaller(group, model) is None
        return [] if problem is None or may_stay else [problem]

    def _cpu_problems(self, group: GroupOp, model: PipelineModel) -> list[str]:
        need = model_of(group).stack_memory(group, model)
        problems = self._too_long(group, model, warps=False)
        if need.bytes > STACK_BYTES:
            problems.append(
                f"{need.bytes} bytes of stack, most of them for '{need.largest}', where a tile has {STACK_BYTES}"
            )
        return problems

    def _problems(self, group: GroupOp, model: PipelineModel, on: Gpu) -> list[str]:
        need, threads = model_of(group).shared_memory(group, model), _threads(group)
        # shared memory by a message of its own: less than the target allows can be had without asking for more
        problems = [*exceeded_limits(on, threads, _registers(group), 0), *self._too_long(group, model, warps=True)]
        schedule = group.schedule
        assert schedule is not None
        problems += [
            f"{count} threads along {axis}, where a block has {most} at most"
            for axis, count, most in zip("xyz", schedule.thread_counts, on.max_block, strict=False)
            if count > most and threads <= on.max_threads_per_block
        ]
        most = min(on.max_blocks_per_sm, on.max_warps_per_sm // -(-threads // on.warp_size))
        if not problems and schedule.resident_blocks > most:
            problems.append(
                f"blocks = {schedule.resident_blocks}, where a multiprocessor holds {most} of {threads} threads"
            )
        fixed = need.bytes - need.dynamic
        for count, most, how in (
            (fixed, on.shared_bytes_per_block, ""),
            (need.bytes, on.shared_bytes_optin, " if its launch asks for it"),
        ):
            if count > most:
                problems.append(
                    f"{count} bytes of shared memory, most of them for stage '{need.largest}', where a block has "
                    f"{most}{how}"
                )
                break
        for space in model_of(group).workspaces(group):
            # extents that a call decides count as 1
            known = math.prod(n for n in space.type.get_shape() if n != DYNAMIC_INDEX)
            if (bytes := known * element_bytes(space.type.element_type)) > on.memory_bytes:
                problems.append(
                    f"{bytes} bytes of workspace '{space.name}' for '{group.output.sym_name.data}', where a GPU has "
                    f"{on.memory_bytes}"
                )
        if spilled := _int(group, "spill_bytes"):
            problems.append(f"{spilled} bytes of registers spill to memory")
        return problems
