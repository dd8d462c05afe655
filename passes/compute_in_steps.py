"""`compute-in-steps`: move stages that an update's steps read into its kernel, which recomputes them per step.

    %w = img.group "w" { %blur = ...; %w_1 = img.stage "w" (%x, %y, %d) ... }
    %t = img.group "t_update" {
      %t0 = img.stage "t" ...
      %t1 = img.update "t_update" (%x, %y) over (%r in [%lo, %n]) of (%sum = %t0 : ...) combine [add] {
        %v = img.read %w[%x, %y, %r] ...; %p = arith.mulf %v, ...; img.write %p at [%x, %y]
      }
    }
    =>
    %t = img.group "t_update" {
      %blur = ...
      %w_1 = img.stage "w" (%x, %y, %d) ...
      %term = img.stage "t_update_term" (%x, %y, %r) { %v = img.read %w_1[%x, %y, %r] ...; img.yield %p }
      %t0 = img.stage "t" ...
      %t1 = img.update "t_update" ... { %v = img.read %term[%x, %y, %r] ...; img.write %v at [%x, %y] }
    }

This is Halide's `compute_at` at a reduction variable. Otherwise a function that an update reads at its reduction
variables is stored in memory, with values for each step. A group that yields only such a function is merged into the
update's group if the update is its only reader, an execution model supports the result (`fuses_steps`), and the cost
model finds it cheaper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.transforms.common_subexpression_elimination import cse

from tilefuse.analysis.access import defining_op, free_name, read_sites, reads
from tilefuse.analysis.dependence import depending
from tilefuse.analysis.instructions import instruction_cost
from tilefuse.analysis.regions import is_small
from tilefuse.analysis.small_dimensions import bounds_of
from tilefuse.analysis.updates import UpdateFacts, WriteMap
from tilefuse.dialects.img.attrs import BoxAttr
from tilefuse.dialects.img.ops import GroupOp, PipelineOp, ReadOp, StageOp, UpdateOp, WriteOp, YieldOp, prints
from tilefuse.dialects.img.ops.group import reads_of_thread
from tilefuse.dialects.img.ops.update import plain_indices
from tilefuse.passes.constants import fold
from tilefuse.passes.inline_stages import inline_at
from tilefuse.passes.trials import TrialPass, Trials, named

FINISH = 24.0
"""Instructions per point, reads among them, up to which a stage is computed behind an update."""


@dataclass(frozen=True)
class ComputeInSteps(TrialPass):
    """Move stages that an update reads at its reduction variables into the update's group, if this is cheaper."""

    name = "compute-in-steps"

    target: str = "h200"
    """Machine whose costs decide: a GPU's model or arch, or cpu."""
    force: bool = False
    """Whether to move stages wherever this is legal, even if it costs more."""

    def try_changes(self, trials: Trials, pipeline: PipelineOp) -> None:
        names = [g.sym_name.data for g in pipeline.body.block.ops if isinstance(g, GroupOp) and _sums(g)]
        for name in names:
            pipeline = self._with_steps(trials, pipeline, name)

    def _with_steps(self, trials: Trials, pipeline: PipelineOp, name: str) -> PipelineOp:
        """Return the pipeline with every profitable stage computed in the steps of a group's update."""
        for producer in _given_for_steps(named(pipeline, name)):
            pipeline = trials.tried(pipeline, producer, name, _merge, always=self.force)
        if steps := named(pipeline, name).steps:
            for producer in _given_for_terms(named(pipeline, name)):
                free = _only_chooses(named(pipeline, producer).anchor, steps[-1])
                pipeline = trials.tried(pipeline, producer, name, _inline, always=free or self.force)
            for reader in _made_of(named(pipeline, name)):
                _finish(named(pipeline, reader), named(pipeline, name))
        return pipeline


def _sums(group: GroupOp) -> bool:
    """Whether every point of a group's update combines terms with an initial value from stages beside it."""
    update = group.update
    if (
        update is None
        or group.earlier_updates
        or group.schedule is not None
        or group.prologue is None
        or not update.domain
    ):
        return False
    facts = UpdateFacts(update)
    at_pure = update.pure and update.write_op.positions == list(update.pure)
    return (
        facts.commutes
        and facts.write_map is WriteMap.Identity
        and bool(at_pure)
        and update.write_op.predicate is None
        and group.permutation == tuple(range(update.rank))
        and not any(prints(stage) for stage in group.definitions)
    )


