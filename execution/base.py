"""Interface of an execution model: all that passes and the runtime call.

A model says how a group's kernel is laid out on blocks, warps and threads. It is a folder of `execution/` (or a package
outside tilefuse) with one subclass of `ExecutionModel`, and a row in `execution/rows.py` (or an entry point).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import Level, Memory, PlaceAttr
from tilefuse.dialects.img.ops import Definition, StageOp
from tilefuse.dialects.img.schedule import ParameterValue, ScheduleAttr

if TYPE_CHECKING:
    from xdsl.dialects import func
    from xdsl.ir import SSAValue
    from xdsl.passes import ModulePass

    from tilefuse.analysis.bounds import Box
    from tilefuse.analysis.machine import Machine
    from tilefuse.analysis.model import PipelineModel
    from tilefuse.dialects.img.ops import GroupOp, UpdateOp
    from tilefuse.execution.candidate import Candidate, SearchOptions
    from tilefuse.execution.facts import GroupFacts
    from tilefuse.lowering.workspaces import Workspace


TILE_OPTIONS = {"tile": "sizes", "threads": "threads", "vector": "vector", "blocks": "blocks"}
"""Parameters of schedules that are options of `tile`, by the name of the option."""


@dataclass(frozen=True)
class ByHand:
    """A tile set by the options of `tile`, with as many dimensions as the group's output."""

    sizes: Sequence[int]
    threads: Sequence[int]
    vector: int = 1
    blocks: int = 0
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    """Parameters of the model: of its schedule, or of `ExecutionModel.tile_parameters`."""

    def number(self, name: str, default: int) -> int:
        """Return a parameter that is an integer. Raises VerifyException for a list."""
        value = self.parameters.get(name, default)
        if not isinstance(value, int):
            raise VerifyException(f"{name} is one number, not a list; write {name} = {default}")
        return value


@dataclass(frozen=True)
class Needs:
    """Memory that a block needs, and the stage that needs most of it."""

    bytes: int
    largest: str
    dynamic: int = 0
    """Bytes of dynamic shared memory among them."""


@dataclass(frozen=True)
class Code:
    """Estimated number of unrolled operations per thread, and the stage with most of them."""

    operations: int
    longest: str
    points: int = 1
    """Unrolled output points of a thread; with one point the number of operations cannot be reduced."""


@dataclass(frozen=True)
class Spill:
    """Compiler figures of a kernel whose registers spill."""

    registers: int
    """Registers per thread that the compiler used."""
    bytes: int
    """Bytes of spilled registers per thread."""
    registers_per_sm: int
    """Registers of a multiprocessor of the target."""


def group_error(group: GroupOp, message: object) -> PipelineError:
    """Return an error that names a group, at its location."""
    return PipelineError(f"group '{group.sym_name.data}': {message}", group)


