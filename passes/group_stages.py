"""`group-stages`: decide which stages share a kernel (level 1 to level 2).

`greedy` (Sioutas 2020): every stage starts as a group; the pass merges a producer into the group of all its consumers
with the largest saving, until no merge saves time. `dp`: the best partition of the program order into consecutive
groups, by dynamic programming (after Jangda 2020). `both`, the default, takes the cheaper result. All use one cost
model, on the light model of the pipeline. These groups store one stage each; then groups are merged whose kernel stores
several stages (`passes/store_together.py`). The IR is rewritten once at the end.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.analysis.machine import Machine, check_extent, check_target, machine
from tilefuse.analysis.model import Node, PipelineModel, extract
from tilefuse.analysis.points import nominal_extents
from tilefuse.analysis.recomputation import Recomputation
from tilefuse.analysis.recurrence import transposes_recurrence
from tilefuse.analysis.regions import NotFusable
from tilefuse.analysis.small_dimensions import KnownBox, inferred_bounds
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import BoxAttr
from tilefuse.dialects.img.ops import GroupOp, PipelineOp, StageOp, prints
from tilefuse.execution.facts import GroupFacts, nominal_box
from tilefuse.execution.registry import model_named
from tilefuse.execution.search import quick_best
from tilefuse.passes.chain_windows import chain_windows, window_of
from tilefuse.passes.form_groups import form_groups
from tilefuse.passes.recompute_stored import Recomputed, recomputed
from tilefuse.passes.store_together import store_together

PATIENCE = 6
"""Groups that the dynamic programming tries, each a stage longer than the last, while all are dearer than the best."""
MARGIN = 0.1
"""Required increase of a group's cost, relative to its cost."""

ABOUT = 1.05
"""Relative predicted cost up to which recomputation is chosen: it needs less memory, and stores of many
planes are slower than predicted (local Laplacian on an H200: 337 us instead of 398, predicted alike)."""

MAX_GROUP = 16
"""Stages of one group that the search considers at most; longer chains never paid on the machines measured."""

ALGORITHMS = ("both", "greedy", "dp", "none", "all")

_GroupList = list[tuple[list[int], int]]
"""(members, output) of each group."""


class _CostKind(NamedTuple):
    """Kinds of groups whose costs are computed."""

    fuse_lookups: bool = False
    """See `GroupStages`."""
    far: bool = False
    """See `GroupFacts`."""


def _is_stored_by_update(node: Node) -> bool:
    """Whether the kernel of a recurrence stores a stage in place of its own results (see `group-updates`)."""
    return isinstance(node.op, StageOp) and transposes_recurrence(node.op)


