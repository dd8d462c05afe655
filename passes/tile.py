"""`tile`: choose tile, threads and vector width of every group (level 2 to level 3).

The search enumerates the tiling space (block, thread and serial levels; Anderson 2021) of every execution model, with
the analytical cost on the light model (`execution/search.py`). Existing schedules in the IR are kept. `sizes`,
`threads` and `vector` set a schedule by hand, for all groups or for `only`. The attribute `register_needs` of a group
lists schedules that the compiler could not fit into registers, with the registers that they need. With `explain` the
pass also annotates each group with the cheapest schedule of each execution model (`candidates`).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from tilefuse.analysis.duplicates import fingerprint
from tilefuse.analysis.machine import check_extent, check_target, machine
from tilefuse.analysis.model import PipelineModel, extract
from tilefuse.analysis.regions import NotFusable
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import Level
from tilefuse.dialects.img.ops import MOSTLY_BORDER, GroupOp, PipelineOp, StageOp
from tilefuse.dialects.img.schedule import ParameterValue, ScheduleAttr, parameters_in
from tilefuse.dialects.options import check_numbers
from tilefuse.execution.base import ByHand, ExecutionModel, group_error
from tilefuse.execution.border_share import interior_share
from tilefuse.execution.candidate import Candidate, Kind, SearchOptions
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.registry import UnknownModel, model_named, names
from tilefuse.execution.rows import DEFAULT_MODEL
from tilefuse.execution.search import best_for_like, schedules

REGISTER_NEEDS = "register_needs"
CANDIDATES = "candidates"
"""On a group: the cheapest schedule of each execution model, with its predicted time, the cheapest model first."""
AUTO = "auto"
KNOWN = 0.01
"""Relative saving that a tile of unknown registers must promise over one of known registers, since it may spill."""
_BY_HAND = ("threads", "vector", "blocks")
"""Options that need `sizes`."""


@dataclass(frozen=True)
class Tile(ModulePass):
    """Choose tile sizes, threads and vector width of every group."""

    name = "tile"

    target: str = "h200"
    """Machine whose costs decide: a GPU's model or arch, or cpu."""
    shape: str = field(default=AUTO, metadata={"choices": lambda: [AUTO, *names()]})
    """Execution model; applies to the groups that it can run. auto: the cheapest one."""
    sizes: tuple[int, ...] = ()
    """Tile size per dimension, x first, without a search. 0, where the execution model takes it, stands for the size
    that follows from its other parameters."""
    threads: tuple[int, ...] = ()
    """Threads per dimension; required with sizes."""
    vector: int = 1
    """Consecutive x-points per thread, with sizes."""
    blocks: int = 0
    """Resident blocks per multiprocessor for which registers are bounded, with sizes; 0 for no bound."""
    more: str = ""
    """Parameters of the execution model, as in the text of its schedule: 'name = 2, other = [1, 2]'. With sizes they
    complete the schedule, otherwise they restrict the search."""
    float_order: bool = False
    """Whether reductions of floats keep the order of their domain; otherwise another fixed order."""
    only: str | None = None
    """Name of the only group to tile."""
    extent: tuple[int, ...] = (1536, 2560)
    """Size of picture to optimise for, x first."""
    explain: bool = False
    """Whether to annotate each searched group with `candidates`: the cheapest schedule of each execution model."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_extent(self.extent, self.name)
        check_target(self.target, self.name)
        check_numbers(self, sizes=0, threads=1, vector=1, blocks=0)
        self._check_options()
        parameters = self._parameters(self._model())
        present = []
        for pipeline in op.body.block.ops:
            if isinstance(pipeline, PipelineOp):
                groups = [g for g in pipeline.body.block.ops if isinstance(g, GroupOp)]
                present += [g.sym_name.data for g in groups]
                chosen = [g for g in groups if g.schedule is None and self.only in (None, g.sym_name.data)]
                if chosen:
                    self._tile(chosen, extract(pipeline, self.extent), parameters, alone=len(groups) == 1)
        if self.only is not None and self.only not in present:
            raise PipelineError(f"tile: no group is called '{self.only}'; there are {', '.join(present) or 'none'}")

    def _tile(
        self,
        groups: Sequence[GroupOp],
        model: PipelineModel,
        parameters: Mapping[str, ParameterValue],
        *,
        alone: bool,
    ) -> None:
        by_hand = self._model() if self.sizes else None
        if by_hand is not None:
            for group in (g for g in groups if isinstance(g.output, by_hand.runs)):
                group.schedule = self._by_hand(group, model, by_hand, parameters)
            groups = [g for g in groups if not isinstance(g.output, by_hand.runs)]
        on = machine(self.target)
        alike: dict[Hashable, list[GroupOp]] = {}
        for group in groups:
            alike.setdefault(fingerprint(group), []).append(group)
        for those in alike.values():
            # of a chain most steps have their pictures alike, too: one search does for these
            searched: dict[Hashable, tuple[Sequence[int], list[Candidate]]] = {}
            found = []
            for group in those:
                facts = GroupFacts.of(group, model, self.extent)
                if isinstance(facts.definition, StageOp) and len(facts.stored) > 1:
                    facts = replace(facts, far_boxes=True)  # the sizes for which their stages were put together
                needs = register_needs(group)
                try:
                    key = (_in_memory(facts), facts.box, tuple(sorted(needs.items())))
                except NotFusable as error:  # a group written by hand
                    raise group_error(group, error) from error
                if key not in searched:
                    candidates = self._search(group, facts, parameters, needs)
                    searched[key] = facts.members, [c.by_itself(alone) for c in candidates]
                found.append(searched[key])
                if self.explain:
                    explain(group, searched[key][1])
                if on.is_gpu and isinstance(facts.definition, StageOp) and interior_share(facts) < 0.5:
                    group.attributes[MOSTLY_BORDER] = UnitAttr()
            for group, (members, _), best in zip(those, found, best_for_like([c for _, c in found]), strict=True):
                give(group, best, members)

    def _check_options(self) -> None:
        """Raise PipelineError for options of a manual tile if no tile is given."""
        if self.sizes:
            return
        defaults = {f.name: f.default for f in fields(self)}
        given = [name for name in _BY_HAND if getattr(self, name) != defaults[name]]
        if given:
            raise PipelineError(
                f"tile: {', '.join(given)} count{'s' if len(given) == 1 else ''} only for a tile by hand; "
                "add sizes=, or leave the search to choose"
            )

    def _model(self) -> ExecutionModel | None:
        """Return the execution model that options name, or mean; None for a search of all. Raises PipelineError."""
        if self.shape == AUTO:
            return model_named(DEFAULT_MODEL) if self.sizes else None
        try:
            return model_named(self.shape)
        except UnknownModel as error:
            raise PipelineError(f"tile: shape: {error}; or {AUTO}") from error

    def _parameters(self, model: ExecutionModel | None) -> Mapping[str, ParameterValue]:
        """Return the parameters of `more`. Raises PipelineError if the execution model has no such parameters."""
        if not self.more:
            return {}
        if model is None:
            raise PipelineError("tile: more= has parameters of one execution model; name the model by shape=")
        try:
            found = parameters_in(self.more)
        except VerifyException as error:
            raise PipelineError(f"tile: more: {error}") from error
        if (reason := model.why_no_parameters(found, by_hand=bool(self.sizes))) is not None:
            raise PipelineError(f"tile: {reason}")
        return found

    def _by_hand(
        self, group: GroupOp, model: PipelineModel, execution: ExecutionModel, parameters: Mapping[str, ParameterValue]
    ) -> ScheduleAttr:
        bounds = _bounds(group)
        rank = len(bounds)
        if len(self.sizes) != len(self.threads):
            raise PipelineError(
                f"tile: {len(self.sizes)} sizes but {len(self.threads)} threads; give one of each per dimension: "
                "threads= says how many threads share the points of a tile along it",
                group,
            )
        tail = [d[1] if d is not None else 1 for d in bounds[len(self.sizes) :]]
        given = ByHand(
            [*self.sizes, *tail][:rank], [*self.threads, *([1] * rank)][:rank], self.vector, self.blocks, parameters
        )
        own = {name: value for name, value in parameters.items() if name not in execution.tile_parameters}
        try:
            if self.blocks and "blocks" not in execution.schedule.PARAMETERS:
                raise VerifyException(f"{execution.name} has no bound on registers; leave blocks= out")
            found = execution.by_hand(group, GroupFacts.of(group, model, self.extent), given)
            return found.changed(**own) if own else found
        except NotFusable as error:
            raise group_error(group, error) from error
        except VerifyException as error:
            raise PipelineError(f"tile: group '{group.sym_name.data}': {error}", group) from error

    def _search(
        self,
        group: GroupOp,
        facts: GroupFacts,
        parameters: Mapping[str, ParameterValue],
        needs: dict[Kind, int],
    ) -> list[Candidate]:
        """Return all schedules to compare, at least one."""
        given = None if self.shape == AUTO else model_named(self.shape)
        shape = given.name if given is not None and isinstance(facts.definition, given.runs) else None
        try:
            options = SearchOptions(shape, parameters if shape else {}, needs, self.float_order)
            candidates = list(schedules(facts, machine(self.target), options))
        except NotFusable as error:
            raise group_error(group, error) from error
        if not candidates and shape is not None and (reason := model_named(shape).why_not(facts)) is not None:
            raise group_error(group, reason)
        if not candidates:
            raise group_error(
                group,
                f"no tile fits {self.target}; its stages need more shared memory or registers than there are. Cut the "
                "group, or inline fewer stages",
            )
        return [c.discounted(KNOWN) if c.kind in needs else c for c in candidates]


def _in_memory(facts: GroupFacts) -> Hashable:
    """Return the memory layout of the functions that stages read and yield, which a fingerprint omits."""
    nodes = facts.model.nodes
    ids = (i for id in facts.members for i in (id, *(a.producer for a in nodes[id].accesses)))
    return tuple(nodes[i].in_memory for i in ids)


def give(group: GroupOp, best: Candidate, members: Sequence[int]) -> None:
    """Write a schedule on a group; `members`: the nodes of its stages, or of the like group that was searched."""
    model_named(best.shape).apply(group, best, members)


def explain(group: GroupOp, candidates: Sequence[Candidate]) -> None:
    """Record on a group the cheapest schedule of each execution model, and the number of candidates."""
    by_model: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_model.setdefault(candidate.shape, []).append(candidate)
    best = [(min(of, key=lambda c: c.microseconds), len(of)) for of in by_model.values()]
    group.attributes[CANDIDATES] = ArrayAttr(
        [
            StringAttr(
                f"{c.shape}: {c.microseconds:.2f} us, the best of {count}: tile = {[*c.tile]}, "
                f"threads = {[*c.threads]}, vector = {c.vector}"
            )
            for c, count in sorted(best, key=lambda found: found[0].microseconds)
        ]
    )


def exchanges(group: GroupOp) -> bool:
    """Whether stages are computed once per block, as recorded before `promote-memory`."""
    return any(s.place is not None and s.place.where[0] is Level.Block for s in group.stages)


def register_needs(group: GroupOp) -> dict[Kind, int]:
    """Return the registers per thread that warp tiles of the group are known to need."""
    found = group.attributes.get(REGISTER_NEEDS)
    if found is None:
        return {}
    needs: dict[Kind, int] = {}
    try:
        for need in found:  # type: ignore[attr-defined]
            s, exchanged, registers = (need.data[k] for k in ("schedule", "exchanged", "registers"))
            kind = (s.model, s.tile_sizes, s.thread_counts, s.vector_width, bool(exchanged.value.data))
            needs[kind] = max(needs.get(kind, 0), registers.value.data)
    except (TypeError, AttributeError, KeyError) as error:
        raise PipelineError(
            f"tile: group '{group.sym_name.data}': {REGISTER_NEEDS} is not a list of "
            "{schedule, exchanged, registers}",
            group,
        ) from error
    return needs


def add_register_need(group: GroupOp, registers: int) -> None:
    """Record on a scheduled group the registers per thread that its warp tile needs."""
    assert group.schedule is not None
    need = DictionaryAttr(
        {
            "schedule": group.schedule,
            "exchanged": IntegerAttr.from_bool(exchanges(group)),
            "registers": IntegerAttr(registers, 64),
        }
    )
    old = group.attributes.get(REGISTER_NEEDS)
    group.attributes[REGISTER_NEEDS] = ArrayAttr([*(old or ()), need])  # type: ignore[misc]


def _bounds(group: GroupOp) -> tuple[tuple[int, int] | None, ...]:
    """Return the declared box of the scheduled function: the output, or an update's pure coordinates."""
    op = group.output
    bounds = op.bounds.data if op.bounds is not None else (None,) * op.rank
    return bounds if isinstance(op, StageOp) else tuple(bounds[d] for d in op.pure_dims)
