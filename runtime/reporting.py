"""Program reports: kernels, tiles, memory and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tilefuse.analysis.float_sums import FloatSum, float_sums
from tilefuse.analysis.sizes import AnyInterval, AnySizes
from tilefuse.dialects.img.ops import GroupOp, InputOp
from tilefuse.execution.registry import model_of
from tilefuse.lowering.abi import groups_of, kernel_name, threads
from tilefuse.runtime.compile.compiled import Kernels
from tilefuse.runtime.launch.plan import Plan


@dataclass(frozen=True)
class Kernel:
    """Facts about one kernel. None: not known (before a call, or on a CPU)."""

    name: str
    stages: tuple[str, ...]
    tile: tuple[int, ...]
    """Points of the output per block, x first."""
    threads: tuple[int, int, int]
    grid: tuple[int, int, int] | None
    """Blocks, in the last call."""
    shared_bytes: int | None
    registers: int | None
    """Registers per thread."""
    spill_bytes: int | None
    """Spill stores and loads per thread."""
    resident_blocks: int = 0
    """Blocks per multiprocessor that the bound on registers leaves room for; 0: the compiler's choice."""
    sums: tuple[FloatSum, ...] = ()
    """Float sums over a domain."""
    reorders: bool = False
    """Whether they are formed in another order than that of the domain."""


class _LastCall(AnySizes):
    """Sizes of a call; parameters may differ in the next one."""

    def __init__(self, plan: Plan):
        self._boxes = plan.boxes.inputs

    def interval(self, op: InputOp, dim: int) -> AnyInterval:
        return self._boxes[op.sym_name.data][dim]


def kernels(built: Kernels, plan: Plan | None) -> list[Kernel]:
    """Return all kernels in launch order; `plan` is the last call's."""
    cubin = built.cubin
    grids = {launch.name: launch.grid for launch in plan.launches} if plan else {}
    sizes = _LastCall(plan) if plan else AnySizes()
    found = []
    for group in groups_of(built.pipeline):
        name = kernel_name(group)
        assert group.schedule is not None
        found.append(
            Kernel(
                name,
                tuple(stage.sym_name.data for stage in group.definitions),
                group.schedule.tile_sizes or (),
                threads(group),
                grids.get(name),
                _shared_bytes(cubin.shared_bytes.get(name), group) if cubin else None,
                cubin.registers.get(name) if cubin else None,
                cubin.spill_bytes.get(name) if cubin else None,
                group.schedule.resident_blocks,
                tuple(total for update in group.updates for total in float_sums(update, sizes)),
                model_of(group).reorders(group),
            )
        )
    return found


def _shared_bytes(static: int | None, group: GroupOp) -> int | None:
    """Return the shared memory of a block: the compiler's figure plus the launch's dynamic part."""
    return None if static is None else static + model_of(group).dynamic_shared(group)


def text(pipeline: str, target: str, found: Sequence[Kernel], seconds: float | None, determinism: str) -> str:
    """Format the report as text. `determinism`: the promise for sums of floats."""
    count = f"{len(found)} kernel{'' if len(found) == 1 else 's'}"
    time = "not timed yet" if seconds is None else _duration(seconds)
    lines = [f"pipeline {pipeline} on {target}: {count}, {time}"]
    for k in found:
        facts = [f"tile {_times(k.tile or (1,))}", f"{_times(k.threads)} threads"]
        if k.grid is not None:
            facts.append(f"{_times(k.grid)} blocks")
        if k.shared_bytes is not None:
            facts.append(f"{k.shared_bytes} bytes shared")
        if k.registers is not None:
            facts.append(f"{k.registers} registers")
        if k.spill_bytes:
            facts.append(f"{k.spill_bytes} bytes spilled")
        lines.append(f"  {k.name}: {', '.join(facts)}")
        lines.append(f"    stages: {', '.join(k.stages)}")
        order = f"another order than the domain's ({determinism})" if k.reorders else "the order of the domain"
        for s in k.sums:
            what = {"add": "sums", "mul": "products", "tuple": "products of tuples"}[s.way]
            lines.append(f"    {s.function}: {what} of {s.element.name} in {order}, within {s.bound()}")
    return "\n".join(lines)


def report_html(title: str, report: str, found: Sequence[Kernel], source: str) -> str:
    """Format the report as HTML for notebooks, with the kernels' text; everything is escaped."""
    parts = [f"<b>{escape(title)}</b><pre>{escape(report)}</pre>"]
    if found:
        names = ", ".join(k.name for k in found)
        parts.append(f"<details><summary>{escape(names)}</summary><pre>{escape(source)}</pre></details>")
    return "".join(parts)


def _times(numbers: Sequence[int]) -> str:
    return "x".join(map(str, numbers))


def _duration(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.3f} ms"