class _Costs:
    """Cost of a set of stages as one group, cached for all sets of equal structure."""

    def __init__(
        self,
        model: PipelineModel,
        on: Machine,
        extent: Sequence[int],
        inferred: Mapping[int, KnownBox],
        like: _Costs | None = None,
        groups: _CostKind = _CostKind(),
    ):
        """Prepare the costs; `inferred`: bounds by node that are not declared. `like`: costs of a similar pipeline."""
        self._tables, self._far = groups
        self.model, self.machine, self.extent = model, on, tuple(extent)
        self._inferred = inferred
        self._bounded = replace(
            model, nodes=[replace(n, bounds=inferred[n.id]) if n.id in inferred else n for n in model.nodes]
        )
        self._known: dict[Hashable, tuple[float, bool] | None] = {} if like is None else like._known
        self._kinds: dict[Hashable, int] = {} if like is None else like._kinds
        self._printing = {n.id for n in model.stages if prints(n.op)}
        self._alone = {n.id for n in model.stages if not on.is_gpu and _is_stored_by_update(n)}
        self._kind_of = {n.id: self._kind(n) for n in model.nodes}

    def _kind(self, node: Node) -> int:
        """Return a number for the facts of a stage on which cost depends; its sources count by distance."""
        nodes = self.model.nodes
        reads = tuple(
            (node.id - a.producer, a.indices, a.boundary, p.bounds, self._points(p), *p.in_memory)
            for a in node.accesses
            for p in (nodes[a.producer],)
        )
        costs = (node.instructions, node.shared_instructions, node.row_instructions, node.shared_row_instructions)
        box = nominal_box(self.model, node.id, self.extent, planes=True, far=self._far)
        bounds = node.bounds, self._inferred.get(node.id)
        facts = (node.rank, node.storage, costs, bounds, box, node.in_memory, reads)
        return self._kinds.setdefault(facts, len(self._kinds))

    def _points(self, node: Node) -> Hashable:
        """Return the points of a picture that a function needs, without the halo around its box."""
        picture = nominal_extents(node.bounds, self.extent)
        return None if node.needed is None else tuple(map(min, node.needed, picture))

    def with_far(self) -> _Costs:
        """Return the costs that include boxes needed far beyond the picture, on GPUs."""
        far = self.machine.is_gpu
        return _Costs(self.model, self.machine, self.extent, self._inferred, None, _CostKind(self._tables, far))

    def of(self, members: Sequence[int], output: int) -> float | None:
        """Return microseconds, or None if the stages cannot share a kernel: a printing stage must be stored alone."""
        found = self._best(members, output)
        return None if found is None else found[0]

    def bounded(self, members: Sequence[int], output: int) -> Mapping[int, KnownBox]:
        """Return the inferred bounds that make a group cheaper, as a thread then has all points of a dimension."""
        found = self._best(members, output)
        if found is None or not found[1]:
            return {}
        return {id: self._inferred[id] for id in members if id in self._inferred}

    def _best(self, members: Sequence[int], output: int) -> tuple[float, bool] | None:
        """Return (microseconds, whether with inferred bounds)."""
        stored = self.model.stored(members)
        if any(id in self._printing and stored != [id] for id in members):
            return None
        if len(members) > 1 and not self._alone.isdisjoint(members):
            return None
        key = tuple((output - id, self._kind_of[id], id in stored) for id in members)
        if key not in self._known:
            ways = [(self.model, False)]
            if any(id in self._inferred for id in stored):
                ways.append((self._bounded, True))
            costs = [(cost, way) for model, way in ways if (cost := self._of(model, members, output)) is not None]
            self._known[key] = min(costs, default=None)
        return self._known[key]

    def _of(self, model: PipelineModel, members: Sequence[int], output: int) -> float | None:
        facts = GroupFacts(model, members, output, self.extent, far_boxes=self._far)
        try:
            found = quick_best(facts, self.machine, self._tables)
        except NotFusable:
            return None
        if found is None:
            return None
        if model is self._bounded and not self.machine.is_gpu and not model_named(found.shape).shares_rows:
            return None
        return found.microseconds


def greedy_groups(model: PipelineModel, costs: _Costs, start: _GroupList | None = None) -> _GroupList:
    """Merge producers into their only reading group, best saving first; from one kernel per stage, or `start`."""
    members = {output: list(m) for m, output in start or [([n.id], n.id) for n in model.stages]}
    group_of = {id: output for output, m in members.items() for id in m}

    def saving(producer: int) -> tuple[float, int] | None:
        """Return (negated saving, consumer group) of merging the group whose output is `producer`."""
        node = model.nodes[producer]
        targets = {group_of[c] for c in model.consumers(producer)}
        if node.is_output or len(targets) != 1:
            return None
        (target,) = targets
        if len(members[producer]) + len(members[target]) > MAX_GROUP:
            return None
        merged = costs.of(sorted(members[producer] + members[target]), target)
        if merged is None:
            return None
        separate = (costs.of(members[producer], producer) or 0) + (costs.of(members[target], target) or 0)
        return (merged - separate, target)

    heap: list[tuple[float, int, int, int]] = []
    version = dict.fromkeys(members, 0)

    def push(producer: int) -> None:
        found = saving(producer)
        if found is not None and found[0] < 0:
            heapq.heappush(heap, (found[0], producer, found[1], version[producer] + version[found[1]]))

    for id in members:
        push(id)
    while heap:
        _, producer, target, stamp = heapq.heappop(heap)
        if producer not in members or target not in members or version[producer] + version[target] != stamp:
            continue
        merged = sorted(members.pop(producer) + members[target])
        members[target] = merged
        version[target] += version[producer] + 1
        for id in merged:
            group_of[id] = target
        # what reads or feeds the new group has a new saving
        feeding = {group_of[p] for id in merged for p in model.producers(id) if p in group_of}
        for id in sorted((feeding - {target}) | {target}):
            push(id)
    return sorted(((m, output) for output, m in members.items()), key=lambda g: g[1])


