"""The light model of a pipeline, on which scheduling searches: extracted once, cheap to query.

Nodes are functions (inputs and stages), in program order. An edge from producer to consumer carries the
distinct reads. Nothing here refers back into a rewrite: passes decide on the model, then rewrite once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tilefuse.analysis.access import coordinates, functions_read, indices_of
from tilefuse.analysis.bounds import flat_ops
from tilefuse.analysis.dependence import depending
from tilefuse.analysis.index import AnyIndex, GeneralIndex, Index, is_staged
from tilefuse.analysis.index_values import with_values
from tilefuse.analysis.instructions import instruction_cost
from tilefuse.analysis.points import Extents, needed_extents
from tilefuse.analysis.row_sharing import row_instructions
from tilefuse.analysis.strides import rows_are_contiguous
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.ops import (
    BY_PLANES,
    SHARES_ROWS,
    BoundaryOp,
    Definition,
    GroupOp,
    InputOp,
    ParamOp,
    PipelineOp,
    ReadOp,
    StageOp,
    UpdateOp,
    YieldOp,
)
from tilefuse.dialects.img.types import element_bytes, storage_type

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Access:
    """One distinct read: which producer, at which indices, through which boundary."""

    producer: int
    indices: tuple[AnyIndex, ...]
    source: SSAValue
    """The function as it is read, with its boundaries."""
    boundary: BoundaryKind | None = None
    jumps: bool = field(init=False, compare=False)
    """Whether it may land anywhere: a data-dependent index, or a boundary that moves the coordinate."""
    looks_up: bool = field(init=False, compare=False)
    """Whether data decide where it lands, within limits that are known."""
    is_staged: bool = field(init=False, compare=False)
    """Whether an input read so is loaded once per tile into registers."""

    def __post_init__(self) -> None:
        # the search asks so often that it is found once
        general = [i for i in self.indices if type(i) is GeneralIndex]
        moved = self.boundary is not None and self.boundary is not BoundaryKind.ConstantExterior
        jumps = moved or any(i.known is None for i in general)
        object.__setattr__(self, "jumps", jumps)
        object.__setattr__(self, "looks_up", not jumps and bool(general))
        object.__setattr__(self, "is_staged", is_staged(self.indices))


@dataclass(slots=True)
class Node:
    """A function: an input, or a stage with its cost per point. Results of updates are inputs of their readers."""

    id: int
    name: str
    rank: int
    bytes: int
    """Bytes per point, all values of a tuple together."""
    values: int
    is_input: bool
    op: Operation
    instructions: float = 0.0
    """Thread instructions per point beside the reads."""
    shared_instructions: float = 0.0
    """Instructions among them that do not depend on the dimensions after x and y: a thread with all points of these
    runs them once."""
    row_instructions: float = 0.0
    """Instructions among them that depend on x: a loop along a row runs the others once."""
    shared_row_instructions: float = 0.0
    """Instructions among these that do not depend on the dimensions after x and y."""
    accesses: list[Access] = field(default_factory=list)
    hull: list[Access] = field(default_factory=list)
    """At most two accesses per way of reading a producer: the least and the greatest offsets. Footprints
    follow from these alone."""
    offsets: dict[int, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    """The constant offsets of the accesses, per producer; 0 where an index is general."""
    bounds: tuple[tuple[int, int] | None, ...] = ()
    needed: Extents | None = None
    """Points per dimension that a picture of nominal size needs; None where it was not computed."""
    is_output: bool = False
    is_returned: bool = False
    """Whether it is an output of the pipeline; no kernel needs to read it."""
    is_yielded: bool = False
    """Whether the group that it stands in gives it to others."""
    aligned: bool = True
    """Whether every row in memory starts at a multiple of 16 bytes; the runtime says which inputs and outputs do."""
    contiguous: bool = True
    """Whether points next to each other in x are so in memory."""
    element_bytes: tuple[int, ...] = ()
    storage: tuple[Attribute, ...] = ()
    """The signless type of each value."""

    _shares: dict[int, float] = field(default_factory=dict)

    def share_of_rows(self, together: int) -> float:
        """Return the share of instructions left in a loop over several rows, which computes common values once."""
        if together == 1 or not isinstance(self.op, StageOp) or SHARES_ROWS not in self.op.attributes:
            return 1.0
        found = self._shares.get(together)
        if found is None:
            each, alone = row_instructions(self.op, together), row_instructions(self.op, 1)
            self._shares[together] = found = each / alone if alone else 1.0
        return found

    @property
    def in_memory(self) -> tuple[object, ...]:
        """The properties of the function's memory layout that affect cost."""
        return self.element_bytes, self.is_input, self.aligned, self.contiguous