class ExecutionModel(ABC):
    """One way to run a group as a kernel. Models are stateless: each class has one object."""

    name: ClassVar[str]
    """Name in schedules, `#schedule.<name>`, and in `tile{shape=...}`."""
    schedule: ClassVar[type[ScheduleAttr]]
    """Attribute class of its schedules: their syntax and verification."""
    tile_parameters: ClassVar[Mapping[str, str]] = {}
    """Parameters of `tile{more=...}` that `by_hand` handles: names, with a description. Others are its schedule's."""
    search_parameters: ClassVar[Collection[str]] = ()
    """Names of `tile_parameters` that restrict the search, too."""
    runs: ClassVar[type[Definition]] = StageOp
    """Whether its groups hold stages, or an update."""
    places: ClassVar[tuple[tuple[Level, Memory], ...]] = ()
    """Loop levels and memories in which a stage other than the group's output may be computed and stored."""
    multiple_outputs: ClassVar[bool] = False
    """Whether a kernel may store several stages of its group (`KernelPlan.stored`); else only the anchor."""
    fuses_stages: ClassVar[bool] = False
    """Whether its kernel may compute the stages fused with an update: its prologue (initial values) and epilogue."""
    fuses_updates: ClassVar[bool] = False
    """Whether its kernel may compute several updates, each of the functions of the one before it."""
    fuses_steps: ClassVar[bool] = False
    """Whether its kernel may compute stages in each step of an update, and reduce the values of the last stage."""
    fuses_lookups: ClassVar[bool] = False
    """Whether stages may read others of their group at data-dependent places (`analysis/tables.py`)."""
    tables_follow_tile: ClassVar[bool] = False
    """Whether tables are rows that follow the tile, in data-dependent planes; else a block computes whole tables."""
    computes_places_first: ClassVar[bool] = False
    """Whether data-dependent places of an update are computed for several points before any of these is written."""
    shares_rows: ClassVar[bool] = False
    """Whether planes share values that are computed per row, rather than recompute them."""
    smaller_schedule: ClassVar[str] = "a smaller tile"
    """Description of a schedule that takes less memory, for error messages."""
    no_smaller_schedule: ClassVar[str] = "No smaller tile is left"
    """The sentence of an error where `smaller` finds none."""
    uses_measured_registers: ClassVar[bool] = False
    """Whether the search takes into account the registers that the CUDA compiler reported."""

    # --- choosing one (`tile`, `group-stages`)

    def why_no_parameters(self, given: Collection[str], *, by_hand: bool) -> str | None:
        """Explain in one sentence why `tile{more=...}` cannot have these parameters; None if it can.

        `by_hand`: whether a tile is given; otherwise parameters restrict the search.
        """
        known = [*self.tile_parameters, *(k for k in self.schedule.PARAMETERS if k not in TILE_OPTIONS)]
        for name in given:
            if name in TILE_OPTIONS:
                return f"{name} is an option by itself; write {TILE_OPTIONS[name]}="
            if name not in known:
                names = ", ".join(dict.fromkeys(known)) or "none"
                return f"{self.name} has no parameter '{name}' for more=; it has {names}"
            if not by_hand and name not in self.search_parameters:
                return f"{name} counts only for a tile by hand; add sizes=, or leave the search to choose"
        return None

    def why_not(self, facts: GroupFacts) -> str | None:
        """Explain in one sentence why the group cannot run so; None if it can. Checks stages, stores and `legal`."""
        if not isinstance(facts.definition, self.runs):
            return f"{self.name} runs {'stages, not an update' if self.runs is StageOp else 'an update, not stages'}"
        beside = [facts.model.nodes[id].name for id in facts.fused_nodes]
        return (
            self.why_not_stored([facts.model.nodes[id].name for id in facts.stored])
            or self.why_not_fused(beside, steps=facts.summed is not None)
            or self.why_not_updates([facts.model.nodes[id].name for id in facts.earlier_nodes])
            or (self._why_no_tables(facts.model, facts.members) if self.runs is StageOp else None)
            or self.legal(facts)
        )

    def _why_no_tables(self, model: PipelineModel, members: Sequence[int]) -> str | None:
        """Explain why a group with data-dependent reads of its own stages cannot run so; None if it can or has none."""
        from tilefuse.analysis.tables import looked_up

        if self.fuses_lookups or not (tables := looked_up(model, members)):
            return None
        (table, reader), *_ = tables.items()
        return (
            f"'{model.nodes[reader].name}' reads '{model.nodes[table].name}' at data-dependent places, which "
            f"{self.name} "
            "cannot do inside a kernel; choose another model, or split the group"
        )

    def fits_initial_values(self, update: UpdateOp) -> bool:
        """Whether a thread can hold all points of a pure coordinate of an update and compute their initial values, so
        that `group-updates` need not store them."""
        return False

    def updates_to_fuse(self, update: UpdateOp, *, warps: bool) -> Sequence[UpdateOp]:
        """Return the updates that one kernel should take, this one first, each of the functions of the one before it.

        For `group-updates`; `warps`: whether the machine has warps.
        """
        return [update]

    def fuses_reader(self, update: UpdateOp, stage: StageOp, *, warps: bool, several: bool) -> bool:
        """Whether its kernel can store a stage that reads an update's results, at each point or its transpose.

        Asked of updates with dimensions that are no pure coordinates. `several`: whether the kernel takes several.
        """
        return False

    def why_not_fused(self, beside: Sequence[str], *, steps: bool) -> str | None:
        """Explain in one sentence why stages of these names cannot be fused with the update; None if they can.

        `steps`: whether there are stages that each step of the update computes.
        """
        if steps:
            return None if self.fuses_steps else f"{self.name} computes no stages for each step of an update"
        if self.fuses_stages or not beside:
            return None
        return f"{self.name} cannot fuse stage '{beside[0]}' with the update; give the stage a group of its own"

    def why_not_updates(self, earlier: Sequence[str]) -> str | None:
        """Explain why updates of these names cannot precede the last one of a group; None if they can."""
        if self.fuses_updates or not earlier:
            return None
        return f"{self.name} runs one update per kernel; give update '{earlier[-1]}' a group of its own"

    def why_not_stored(self, stored: Sequence[str]) -> str | None:
        """Explain in one sentence why a group that stores stages of these names cannot run so; None if it can."""
        if self.multiple_outputs or len(stored) < 2:
            return None
        others = ", ".join(f"'{name}'" for name in stored[:-1])
        return (
            f"{self.name} stores only the last stage of a group, but {others} must be stored too; choose another "
            "model, or "
            "split the group"
        )

    @abstractmethod
    def legal(self, facts: GroupFacts) -> str | None:
        """Explain in one sentence why a group of supported operations is illegal for the model; None if it is legal."""

    @abstractmethod
    def candidates(self, facts: GroupFacts, machine: Machine, options: SearchOptions) -> Iterator[Candidate]:
        """Return the schedules worth comparing, with their cost; none if the group is illegal, or no schedule fits.

        Raises NotFusable for a group that no model can run.
        """

    @abstractmethod
    def by_hand(self, group: GroupOp, facts: GroupFacts, given: ByHand) -> ScheduleAttr:
        """Return the schedule that options describe, with its `tile_parameters`; the caller sets the others.

        Raises NotFusable or VerifyException if they are invalid.
        """

    @abstractmethod
    def apply(self, group: GroupOp, candidate: Candidate, members: Sequence[int]) -> None:
        """Write a candidate on a group. `members`: node ids of its stages, or of the similar group searched."""

    # --- where stages live (`promote-memory`)

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
        if not self.fuses_lookups and issubclass(self.runs, StageOp):
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