def dp_groups(model: PipelineModel, costs: _Costs) -> _GroupList:
    """Return the cheapest partition of the program order into consecutive groups."""
    stages = [n.id for n in model.stages]
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(stages) + 1):
        choice: tuple[float, int] | None = None
        output = stages[end - 1]
        dearer = 0
        for start in range(end - 1, max(-1, end - 1 - MAX_GROUP), -1):
            part = stages[start:end]
            inside = set(part)
            escapes = any(
                model.nodes[id].is_output or any(c not in inside for c in model.consumers(id)) for id in part[:-1]
            )
            if escapes:
                continue
            cost = costs.of(part, output)
            if cost is not None and (choice is None or best[start][0] + cost < choice[0]):
                choice = (best[start][0] + cost, start)
                dearer = 0
                continue
            # longer groups only take more memory and more recomputation
            dearer += cost is None or choice is None or best[start][0] + cost > choice[0] + MARGIN * cost
            if dearer == PATIENCE:
                break
        if choice is None:
            # nothing fits: a group of its own, which later passes report on
            choice = (best[end - 1][0] + 1e9, end - 1)
        best.append(choice)
    groups: _GroupList = []
    end = len(stages)
    while end > 0:
        start = best[end][1]
        groups.append((stages[start:end], stages[end - 1]))
        end = start
    return groups[::-1]


def cheaper_groups(model: PipelineModel, costs: _Costs) -> _GroupList:
    """Choose the cheapest of three groupings: dynamic programming, merging, and merging after dynamic programming."""

    def total(groups: _GroupList) -> float:
        found = [costs.of(members, output) for members, output in groups]
        return sum(1e9 if c is None else c for c in found)

    cut = dp_groups(model, costs)
    return min(cut, greedy_groups(model, costs), greedy_groups(model, costs, cut), key=total)


def merged_groups(model: PipelineModel, costs: _Costs, groups: _GroupList) -> _GroupList:
    """Merge groups into kernels that store several stages, where that kernel is cheaper."""
    far = costs.with_far()

    def cost(members: Sequence[int]) -> float | None:
        return far.of(members, members[-1])

    found = store_together(model, [members for members, _ in groups], cost, MAX_GROUP)
    return sorted(((members, members[-1]) for members in found), key=lambda g: g[1])


def _group_rest(pipeline: PipelineOp, extent: tuple[int, ...]) -> None:
    """Give each stage outside manual groups a group of its own, such as copies of updated functions."""
    if stages := [op for op in pipeline.body.block.ops if isinstance(op, StageOp)]:
        model = extract(pipeline, extent)
        form_groups(pipeline, model, [((id,), id) for id in (model.node_of[s.funcs[0]] for s in stages)])