@dataclass
class PipelineModel:
    """Nodes in program order (producers first) and their reads; for graph algorithms see `graph.py`."""

    name: str
    parallel_instructions: float = math.inf
    """Instructions of a kernel from which several threads of the CPU that it is lowered for compute its tiles."""
    nodes: list[Node] = field(default_factory=list)
    node_of: dict[SSAValue, int] = field(default_factory=dict)
    _consumers: list[list[int]] = field(default_factory=list)
    _producers: list[list[int]] = field(default_factory=list)
    _found: dict[Callable[[PipelineModel], Any], Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, find: Callable[[PipelineModel], _Found]) -> _Found:
        """Return the result of a function of this model, computed at its first call: a fact for one execution model."""
        if find not in self._found:
            self._found[find] = find(self)
        found: _Found = self._found[find]
        return found

    def consumers(self, id: int) -> Sequence[int]:
        """Return the stages that read node `id`, in program order."""
        return self._consumers[id]

    def producers(self, id: int) -> Sequence[int]:
        """Return the functions that node `id` reads, in program order."""
        return self._producers[id]

    def add(self, node: Node) -> None:
        """Append a node without reads; its `id` must be the current count."""
        self.nodes.append(node)
        self._consumers.append([])
        self._producers.append([])

    def add_reads(self, id: int, producers: set[int]) -> None:
        """Record the reads of node `id`, which is the last one."""
        self._producers[id] = sorted(producers)
        for producer in producers:
            self._consumers[producer].append(id)

    def needed(self, ids: Iterable[int], members: Collection[int]) -> set[int]:
        """The nodes `ids`, and the members that these need, transitively."""
        found, waiting = set[int](), list(ids)
        while waiting:
            id = waiting.pop()
            if id not in found:
                found.add(id)
                waiting += [p for p in self._producers[id] if p in members]
        return found

    def stored(self, members: Collection[int]) -> list[int]:
        """Return the members that a kernel of these members stores, in program order: outputs, and functions read
        outside."""

        found = []
        for id in sorted(members):
            node = self.nodes[id]
            if node.is_output or node.is_yielded:
                found.append(id)
                continue
            for consumer in self._consumers[id]:
                if consumer not in members:
                    found.append(id)
                    break
        return found

    @property
    def stages(self) -> list[Node]:
        """The nodes that are computed, inputs excluded."""
        return [n for n in self.nodes if not n.is_input]


def pipeline_of(group: GroupOp) -> PipelineOp:
    """Return the pipeline that contains a group."""
    parent = group.parent_op()
    assert isinstance(parent, PipelineOp)
    return parent


def is_temporary(function: SSAValue, group: GroupOp) -> bool:
    """Whether a function that a group reads or yields is neither an input nor an output of the pipeline."""
    return not isinstance(function.owner, InputOp) and function not in pipeline_of(group).return_op.funcs


def _bounds(op: InputOp | Definition, rank: int) -> tuple[tuple[int, int] | None, ...]:
    """Return (min, extent) of each declared dimension; None for declared dimensions that are tiled plane by plane."""
    found = op.bounds.data if op.bounds is not None else (None,) * rank
    return (*found[:2], *(None,) * (rank - 2)) if BY_PLANES in op.attributes else found


def extract(
    pipeline: PipelineOp, extent: Sequence[int] | None = None, *, parallel_instructions: float = math.inf
) -> PipelineModel:
    """Extract the model of a pipeline at level 1, 2 or 3; with `extent`, compute the points that each node needs."""
    extents = {} if extent is None else needed_extents(pipeline, extent)
    model = PipelineModel(pipeline.sym_name.data, parallel_instructions)
    boundary: dict[SSAValue, BoundaryKind | None] = {}

    def add(op: InputOp | Definition, funcs: Sequence[SSAValue]) -> Node:
        elements = [f.type.element for f in funcs]  # type: ignore[attr-defined]
        node = Node(
            id=len(model.nodes),
            name=op.sym_name.data,
            rank=funcs[0].type.rank.data,  # type: ignore[attr-defined]
            bytes=sum(element_bytes(e) for e in elements),
            values=len(elements),
            is_input=not isinstance(op, StageOp),
            op=op,
            bounds=_bounds(op, funcs[0].type.rank.data),  # type: ignore[attr-defined]
            element_bytes=tuple(element_bytes(e) for e in elements),
            storage=tuple(storage_type(e) for e in elements),
            needed=extents.get(funcs[0]),
        )
        model.add(node)
        for f in funcs:
            model.node_of[f] = node.id
        return node

    for op in flat_ops(pipeline):
        match op:
            case InputOp():
                align = op.attributes.get("img.align")
                node = add(op, [op.func])
                node.aligned = not isinstance(align, IntegerAttr) or align.value.data >= 16
                node.contiguous = rows_are_contiguous(op.func)
            case BoundaryOp():
                model.node_of[op.func] = model.node_of[op.source]
                boundary[op.func] = _kind_over(boundary.get(op.source), op.kind.data)
            case GroupOp():
                for result, value in zip(op.funcs, op.yield_op.values, strict=True):
                    model.node_of[result] = model.node_of[value]
                    model.nodes[model.node_of[value]].is_yielded = True
            case UpdateOp():
                add(op, op.funcs)
                # what an update reads is computed by kernels of its own, or by each of its steps
                for func in functions_read(op):
                    if not (isinstance(group := op.parent_op(), GroupOp) and func.owner in group.steps):
                        model.nodes[model.node_of[func]].is_output = True
            case StageOp():
                node = add(op, op.funcs)
                _read_body(op, node, model, boundary)
    _mark_outputs(model, pipeline)
    return model


