"""Interface of an execution model: all that passes and the runtime call.

A model says how a group's kernel is laid out on blocks, warps and threads. It is a folder of `execution/` (or a package
outside tilefuse) with one subclass of `ExecutionModel`, and a row in `execution/rows.py` (or an entry point).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import Level, Memory, PlaceAttr
from tilefuse.dialects.img.ops import Definition, StageOp
from tilefuse.dialects.img.schedule import ScheduleAttr

if TYPE_CHECKING:
    from xdsl.dialects import func
    from xdsl.ir import SSAValue
    from xdsl.passes import ModulePass

    from tilefuse.analysis.bounds import Box
    from tilefuse.analysis.machine import Machine
    from tilefuse.analysis.model import PipelineModel
    from tilefuse.dialects.img.ops import GroupOp, UpdateOp
    from tilefuse.execution.candidate import Candidate, Wishes
    from tilefuse.execution.facts import GroupFacts
    from tilefuse.lowering.workspaces import Workspace


@dataclass(frozen=True)
class ByHand:
    """A tile set by the options of `tile`, with as many dimensions as the group's output."""

    sizes: Sequence[int]
    threads: Sequence[int]
    vector: int = 1
    unroll: Sequence[int] = ()
    """Of the first dimensions; the others are all written out."""
    tiles_per_block: int = 1
    rows: int = 4
    exchange: bool = False
    blocks: int = 0
    prefetch_rows: int = 0


@dataclass(frozen=True)
class Needs:
    """Memory that a block needs, and the stage that needs most of it."""

    bytes: int
    largest: str
    dynamic: int = 0
    """Of the bytes those that the launch asks for, so that a block may have more than a kernel has by itself."""


@dataclass(frozen=True)
class Code:
    """Estimated number of unrolled operations per thread, and the stage with most of them."""

    operations: int
    longest: str
    points: int = 1
    """Of the output, that a thread has written out: of a single one there are no fewer operations to be had."""


@dataclass(frozen=True)
class Spill:
    """Compiler figures of a kernel whose registers spill."""

    registers: int
    """Per thread, as given."""
    bytes: int
    """Of a thread's registers that lie in memory."""
    registers_per_sm: int
    """Limits of the target."""


def group_error(group: GroupOp, message: object) -> PipelineError:
    """Return an error that names a group, at its location."""
    return PipelineError(f"group '{group.sym_name.data}': {message}", group)