@dataclass(frozen=True)
class GroupStages(ModulePass):
    """Group stages into kernels, by an analytical cost model."""

    name = "group-stages"

    target: str = "h200"
    """Machine whose costs decide: a GPU's model or arch, or cpu."""
    algorithm: Literal["both", "greedy", "dp", "none", "all"] = "both"
    """Search: `greedy`, `dp` (dynamic programming), or `both` for the cheaper result; `none` for a kernel per stage,
    `all` for as few kernels as legal."""
    multiple_outputs: bool = True
    """Whether a kernel may store several stages."""
    inferred_bounds: bool = True
    """Whether a dimension of few points is treated as small, with all its points in one thread, although it has no
    declared bounds, if bounds inference proves its extent in every call."""
    recompute: bool = True
    """Whether kernels may recompute stages that another kernel computes, instead of loading them; on GPUs."""
    chain: Literal["cheaper", "always", "never"] = "cheaper"
    """Whether wide windows become chains of partial results; on GPUs."""
    fuse_lookups: bool = False
    """Whether a kernel may recompute small stages that it reads at data-dependent places, instead of a separate kernel
    for them."""
    extent: tuple[int, ...] = (1536, 2560)
    """Size of picture to optimise for, x first."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_extent(self.extent, self.name)
        check_target(self.target, self.name)
        if self.algorithm not in ALGORITHMS:
            raise PipelineError(
                f"{self.name}: no algorithm is called '{self.algorithm}'; there are {', '.join(ALGORITHMS)}"
            )
        for pipeline in op.body.block.ops:
            if not isinstance(pipeline, PipelineOp):
                continue
            if any(isinstance(o, GroupOp) for o in pipeline.body.block.ops):
                _group_rest(pipeline, self.extent)
                continue
            for require in pipeline.requirements:
                if require.guarded is not None:
                    raise PipelineError(
                        f"{self.name}: no kernel checks a condition on points, which a program of its own does; "
                        "drop-requirements leaves it out",
                        require,
                    )
            self._group(pipeline)

    def _group(self, pipeline: PipelineOp) -> None:
        found = self._grouped(pipeline)
        if self.recompute and self.algorithm != "none":
            # on a copy, which takes the place of the pipeline if it turns out better
            pipeline, found = self._with_recomputation(pipeline, found)
            if machine(self.target).is_gpu and self.chain != "never":
                pipeline, found = self._with_chains(pipeline, found)
        for id, bounds in ((id, b) for group in found.groups for id, b in found.costs.bounded(*group).items()):
            op = found.model.nodes[id].op
            assert isinstance(op, StageOp)
            op.bounds = BoxAttr(bounds)
        form_groups(pipeline, found.model, found.groups)

    def _grouped(
        self, pipeline: PipelineOp, like: _Costs | None = None, together: Sequence[Sequence[StageOp]] = ()
    ) -> _Grouped:
        """Group the stages, starting with a group for each of `together`, regardless of size."""
        model = extract(pipeline, self.extent)
        inferred = (
            {model.node_of[s.funcs[0]]: b for s, b in inferred_bounds(pipeline).items()} if self.inferred_bounds else {}
        )
        costs = _Costs(model, machine(self.target), self.extent, inferred, like, _CostKind(self.fuse_lookups))
        if not together:
            return _Grouped(model, costs, self._groups(model, costs))
        chains = [[model.node_of[s.funcs[0]] for s in stages] for stages in together]
        alone = [[n.id] for n in model.stages if not any(n.id in chain for chain in chains)]
        start = sorted(((members, members[-1]) for members in (*chains, *alone)), key=lambda group: group[1])
        groups = greedy_groups(model, costs, start)
        return _Grouped(model, costs, merged_groups(model, costs, groups) if self.multiple_outputs else groups)

    def _with_recomputation(self, pipeline: PipelineOp, found: _Grouped) -> tuple[PipelineOp, _Grouped]:
        on = machine(self.target)

        def changes(of: PipelineOp, model: PipelineModel) -> Iterator[Recomputed]:
            def costs() -> Recomputation:
                return Recomputation(of, on, self.extent, cheap=0.0, reads=0, bounds=inferred_bounds(of))

            return recomputed(model, found.groups, costs, on)

        if next(changes(pipeline, found.model), None) is None:
            return pipeline, found
        copy = pipeline.clone()
        block = pipeline.parent_block()
        assert block is not None
        block.insert_op_after(copy, pipeline)
        for change in changes(copy, extract(copy, self.extent)):
            change.apply()
        better = self._grouped(copy, found.costs)
        rest, kept = (copy, pipeline)
        if better.microseconds < ABOUT * found.microseconds:
            rest, kept = (pipeline, copy)
        rest.detach()
        rest.erase()
        return (kept, better) if kept is copy else (pipeline, found)

    def _with_chains(self, pipeline: PipelineOp, found: _Grouped) -> tuple[PipelineOp, _Grouped]:
        if not any(window_of(stage) for stage in pipeline.body.block.ops if isinstance(stage, StageOp)):
            return pipeline, found
        copy = pipeline.clone()
        block = pipeline.parent_block()
        assert block is not None
        block.insert_op_after(copy, pipeline)
        better = self._grouped(copy, found.costs, chain_windows(copy))
        taken = self.chain == "always" or better.microseconds < found.microseconds
        rest, kept = (pipeline, copy) if taken else (copy, pipeline)
        rest.detach()
        rest.erase()
        return (kept, better) if kept is copy else (pipeline, found)

    def _groups(self, model: PipelineModel, costs: _Costs) -> _GroupList:
        if self.algorithm == "none":
            return [([n.id], n.id) for n in model.stages]
        if self.algorithm == "all":
            costs = _FewestKernels(costs)
        find = {"both": cheaper_groups, "dp": dp_groups}.get(self.algorithm, greedy_groups)
        groups = find(model, costs)
        return merged_groups(model, costs, groups) if self.multiple_outputs else groups


@dataclass(frozen=True)
class _Grouped:
    """Groups of the stages of a pipeline."""

    model: PipelineModel
    costs: _Costs
    groups: _GroupList

    @property
    def microseconds(self) -> float:
        return sum(self.costs.of(*group) or 0.0 for group in self.groups)


class _FewestKernels(_Costs):
    """A cost that counts kernels alone, so that every legal merge pays."""

    def __init__(self, real: _Costs):
        super().__init__(real.model, real.machine, real.extent, {})  # `of` asks the real one
        self._real = real

    def with_far(self) -> _Costs:
        return self

    def of(self, members: Sequence[int], output: int) -> float | None:
        return None if self._real.of(members, output) is None else 1.0