def _read_alone(reader: StageOp | UpdateOp) -> Iterator[tuple[GroupOp, list[Operation]]]:
    """Find the groups of stages, without a schedule by hand, that only `reader` reads, with their reads."""
    for producer in dict.fromkeys(read.source.owner for read in reads(reader)):
        if not isinstance(producer, GroupOp) or producer.update is not None or producer.schedule is not None:
            continue
        used = [use.operation for f in producer.funcs for use in f.uses]
        if all(isinstance(op, ReadOp) and op.parent_op() is reader for op in used):
            yield producer, used


def _given_for_steps(group: GroupOp) -> list[str]:
    """Find the groups, by name, whose function only the update reads, at its reduction variables."""
    update = group.update
    assert update is not None
    reader = group.steps[-1] if group.steps else update
    coordinates = list(reader.body.block.args)[: len(update.coordinates)]
    moving = depending(reader.body.block.ops, coordinates[len(update.pure) :])
    found = []
    for producer, used in _read_alone(reader):
        if len(producer.stored) == 1 and not any(prints(stage) for stage in producer.stages):
            if all(not moving.isdisjoint(op.operands) for op in used):
                found.append(producer.sym_name.data)
    return found


def _given_for_terms(group: GroupOp) -> list[str]:
    """Find the groups, by name, with one stage that only the terms read."""
    term = group.steps[-1]
    found = []
    for producer, _ in _read_alone(term):
        if len(producer.stages) == 1 and not prints(producer.anchor):
            found.append(producer.sym_name.data)
    return found


def _only_chooses(stage: StageOp, term: StageOp) -> bool:
    """Whether a stage that a term reads is, at each small-dimension point, a constant or one value that it reads.

    A thread has all points of these, so it does nothing but that read.
    """
    bounds = term.bounds.data if term.bounds is not None else ()
    small: dict[SSAValue | None, tuple[int, int]]
    small = {term.body.block.args[d]: b for d, b in enumerate(bounds) if b is not None and is_small(b)}
    for read in reads(term):
        if defining_op(read.source) is not stage:
            continue
        alone = plain_indices(read.map.data, list(read.indices))
        spans = {d: small[v] for d, v in enumerate(alone) if v in small}
        if not spans:
            return False
        for point in product(*(range(low, low + n) for low, n in spans.values())):
            if not _is_a_read(stage, dict(zip(spans, point, strict=True))):
                return False
    return True


def _made_of(group: GroupOp) -> list[str]:
    """Find the group, by name, of the short stage that alone reads an update's results, in the thread that has them."""
    update, term = group.update, group.steps[-1]
    assert update is not None
    used = [use.operation for f in group.funcs for use in f.uses]
    readers = {op.parent_op() for op in used}
    stage = readers.pop() if len(readers) == 1 else None
    if group.epilogue is not None or not isinstance(stage, StageOp) or prints(stage):
        return []
    outer = stage.parent_op()
    cost = sum(instruction_cost(op) for op in stage.body.block.ops) + sum(1 for _ in reads(stage))
    alone = isinstance(outer, GroupOp) and outer.schedule is None and list(outer.body.block.ops)[:-1] == [stage]
    if not alone or cost > FINISH or not all(reads_of_thread(op, stage, term) for op in used):
        return []
    assert isinstance(outer, GroupOp)
    return [outer.sym_name.data]


def _finish(reader: GroupOp, group: GroupOp) -> None:
    """Move the stage that reads an update's results behind the update, and the whole group to the stage's place."""
    stage, last = reader.anchor, group.yield_op
    for inner, outer in zip(last.values, group.funcs, strict=True):
        outer.replace_all_uses_with(inner)
    given = list(reader.yield_op.values)
    stage.detach()
    group.body.block.insert_op_before(stage, last)
    last.detach()
    last.erase()
    group.body.block.add_op(YieldOp(given))
    body = group.detach_region(group.body)
    new = GroupOp(group.sym_name.data, [f.type for f in given], body)
    new.location = group.location
    block = reader.parent_block()
    assert block is not None
    block.insert_op_before(new, reader)
    for outer, result in zip(reader.funcs, new.funcs, strict=True):
        outer.replace_all_uses_with(result)
        result.name_hint = outer.name_hint
    for op in (reader, group):
        op.detach()
        op.erase()


