"""Register fit: revise schedules and bounds by the CUDA compiler's report on each kernel (levels 3 and 5).

Kernels are first compiled without a register bound, since the compiler then often uses fewer registers, and orders
instructions better. Then, by the report of each kernel:

- a kernel that leaves too few registers for the schedule's `blocks`, or spills, is bounded (`register_bounded`), as is
  a kernel of a single wave (`single_wave`) for which more blocks would fit,
- a kernel for which more blocks fit even with the bound is released: it is not a single wave (`for_many_waves`),
- kernels that spill are tiled again, with their register needs recorded; if the search finds nothing better, they get
  fewer blocks, then smaller tiles. If the interior version does not spill, the schedule is kept, since few tiles run
  other versions. This version is compiled separately, unless the other versions are in a function of their own.

Each kernel is compiled in parallel with others, as soon as it is lowered and printed, and again as soon as its own
report is in. Only changed kernels are lowered again. The result depends on the reports alone, not on their order:
groups with equal operations, which may share a kernel, go on when all their reports are in, and neither wait for other
groups nor read what is decided about them; marks of late launches, which concern all groups, are set last.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, UnitAttr

from tilefuse.analysis.duplicates import fingerprint
from tilefuse.analysis.model import extract
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import LATE_LAUNCH, SINGLE_WAVE, GroupOp, PipelineOp
from tilefuse.dialects.img.schedule import ScheduleAttr
from tilefuse.execution.kernel import REGISTER_BOUNDED, bound
from tilefuse.execution.registry import model_of
from tilefuse.execution.versions import keeps_versions, leave_interior
from tilefuse.lowering.abi import kernel_name, threads
from tilefuse.lowering.symbols import inside_of
from tilefuse.passes.kernel_compiler import KernelCompiler, Report
from tilefuse.passes.kernel_modules import functions_in, groups_in, kernel_names, pipeline_in, with_callees
from tilefuse.passes.lower_groups import by_kernel
from tilefuse.passes.merge_versions import OUTLINED
from tilefuse.passes.parallel_compilation import parallel_executor
from tilefuse.passes.tile import REGISTER_NEEDS, add_register_need
from tilefuse.passes.validate_occupancy import ValidateOccupancy, mark_launches
from tilefuse.targets.gpus import gpu
from tilefuse.targets.occupancy import occupancy

FIRST_PART = 2
"""Kernels that are lowered before any is compiled: compilers of two cores begin then."""

SPILLED_BYTES = 16
"""Bytes that are stored and loaded again for each register that a kernel lacks: most values are loaded several times,
and not all are out of registers at once. With 8 a quarter of the kernels seem to need more than they are found to
take."""

MOST_AT_BORDERS = 512
"""Bytes that a thread may spill in versions for borders together: with more, the few tiles that run them are slow."""


@dataclass(frozen=True)
class Fitted:
    """A pipeline whose kernels fit the registers available to them."""

    scheduled: ModuleOp
    """Level 3; the module that was given, if nothing had to change."""
    pipeline: PipelineOp
    """The one of the lowered module: its groups say which kernels are theirs."""
    lowered: Callable[[], ModuleOp]
    """The module of that pipeline, with its functions: copied at its first use, as few callers need it."""
    changed: bool
    """Whether reports have changed schedules, or bounds of kernels."""


def fit_registers(
    scheduled: ModuleOp, lowered: ModuleOp | None, compiler: KernelCompiler, *, by_hand: Collection[str]
) -> Fitted:
    """Fit a scheduled and a lowered module to the registers of their kernels; both stay unchanged.

    `lowered`: None to lower kernels while others are compiled. `by_hand`: names of groups whose schedules stay.
    """
    return _Fit(scheduled, lowered, compiler, by_hand).run()


class _Fit:
    """State of one fit."""

    def __init__(
        self, scheduled: ModuleOp, lowered: ModuleOp | None, compiler: KernelCompiler, by_hand: Collection[str]
    ):
        self._given = scheduled, lowered
        self._scheduled = scheduled.clone()
        self._compiler = compiler
        self._by_hand = tuple(by_hand)
        self._names = kernel_names(self._scheduled if lowered is None else lowered)
        """The kernel of each group."""
        self._module_of = {} if lowered is None else dict.fromkeys(self._names, lowered)
        """The module that holds the latest form of each kernel that has been lowered."""
        self._lowered_again = False
        self._bounded: dict[str, GroupOp] = {}
        """Kernels bounded since they were lowered, and the group whose `blocks` the bound leaves room for."""
        self._unbounded: dict[str, int] = {}
        """Registers of kernels that spill nothing where they are left to the compiler."""
        self._reports: dict[str, Report | None] = {}
        self._insides: dict[str, ModuleOp] = {}
        """Modules of kernels without versions for borders, by `inside_of` their names."""

    def run(self) -> Fitted:
        """Compile and revise schedules and bounds until the reports require no change.

        Kernels are compiled side by side, each again while its own report asks for that; groups with equal operations
        go on as soon as all reports of theirs are in.
        """
        of: dict[str, Iterator[Collection[str]]] = {}  # kernels whose reports are awaited, and what goes on with them
        with parallel_executor(self._compiler.compile, len(set(self._names))) as side:

            def start(names: Collection[str], steps: Iterator[Collection[str]], is_recompilation: bool = True) -> None:
                for name in names:
                    of[name] = steps
                    side.start(name, self._text(name), is_recompilation=is_recompilation)

            first = self._longest_first([(n, s) for s in self._all_steps() for n in next(s, ())])
            for part in self._parts(len(first)):
                self._lower_first([name for name, _ in first[part]])
                for name, steps in first[part]:
                    start([name], steps, is_recompilation=False)
            while of:
                for name, report in side.finished():
                    self._reports[name] = report
                    steps = of.pop(name)
                    start(self._revised(name), steps)
                    if steps not in of.values():
                        start(next(steps, ()), steps)
            remarked = self._mark_launches()
            for name in remarked:
                side.start(name, self._text(name), is_recompilation=True)
            while remarked:
                remarked = [name for name in remarked if name not in dict(side.finished())]
        return self._result()

    def _all_steps(self) -> list[Iterator[Collection[str]]]:
        """Return the fits of groups with equal operations, which the search may schedule together."""
        fixed = {n for g, n in self._groups() if g.sym_name.data in self._by_hand}
        group_numbers: dict[tuple[str, ...], list[int]] = {}
        for i, (group, _) in enumerate(self._groups()):
            group_numbers.setdefault(tuple(op.name for op in group.walk()), []).append(i)
        return [self._steps(numbers, fixed) for numbers in group_numbers.values()]

    def _steps(self, group_numbers: Sequence[int], fixed: set[str]) -> Iterator[Collection[str]]:
        """Fit the groups `group_numbers`: yield the kernels to compile, and resume with their reports."""
        searched = True
        tried = {self._schedules(group_numbers)}
        waiting: Collection[str] = dict.fromkeys(self._names[i] for i in group_numbers)
        while waiting:
            yield waiting
            before = self._fingerprints(group_numbers)
            if not self._release(group_numbers):
                retiled = self._tiled_again(group_numbers, fixed) if searched else None
                if retiled is not None and (schedules := _schedules(retiled, group_numbers)) not in tried:
                    # (tried: what was released from its blocks, and spills all the same, would be compiled once more)
                    tried.add(schedules)
                    self._scheduled = retiled
                else:
                    # what the search has nothing better for is made smaller, and searched for no more
                    searched = False
                    self._make_room(group_numbers, fixed)
            waiting = self._lower(group_numbers, before)

    def _groups(self, group_numbers: Sequence[int] | None = None) -> list[tuple[GroupOp, str]]:
        """Return the scheduled groups, all or only the groups `group_numbers`, and the kernel of each."""
        found = list(zip(groups_in(self._scheduled), self._names, strict=True))
        return found if group_numbers is None else [found[i] for i in group_numbers]

    def _fingerprints(self, group_numbers: Sequence[int]) -> list[Hashable]:
        return [fingerprint(group) for group, _ in self._groups(group_numbers)]

    def _schedules(self, group_numbers: Sequence[int]) -> tuple[ScheduleAttr | None, ...]:
        return _schedules(self._scheduled, group_numbers)

    def _longest_first(
        self, kernels: Iterable[tuple[str, Iterator[Collection[str]]]]
    ) -> list[tuple[str, Iterator[Collection[str]]]]:
        """Order kernels by length, longest first; among equals kernels of few registers, which often recompile."""
        lengths = {name: sum(1 for _ in group.walk()) / self._given_registers(group) for group, name in self._groups()}
        return sorted(kernels, key=lambda kernel: lengths[kernel[0]], reverse=True)

    def _given_registers(self, group: GroupOp) -> int:
        """Return the registers per thread that the blocks of a group's schedule leave."""
        machine = gpu(self._compiler.machine)
        if group.schedule is None or not group.schedule.resident_blocks:
            return machine.max_registers_per_thread
        of_all = group.schedule.resident_blocks * math.prod(threads(group))
        return min(machine.max_registers_per_thread, machine.registers_per_sm // of_all)

    # --- what a kernel's own report asks for --------------------------------------------------------------------

    def _revised(self, name: str) -> list[str]:
        """Bound a kernel's registers if its report requires it; return the kernel to compile again, or its interior."""
        report = self._reports[name]
        if report is None:
            return []
        groups = [g for g, of in self._groups() if of == name]
        if not report.spill_bytes and not any(REGISTER_BOUNDED in g.attributes for g in groups):
            self._unbounded[name] = report.registers
        if holding := [g for g in groups if self._must_be_bounded(g, report)]:
            for group in holding:
                group.attributes[REGISTER_BOUNDED] = UnitAttr()
            self._bounded[name] = holding[0]
            return [name]
        if any(self._must_be_released(group, report) for group in groups):
            return []  # when all reports are in
        if 0 < report.spill_bytes <= MOST_AT_BORDERS and groups and not any(map(keeps_versions, groups)):
            inside = inside_of(name)
            if report.own_spill_bytes is not None and self._is_outlined(name):
                self._reports[inside] = replace(report, spill_bytes=report.own_spill_bytes)
            elif (module := self._interior(name)) is not None:
                self._insides[inside] = module
                return [inside]
        return []

    def _must_be_bounded(self, group: GroupOp, report: Report) -> bool:
        """Whether an unbounded kernel leaves too few registers for its blocks, spills, or exceeds a single wave."""
        schedule = group.schedule
        if schedule is None or not schedule.resident_blocks or REGISTER_BOUNDED in group.attributes:
            return False
        fewer = self._room(group, report.registers) < schedule.resident_blocks
        return bool(report.spill_bytes) or fewer or self._exceeds_single_wave(group, report)

    def _must_be_released(self, group: GroupOp, report: Report) -> bool:
        """Whether a single-wave kernel leaves room for more blocks although it is bounded."""
        return REGISTER_BOUNDED in group.attributes and self._exceeds_single_wave(group, report)

    def _release(self, group_numbers: Sequence[int]) -> bool:
        """Remove the bounds and single waves that reports contradict; return whether there are any."""
        released = False
        for group, name in self._groups(group_numbers):
            report = self._reports.get(name)
            if report is not None and self._must_be_released(group, report):
                assert group.schedule is not None
                del group.attributes[SINGLE_WAVE], group.attributes[REGISTER_BOUNDED]
                group.schedule = group.schedule.for_many_waves()
                released = True
        return released

    def _room(self, group: GroupOp, registers: int, shared: int = 0) -> int:
        """Return the number of resident blocks that fit at this use of registers."""
        count = math.prod(threads(group))
        return occupancy(gpu(self._compiler.machine), count, registers, shared).blocks_per_sm

    def _exceeds_single_wave(self, group: GroupOp, report: Report) -> bool:
        """Whether more blocks fit at once than a single-wave group launches."""
        if group.schedule is None or SINGLE_WAVE not in group.attributes:
            return False
        shared = report.shared_bytes + model_of(group).dynamic_shared(group)
        return self._room(group, report.registers, shared) > group.schedule.resident_blocks

    def _is_outlined(self, name: str) -> bool:
        """Whether all versions of a kernel but the interior one are in a function of their own."""
        return any(OUTLINED in f.attributes for f in with_callees(self._module_of[name], name))

    def _interior(self, name: str) -> ModuleOp | None:
        """Return a module of a kernel with its interior version alone; None if it has no other version."""
        module = ModuleOp([f.clone() for f in with_callees(self._module_of[name], name)])
        kernel = functions_in(module)[name]
        if (group := self._bounded.get(name)) is not None:
            bound(group, kernel)
        kernel.sym_name = StringAttr(inside_of(name))
        return module if leave_interior(kernel) else None

    def _text(self, name: str) -> str:
        """Return the text of a kernel. The module is left unchanged, as other fits use it, too."""
        if name in self._insides:
            return self._compiler.print(self._insides[name], name)
        self._reports.pop(inside_of(name), None)
        kernel = functions_in(self._module_of[name])[name]
        before = dict(kernel.attributes)
        if (group := self._bounded.get(name)) is not None:
            bound(group, kernel)
        try:
            return self._compiler.print(self._module_of[name], name)
        finally:
            kernel.attributes = before

    # --- what spilling asks for ---------------------------------------------------------------------------------

    def _spilling(self, group_numbers: Sequence[int], fixed: Collection[str]) -> list[tuple[GroupOp, str, Report]]:
        """Return the groups, except `fixed` ones, whose kernels spill in the interior, and the reports."""
        found = []
        for group, name in self._groups(group_numbers):
            report = self._reports.get(name)
            inside = self._reports.get(inside_of(name), report)
            if name not in fixed and report is not None and inside is not None and inside.spill_bytes:
                found.append((group, name, report))
        return found

    def _need(self, name: str, report: Report) -> int:
        """Return the registers per thread that a spilling kernel needs.

        Its own and one for each value that is out of registers at once, or as many as it takes without a bound, if
        these are fewer.
        """
        need = report.registers + -(-report.spill_bytes // SPILLED_BYTES)
        return min(need, self._unbounded.get(name, need))

    def _tiled_again(self, group_numbers: Sequence[int], fixed: Collection[str]) -> ModuleOp | None:
        """Schedule the groups of spilling kernels again, with their needs noted for the `tile` pass; keep the others.

        None if no kernel spills, or none of these gets another schedule by that.
        """
        spilling = [found for found in self._spilling(group_numbers, fixed) if found[0].schedule is not None]
        if not spilling:
            return None
        for group, name, report in spilling:
            if model_of(group).uses_measured_registers:
                add_register_need(group, self._need(name, report))
        old = groups_in(self._scheduled)

        def note(groups: Sequence[GroupOp]) -> None:
            for i, (was, now) in enumerate(zip(old, groups, strict=True)):
                if REGISTER_NEEDS in was.attributes:
                    now.attributes[REGISTER_NEEDS] = was.attributes[REGISTER_NEEDS]
                if i not in group_numbers:
                    _keep(was, now)

        retiled = self._compiler.tile(note)
        if retiled is None:
            return None
        names = {g.sym_name.data for g, _, _ in spilling}
        changed = False
        for i, (was, now) in enumerate(zip(old, groups_in(retiled), strict=True)):
            if i not in group_numbers:
                now.attributes = dict(was.attributes)
                continue
            now.attributes.pop(LATE_LAUNCH, None)  # of these other groups decide, too
            kept = [LATE_LAUNCH] if was.schedule != now.schedule else [LATE_LAUNCH, REGISTER_BOUNDED]
            now.attributes |= {name: was.attributes[name] for name in kept if name in was.attributes}
            changed |= was.schedule != now.schedule and was.sym_name.data in names
        return retiled if changed else None

    def _make_room(self, group_numbers: Sequence[int], fixed: set[str]) -> None:
        """Give spilling kernels fewer blocks or a smaller tile. `fixed` ones stay."""
        for group, name in self._groups(group_numbers):
            if (report := self._reports.get(name)) is not None:
                group.attributes["registers"] = IntegerAttr(report.registers, 64)
        spilling = self._spilling(group_numbers, fixed)
        model = extract(pipeline_in(self._scheduled)) if spilling else None
        validate = ValidateOccupancy(self._compiler.machine, fix=True, keep=self._by_hand)
        for group, name, report in spilling:
            assert model is not None
            group.attributes["spill_bytes"] = IntegerAttr(report.spill_bytes, 64)
            try:
                validate.validate(group, model)
            except PipelineError:
                fixed.add(name)  # no smaller tile: better slow than not at all
            group.attributes.pop("spill_bytes", None)

    # --- modules ------------------------------------------------------------------------------------------------

    def _parts(self, kernels: int) -> Iterator[slice]:
        """Split kernels into slices to lower at once: few, as each copies the module; one if already lowered."""
        begin, end = 0, FIRST_PART if self._given[1] is None else kernels
        while begin < kernels:
            yield slice(begin, end)
            begin, end = end, 3 * end

    def _lower_first(self, names: Sequence[str]) -> None:
        """Lower kernels unless they are lowered already."""
        if self._given[1] is None:
            lowered = self._compiler.lower(self._scheduled, set(self._names) - set(names))
            self._module_of |= dict.fromkeys(names, lowered)

    def _lower(self, group_numbers: Sequence[int], before: Sequence[Hashable]) -> list[str]:
        """Lower the kernels of groups that differ from `before`, or serve other groups; return their names."""
        groups = [group for group, _ in self._groups(group_numbers)]
        name_of = {group: kernel_name(alike[0]) for alike in by_kernel(groups) for group in alike}
        after = self._fingerprints(group_numbers)
        old, new = [self._names[i] for i in group_numbers], [name_of[group] for group in groups]
        changed = [
            name
            for name in dict.fromkeys(new)
            if [n == name for n in old] != [n == name for n in new] or after[new.index(name)] != before[new.index(name)]
        ]
        for i, name in zip(group_numbers, new, strict=True):
            self._names[i] = name
        lowered = self._compiler.lower(self._scheduled, set(self._names) - set(changed)) if changed else None
        for name in {*old, *changed} - ({*new} - {*changed}):
            self._bounded.pop(name, None)
            self._unbounded.pop(name, None)
            self._module_of.pop(name, None)
        if lowered is not None:
            self._lowered_again = True
            self._module_of |= dict.fromkeys(changed, lowered)
        return changed

    def _mark_launches(self) -> list[str]:
        """Mark late launches again if schedules have changed; return the kernels that this concerns.

        By the schedules alone, as `validate-occupancy` marks them: not by the registers of the reports.
        """
        if _schedules(self._scheduled) == _schedules(self._given[0]):
            return []
        numbers = range(len(self._names))
        before = self._fingerprints(numbers)
        mark_launches(pipeline_in(self._scheduled), gpu(self._compiler.machine))
        return self._lower(numbers, before)

    def _result(self) -> Fitted:
        """Return the given module, or the scheduled one and a module with the latest form of every kernel."""
        scheduled, lowered = self._given
        as_given = _schedules(self._scheduled) == _schedules(scheduled)
        changed = bool(self._bounded) or self._lowered_again or not as_given
        if not changed and lowered is not None:
            return Fitted(scheduled, pipeline_in(lowered), lambda: lowered, changed)
        module = self._scheduled.clone()
        pipeline = pipeline_in(module)
        for group, name in zip(groups_in(module), self._names, strict=True):
            group.attributes["kernel"] = StringAttr(name)

        def complete() -> ModuleOp:
            for name in dict.fromkeys(self._names):
                for function in with_callees(self._module_of[name], name):
                    copy = function.clone()
                    module.body.block.insert_op_before(copy, pipeline)
                    if function.sym_name.data == name and (group := self._bounded.get(name)) is not None:
                        bound(group, copy)
            return module

        return Fitted(self._scheduled if changed else scheduled, pipeline, functools.cache(complete), changed)


def _schedules(module: ModuleOp, group_numbers: Sequence[int] | None = None) -> tuple[ScheduleAttr | None, ...]:
    """Return the schedules of all groups, or of the groups with these numbers."""
    found = tuple(g.schedule for g in groups_in(module))
    return found if group_numbers is None else tuple(found[i] for i in group_numbers)


def _keep(was: GroupOp, now: GroupOp) -> None:
    """Copy a group's schedule and places to its counterpart in another module, unless the latter has a schedule."""
    now.schedule = was.schedule
    places = {s.sym_name.data: s.place for s in was.stages}
    for stage in now.stages:
        stage.place = places.get(stage.sym_name.data)