class ExecutionModel(ABC):
    """One way to run a group as a kernel. Models are stateless: each class has one object."""

    name: ClassVar[str]
    """In the text of schedules, `#schedule.<name>`, and of `tile{shape=...}`."""
    schedule: ClassVar[type[ScheduleAttr]]
    """Its attribute: the syntax of a schedule, and what must hold for one by itself."""
    runs: ClassVar[type[Definition]] = StageOp
    """Whether its groups hold stages, or an update."""
    places: ClassVar[tuple[tuple[Level, Memory], ...]] = ()
    """Where a stage that is not the group's output may live."""
    stores_several: ClassVar[bool] = False
    """Whether a kernel may store several stages of its group (`KernelPlan.stored`); else only the anchor."""
    computes_beside: ClassVar[bool] = False
    """Whether its kernel may compute the stages beside an update: its initial values, and what alone reads it."""
    takes_several: ClassVar[bool] = False
    """Whether its kernel may take the points of several updates, each of the functions of the one before it."""
    sums_steps: ClassVar[bool] = False
    """Whether its kernel may compute stages for each step of an update, and sum up (or join otherwise) what the last
    of them gives."""
    holds_tables: ClassVar[bool] = False
    """Whether stages may read others of their group where data say (`analysis/tables.py`)."""
    tables_follow: ClassVar[bool] = False
    """Whether these are rows that follow the tile, in planes that data say; else each block computes all of a table."""
    places_first: ClassVar[bool] = False
    """Whether places of an update that data decide are computed for several points at once, before any of them is
    written."""
    shares_rows: ClassVar[bool] = False
    """Whether planes have in common what is computed of a row, rather than compute it anew."""
    smaller_is: ClassVar[str] = "a smaller tile"
    """A schedule that takes less memory, in words for people who write one."""
    none_smaller: ClassVar[str] = "No smaller tile is left"
    """The sentence of an error where `smaller` finds none."""
    learns_registers: ClassVar[bool] = False
    """Whether the search takes into account which registers a compiler was found to need."""

    # --- choosing one (`tile`, `group-stages`)

    def why_not(self, facts: GroupFacts) -> str | None:
        """Explain in one sentence why the group cannot run so; None if it can. Checks stages, stores and `legal`."""
        if not isinstance(facts.definition, self.runs):
            return f"{self.name} runs {'stages, not an update' if self.runs is StageOp else 'an update, not stages'}"
        beside = [facts.model.nodes[id].name for id in facts.beside]
        return (
            self.stores_too_little([facts.model.nodes[id].name for id in facts.stored])
            or self.computes_too_little(beside, steps=facts.summed is not None)
            or self.takes_too_few([facts.model.nodes[id].name for id in facts.earlier])
            or (self._why_no_tables(facts.model, facts.members) if self.runs is StageOp else None)
            or self.legal(facts)
        )

    def _why_no_tables(self, model: PipelineModel, members: Sequence[int]) -> str | None:
        """Explain why a group with data-dependent reads of its own stages cannot run so; None if it can or has none."""
        from tilefuse.analysis.tables import looked_up

        if self.holds_tables or not (tables := looked_up(model, members)):
            return None
        (table, reader), *_ = tables.items()
        return (
            f"'{model.nodes[reader].name}' reads '{model.nodes[table].name}' where data say, and {self.name} has no "
            "tables; choose a model that has, or cut the group"
        )

    def holds_starts(self, update: UpdateOp) -> bool:
        """Whether a thread can hold all points of a pure coordinate of an update and compute their initial values, so
        that `group-updates` need not store them."""
        return False

    def computes_too_little(self, beside: Sequence[str], *, steps: bool) -> str | None:
        """Explain in one sentence why stages of these names cannot be computed beside the update; None if they can.

        `steps`: whether there are stages that each step of the update computes.
        """
        if steps:
            return None if self.sums_steps else f"{self.name} computes no stages for each step of an update"
        if self.computes_beside or not beside:
            return None
        return f"{self.name} computes an update alone, and '{beside[0]}' stands beside it; give it a group of its own"

    def takes_too_few(self, earlier: Sequence[str]) -> str | None:
        """Why a group with updates of these names before its last cannot run so, in one sentence; None if it can."""
        if self.takes_several or not earlier:
            return None
        return f"{self.name} runs a single update, and '{earlier[-1]}' stands before it; give it a group of its own"

    def stores_too_little(self, stored: Sequence[str]) -> str | None:
        """Explain in one sentence why a group that stores stages of these names cannot run so; None if it can."""
        if self.stores_several or len(stored) < 2:
            return None
        others = ", ".join(f"'{name}'" for name in stored[:-1])
        return (
            f"{self.name} stores the last stage of a group alone, and {others} leave{'s' if len(stored) == 2 else ''} "
            "it too; choose another model, or cut the group"
        )

    @abstractmethod
    def legal(self, facts: GroupFacts) -> str | None:
        """Explain in one sentence why a group of supported operations is illegal for the model; None if it is legal."""

    @abstractmethod
    def candidates(self, facts: GroupFacts, machine: Machine, wishes: Wishes) -> Iterator[Candidate]:
        """Return the schedules worth comparing, with their cost; none if the group is illegal, or no schedule fits.

        Raises NotFusable for a group that no model can run.
        """

    @abstractmethod
    def by_hand(self, group: GroupOp, facts: GroupFacts, given: ByHand) -> ScheduleAttr:
        """Return the schedule that options describe. Raises NotFusable or VerifyException if they are invalid."""

    @abstractmethod
    def apply(self, group: GroupOp, candidate: Candidate, members: Sequence[int]) -> None:
        """Write a candidate on a group. `members`: node ids of its stages, or of the similar group searched."""

    # --- where stages live (`promote-memory`)

    def stage_inputs(self, group: GroupOp, model: PipelineModel) -> bool:
        """Copy inputs that are read at several places to stages; return whether there are any. May raise NotFusable."""
        return False

    def place(self, group: GroupOp, model: PipelineModel) -> Mapping[StageOp, PlaceAttr]:
        """Return the place of every stage except the output, for a group of several. May raise NotFusable."""
        return {}

    # --- whether it fits (`validate-occupancy`)

    def check_places(self, group: GroupOp, model: PipelineModel) -> None:
        """Raise PipelineError, at the stage, for places (perhaps set by hand) that cannot be lowered."""
        from tilefuse.execution.places import check_places

        check_places(group, self.places)

    def check(self, group: GroupOp, model: PipelineModel) -> None:
        """Raise PipelineError or NotFusable for a schedule that cannot be lowered."""
        self.check_places(group, model)
        if not self.holds_tables and issubclass(self.runs, StageOp):
            if (reason := self._why_no_tables(model, [model.node_of[s.funcs[0]] for s in group.tiled])) is not None:
                raise group_error(group, reason)

    def shared_memory(self, group: GroupOp, model: PipelineModel) -> Needs:
        """Return the shared memory of a block on a GPU."""
        return Needs(0, group.sym_name.data)

    def stack_memory(self, group: GroupOp, model: PipelineModel) -> Needs:
        """Return the stack memory of a tile's arrays on a CPU."""
        return self.shared_memory(group, model)

    @abstractmethod
    def code(self, group: GroupOp, model: PipelineModel, *, warps: bool) -> Code:
        """Count the unrolled operations per thread. `warps`: whether the machine has warps."""

    def smaller(self, group: GroupOp, model: PipelineModel) -> ScheduleAttr | None:
        """Return the next smaller schedule; None if there is none."""
        return None

    def fewer_registers(self, group: GroupOp, spill: Spill) -> ScheduleAttr | None:
        """Return a schedule with more registers per thread, or fewer live values, if it may end spilling."""
        return None

    # --- lowering (`lower-groups` and below)

    @abstractmethod
    def grid(self, group: GroupOp, boxes: Sequence[Box]) -> tuple[int, int, int]:
        """Return the blocks of a launch along x, y and z; `boxes`: the computed box of each function."""

    @abstractmethod
    def emit(self, group: GroupOp, model: PipelineModel, differing: Collection[SSAValue]) -> list[func.FuncOp]:
        """Emit the functions of the kernel, callees first. May raise NotFusable.

        `differing`: functions whose rows start where vectors may in some of the launches that one kernel serves.
        """

    def workspaces(self, group: GroupOp) -> Sequence[Workspace]:
        """Return the workspaces of the kernel, which are its last arguments."""
        return ()

    def reorders(self, group: GroupOp) -> bool:
        """Whether the kernel combines an update's terms in another order than the domain's, with other results."""
        return False

    def dynamic_shared(self, group: GroupOp) -> int:
        """Return the bytes of dynamic shared memory of a launch: of the array marked `kernel.dynamic_shared`."""
        return 0

    def lowering_passes(self, *, warps: bool) -> list[ModulePass]:
        """Return the passes that lower the functions of `emit`. `warps`: whether the machine has warps."""
        return []