def _is_a_read(stage: StageOp, at: Mapping[int, int]) -> bool:
    """Whether a stage at some known coordinates computes nothing, and reads once at most."""
    copy = stage.clone()
    block = copy.body.block
    first = block.first_op
    assert first is not None
    for d, n in at.items():
        constant = arith.ConstantOp(IntegerAttr(n, IndexType()))
        block.insert_op_before(constant, first)
        block.args[d].replace_all_uses_with(constant.result)
    fold(copy)
    left = [op for op in block.ops if not isinstance(op, arith.ConstantOp | YieldOp)]
    return len(left) <= 1 and all(isinstance(op, ReadOp) for op in left)


def _inline(pipeline: PipelineOp, producer: GroupOp, group: GroupOp) -> None:
    """Inline a producer's stage into the terms of a group."""
    stage, term = producer.anchor, group.steps[-1]
    for inner, outer in zip(producer.yield_op.values, producer.funcs, strict=True):
        outer.replace_all_uses_with(inner)
    last = producer.yield_op
    last.detach()
    last.erase()
    sites = read_sites(stage)
    assert sites is not None
    for number, site in enumerate(sites):
        inline_at(stage, site, move=number == len(sites) - 1)
    cse(term)
    producer.detach()
    producer.erase()


def _merge(pipeline: PipelineOp, producer: GroupOp, group: GroupOp) -> None:
    """Move a producer's stages into the steps of a group."""
    first, update = group.body.block.first_op, group.update
    assert first is not None
    assert update is not None
    term = group.steps[-1] if group.steps else _with_term(pipeline, group, update)
    for inner, outer in zip(producer.yield_op.values, producer.funcs, strict=True):
        outer.replace_all_uses_with(inner)
    before = group.body.block.first_op if group.steps[0] is not term else term
    assert before is not None
    for op in list(producer.body.block.ops):
        if not isinstance(op, YieldOp):
            op.detach()
            group.body.block.insert_op_before(op, before)
    producer.detach()
    producer.erase()


def _with_term(pipeline: PipelineOp, group: GroupOp, update: UpdateOp) -> StageOp:
    """Move an update's terms into a stage of their own, before all other operations, and have the update read it."""
    bounds, coordinates = bounds_of(pipeline, update), update.coordinates
    body = Block(arg_types=[IndexType()] * len(coordinates))
    values: dict[SSAValue, SSAValue] = dict(zip(coordinates, body.args, strict=True))
    for old, new in zip(coordinates, body.args, strict=True):
        new.name_hint = old.name_hint
    write = update.write_op
    for op in list(update.body.block.ops):
        if op is not write:
            body.add_op(op.clone(values))
    body.add_op(YieldOp([values.get(v, v) for v in write.values]))
    taken = {s.sym_name.data for s in pipeline.walk() if isinstance(s, StageOp | UpdateOp)}
    name = free_name(f"{update.sym_name.data}_term", taken)
    term = StageOp(name, [f.type.element for f in update.funcs], Region(body))
    term.location = update.location
    if any(b is not None for b in bounds):
        term.bounds = BoxAttr((*bounds, *[None] * len(update.domain)))
    first = group.body.block.first_op
    assert first is not None
    group.body.block.insert_op_before(term, first)
    _read_terms(update, write, term)
    return term


def _read_terms(update: UpdateOp, write: WriteOp, term: StageOp) -> None:
    """Make an update write the terms of a stage, without computing anything."""
    coordinates, block = update.coordinates, update.body.block
    found = [ReadOp(f, coordinates, AffineMap.identity(len(coordinates))) for f in term.funcs]
    for read in found:
        block.insert_op_before(read, write)
    for number, read in enumerate(found):
        write.operands[number] = read.value
    given = {*found, write}
    for op in reversed(list(block.ops)):
        if op not in given:
            op.detach()
            op.erase()