def _kind_over(inner: BoundaryKind | None, outer: BoundaryKind) -> BoundaryKind:
    """Return the kind that stands for two nested boundaries in the model: the one that moves coordinates."""
    return outer if inner is None or inner is BoundaryKind.ConstantExterior else inner


def _mark_outputs(model: PipelineModel, pipeline: PipelineOp) -> None:
    """Mark the output nodes, and record the layout of their pictures."""
    aligns = pipeline.return_op.attributes.get("output_aligns")
    known = aligns.get_values() if isinstance(aligns, DenseArrayBase) else ()
    for i, func in enumerate(pipeline.return_op.funcs):
        node = model.nodes[model.node_of[func]]
        node.is_output = node.is_returned = True
        node.aligned &= i >= len(known) or int(known[i]) >= 16
        node.contiguous &= rows_are_contiguous(func)


def _hull(accesses: Sequence[Access]) -> list[Access]:
    ways: dict[object, list[Access]] = {}
    for a in accesses:
        way = tuple((i.var, i.num, i.den) if isinstance(i, Index) and i.var is not None else i for i in a.indices)
        ways.setdefault((a.producer, a.source, way), []).append(a)
    hull: list[Access] = []
    for same in ways.values():
        for extreme in (min, max) if len(same) > 1 else (min,):
            indices = [
                replace(i, offset=extreme(a.indices[d].offset for a in same))  # type: ignore[union-attr]
                if isinstance(i, Index) and i.var is not None
                else i
                for d, i in enumerate(same[0].indices)
            ]
            hull.append(replace(same[0], indices=tuple(indices)))
    return hull


def _read_body(op: StageOp, node: Node, model: PipelineModel, boundary: dict[SSAValue, BoundaryKind | None]) -> None:
    of = coordinates(op)
    seen: set[Access] = set()
    deep = depending(op.body.block.ops, op.body.block.args[2:])
    """Values that depend on dimensions after x and y."""
    along = depending(op.body.block.ops, op.body.block.args[:1])
    """Values that depend on x."""
    for inner in op.body.block.ops:
        kind = type(inner)  # `isinstance` takes ten times as long
        if kind is ReadOp:
            assert isinstance(inner, ReadOp)
            source = inner.source
            producer, indices = model.node_of[source], indices_of(inner, of)
            if not model.nodes[producer].is_input and any(type(i) is GeneralIndex for i in indices):
                indices = tuple(with_values(inner, d, i) for d, i in enumerate(indices))
            access = Access(producer, indices, source, boundary.get(source))
            if access not in seen:
                seen.add(access)
                node.accesses.append(access)
        elif kind is not YieldOp and kind is not ParamOp:
            cost = instruction_cost(inner)
            node.instructions += cost
            shared = cost if not deep or deep.isdisjoint(inner.results) else 0.0
            moves = not along.isdisjoint(inner.results)
            node.shared_instructions += shared
            node.row_instructions += cost * moves
            node.shared_row_instructions += shared * moves
    model.add_reads(node.id, {a.producer for a in node.accesses})
    node.hull = _hull(node.accesses)
    offsets: dict[int, list[tuple[int, ...]]] = {}
    for access in node.accesses:
        of_indices = tuple(i.offset if isinstance(i, Index) else 0 for i in access.indices)
        offsets.setdefault(access.producer, []).append(of_indices)
    node.offsets = {producer: tuple(found) for producer, found in offsets.items()}
