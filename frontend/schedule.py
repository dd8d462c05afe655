"""Halide's scheduling calls: accepted, recorded and ignored, as schedules are found automatically."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple
from weakref import WeakSet

from tilefuse.dialects.diagnostics import SourcePosition, user_position

SCHEDULING = frozenset(
    """add_trace_tag align_bounds align_extent align_storage allow_race_conditions always_partition
    always_partition_all async_ atomic bound_extent bound_storage clone_in compute_at compute_inline compute_root
    compute_with copy_to_device copy_to_host fold_storage fuse gpu gpu_blocks gpu_lanes gpu_single_thread gpu_threads
    gpu_tile hexagon hoist_storage hoist_storage_root in_ memoize never_partition never_partition_all parallel
    partition prefetch rename reorder reorder_storage ring_buffer serial set_estimate set_estimates set_host_alignment
    specialize specialize_fail split store_at store_in store_root tile trace_loads trace_realizations trace_stores
    unroll unscheduled vectorize""".split()
)
"""Names of scheduling calls. What Halide gives for each can be scheduled further, so here it is the Func itself."""

_OF_STAGES = SCHEDULING - {"clone_in", "compute_at", "compute_root", "in_", "store_at", "store_in", "store_root"}


class ScheduleWarning(UserWarning):
    """A compiled program's Funcs have scheduling calls, which are ignored."""


@dataclass(frozen=True, eq=False)
class ScheduleCall:
    """One recorded scheduling call; two are never equal."""

    func: str
    call: str
    args: tuple[Any, ...]
    position: SourcePosition


def recorder(owner: Any, func: str, calls: list[ScheduleCall], call: str) -> Callable[..., Any]:
    """Make a stand-in for the scheduling call `call` of `owner`, which appends to `calls` and returns `owner`."""

    def record(*args: Any, **named: Any) -> Any:
        calls.append(ScheduleCall(func, call, (*args, *named.items()), user_position()))
        return owner

    record.__name__ = call
    return record


class Stage:
    """A definition or update of a Func as a target of scheduling calls, which are ignored."""

    def __init__(self, owner: Any, name: str, calls: list[ScheduleCall]):
        self._owner, self._name, self._calls = owner, name, calls

    def name(self) -> str:
        """Return the Func's name, with the number of the update."""
        return self._name

    def rfactor(self, *args: Any) -> Any:
        """Return the Func: Halide would return a new one that computes a part of the update."""
        recorder(self._owner, self._name, self._calls, "rfactor")(*args)
        return self._owner

    def __getattr__(self, name: str) -> Any:
        if name in _OF_STAGES:
            return recorder(self, self._name, self._calls, name)
        raise AttributeError(f"a Stage has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *_OF_STAGES])

    def __repr__(self) -> str:
        return f"<halide.Stage '{self._name}'>"


_warned: WeakSet[ScheduleCall] = WeakSet()


def warn_of(calls: Sequence[ScheduleCall]) -> None:
    """Warn once for all scheduling calls of a program, located at the first; never twice for one call.

    Python shows a warning of one line once, too, but forgets that whenever a library changes its filters.
    """
    if _warned.issuperset(calls):
        return
    _warned.update(calls)
    first = calls[0]
    names = list(dict.fromkeys(f"{c.func}.{c.call}" for c in calls))
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    warnings.warn_explicit(
        f"the schedule is found automatically: {len(calls)} scheduling call{'s are' if len(calls) > 1 else ' is'} "
        f"ignored ({shown}). To steer it, give compile extent=(width, height) or passes=[...], or edit the IR that "
        "program.ir('tile') prints and compile that",
        ScheduleWarning,
        first.position.file,
        first.position.line,
    )


class AutoschedulerParams(NamedTuple):
    """The name of a Halide autoscheduler, and its settings; for `Pipeline.apply_autoscheduler`."""

    name: str = ""
    extra: Mapping[str, Any] = {}


def load_plugin(name: str) -> None:
    """Do nothing: in Halide it loads an autoscheduler, which is not needed here."""


class LoopLevel:
    """A loop of Halide's schedules, without effect here."""

    def __init__(self, *where: Any):
        self.where = where

    @staticmethod
    def root() -> LoopLevel:
        """Return the level outside all loops."""
        return LoopLevel("root")

    @staticmethod
    def inlined() -> LoopLevel:
        """Return the level of a Func that is computed where it is used."""
        return LoopLevel("inlined")


TailStrategy = Enum(
    "TailStrategy",
    "Auto GuardWithIf Predicate PredicateLoads PredicateStores RoundUp RoundUpAndBlend ShiftInwards "
    "ShiftInwardsAndBlend",
)
MemoryType = Enum("MemoryType", "Auto GPUShared GPUTexture Heap LockedCache Register Stack VTCM")
DeviceAPI = Enum("DeviceAPI", ["CUDA", "Default_GPU", "Hexagon", "Host", "Metal", "None", "OpenCL", "Vulkan"])
PrefetchBoundStrategy = Enum("PrefetchBoundStrategy", "Clamp GuardWithIf NonFaulting")
LoopAlignStrategy = Enum("LoopAlignStrategy", "AlignEnd AlignStart Auto NoAlign")
Partition = Enum("Partition", "Always Auto Never")

__all__ = [
    "AutoschedulerParams", "DeviceAPI", "LoopAlignStrategy", "LoopLevel", "MemoryType", "Partition",
    "PrefetchBoundStrategy", "ScheduleWarning", "Stage", "TailStrategy", "load_plugin",
]  # fmt: skip
