"""The light model of a pipeline that scheduling searches on: extracted once, cheap to ask.

Nodes are functions (inputs and stages), in program order. An edge from producer to consumer carries the
distinct reads. Nothing here refers back into a rewrite: passes decide on the model, then rewrite once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import DenseArrayBase, IndexType
from xdsl.ir import Attribute, Operation, SSAValue

from tilefuse.analysis.bounds import flat_ops
from tilefuse.analysis.index import AnyIndex, GeneralIndex, Index, classify
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.ops import (
    BoundaryOp,
    DivOp,
    GroupOp,
    InputOp,
    ModOp,
    ParamOp,
    PipelineOp,
    ReadOp,
    StageOp,
    YieldOp,
)
from tilefuse.dialects.img.types import element_bytes, storage_type

if TYPE_CHECKING:
    import networkx as nx

# Instructions that one op costs a thread, about, on an NVIDIA SM. Sources: the throughput table of the CUDA
# C++ programming guide (results per clock per SM against 128 for FADD) and the SASS of sample kernels.
_OP_COST: dict[type[Operation], float] = {
    arith.ConstantOp: 0,
    arith.IndexCastOp: 0,
    arith.DivfOp: 9,
    arith.DivSIOp: 20,
    arith.DivUIOp: 6,
    arith.FloorDivSIOp: 8,
    arith.RemSIOp: 20,
    arith.RemUIOp: 8,
    DivOp: 22,
    ModOp: 22,
    arith.ExtUIOp: 0.5,
    arith.ExtSIOp: 0.5,
    arith.TruncIOp: 0.5,
    arith.SIToFPOp: 2,
    arith.UIToFPOp: 2,
    arith.FPToSIOp: 2,
    arith.FPToUIOp: 2,
    math.SqrtOp: 8,
    math.RsqrtOp: 6,
    math.ExpOp: 10,
    math.Exp2Op: 6,
    math.LogOp: 20,
    math.PowFOp: 60,
    math.SinOp: 30,
    math.CosOp: 30,
    math.TanhOp: 20,
    math.AtanOp: 25,
    math.Atan2Op: 40,
}


@dataclass(frozen=True, slots=True)
class Access:
    """One distinct read: which producer, at which indices, through which boundary."""

    producer: int
    indices: tuple[AnyIndex, ...]
    source: SSAValue
    """The function as it is read, with its boundaries."""
    boundary: BoundaryKind | None = None

    @property
    def jumps(self) -> bool:
        """Whether it may land anywhere: a data-dependent index, or a boundary that moves the coordinate."""
        moved = self.boundary not in (None, BoundaryKind.ConstantExterior)
        return moved or any(isinstance(i, GeneralIndex) for i in self.indices)


@dataclass(slots=True)
class Node:
    """A function: an input, or a stage with its cost per point."""

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
    accesses: list[Access] = field(default_factory=list)
    hull: list[Access] = field(default_factory=list)
    """At most two accesses per way of reading a producer: the least and the greatest offsets. Footprints
    follow from these alone."""
    offsets: dict[int, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    """The constant offsets of the accesses, per producer; 0 where an index is general."""
    bounds: tuple[tuple[int, int] | None, ...] = ()
    is_output: bool = False
    aligned: bool = True
    """Whether every row in memory starts at a multiple of 16 bytes (the runtime says where it does not)."""
    element_bytes: tuple[int, ...] = ()
    storage: tuple[Attribute, ...] = ()
    """The signless type of each value."""


@dataclass
class PipelineModel:
    """Nodes in program order (producers first), and who reads whom."""

    name: str
    nodes: list[Node] = field(default_factory=list)
    node_of: dict[SSAValue, int] = field(default_factory=dict)
    _consumers: list[list[int]] = field(default_factory=list)
    _producers: list[list[int]] = field(default_factory=list)

    def consumers(self, id: int) -> Sequence[int]:
        """The stages that read node `id`, in program order."""
        return self._consumers[id]

    def producers(self, id: int) -> Sequence[int]:
        """The functions that node `id` reads, in program order."""
        return self._producers[id]

    def graph(self) -> nx.DiGraph:
        """The same as a graph of networkx, for its algorithms; importing it takes time."""
        import networkx as nx

        graph = nx.DiGraph(name=self.name)
        for node in self.nodes:
            graph.add_node(node.id, node=node)
        graph.add_edges_from((p, id) for id, found in enumerate(self._producers) for p in found)
        return graph

    def add(self, node: Node) -> None:
        """Add a node, whose `id` is the count so far, that reads nothing yet."""
        self.nodes.append(node)
        self._consumers.append([])
        self._producers.append([])

    def add_reads(self, id: int, producers: set[int]) -> None:
        """Say what node `id`, the last one, reads."""
        self._producers[id] = sorted(producers)
        for producer in producers:
            self._consumers[producer].append(id)

    @property
    def stages(self) -> list[Node]:
        """The nodes that compute something."""
        return [n for n in self.nodes if not n.is_input]


_BY_CONSTANT: dict[type[Operation], float] = {
    arith.DivUIOp: 2, arith.FloorDivSIOp: 3, arith.DivSIOp: 3, DivOp: 3,
    arith.RemUIOp: 3, arith.RemSIOp: 4, ModOp: 4,
}  # fmt: skip
"""Divisions by a constant are a multiplication and a shift."""
_PRODUCTS = (arith.MulfOp, arith.MuliOp)
_SUMS = (arith.AddfOp, arith.SubfOp, arith.AddiOp, arith.SubiOp)


def instruction_cost(op: Operation) -> float:
    """Thread instructions of one op, about. A product that only feeds sums costs nothing: they fuse."""
    if isinstance(op, _PRODUCTS) and all(isinstance(u.operation, _SUMS) for u in op.results[0].uses):
        return 0.0
    if type(op) in _BY_CONSTANT and isinstance(op.operands[1].owner, arith.ConstantOp):
        return _BY_CONSTANT[type(op)]
    cost = _OP_COST.get(type(op))
    if cost is not None:
        return cost
    if op.results and isinstance(op.results[0].type, IndexType):
        return 0.5
    return 10.0 if op.name.startswith("math.") and not _cheap_math(op) else 1.0


def _cheap_math(op: Operation) -> bool:
    return op.name in (
        "math.absf",
        "math.absi",
        "math.floor",
        "math.ceil",
        "math.trunc",
        "math.fma",
        "math.roundeven",
    )


def extract(pipeline: PipelineOp) -> PipelineModel:
    """The model of a pipeline at level 1, 2 or 3, in one walk."""
    model = PipelineModel(pipeline.sym_name.data)
    boundary: dict[SSAValue, BoundaryKind | None] = {}

    def add(op: InputOp | StageOp, funcs: Sequence[SSAValue]) -> Node:
        elements = [f.type.element for f in funcs]  # type: ignore[attr-defined]
        node = Node(
            id=len(model.nodes),
            name=op.sym_name.data,
            rank=funcs[0].type.rank.data,  # type: ignore[attr-defined]
            bytes=sum(element_bytes(e) for e in elements),
            values=len(elements),
            is_input=isinstance(op, InputOp),
            op=op,
            bounds=op.bounds.data if op.bounds is not None else (None,) * funcs[0].type.rank.data,  # type: ignore[attr-defined]
            element_bytes=tuple(element_bytes(e) for e in elements),
            storage=tuple(storage_type(e) for e in elements),
        )
        model.add(node)
        for f in funcs:
            model.node_of[f] = node.id
        return node

    for op in flat_ops(pipeline):
        match op:
            case InputOp():
                add(op, [op.func])
            case BoundaryOp():
                model.node_of[op.func] = model.node_of[op.source]
                inner = boundary.get(op.source)
                kinds = {inner, op.kind.data} - {None}
                # two boundaries over one another count as the one that moves coordinates
                moving = [k for k in kinds if k is not BoundaryKind.ConstantExterior]
                boundary[op.func] = moving[0] if moving else op.kind.data
            case GroupOp():
                for result, value in zip(op.funcs, op.yield_op.values, strict=True):
                    model.node_of[result] = model.node_of[value]
            case StageOp():
                node = add(op, op.funcs)
                _read_body(op, node, model, boundary)
    aligns = pipeline.return_op.attributes.get("output_aligns")
    known = aligns.get_values() if isinstance(aligns, DenseArrayBase) else ()
    for i, func in enumerate(pipeline.return_op.funcs):
        node = model.nodes[model.node_of[func]]
        node.is_output = True
        node.aligned = i >= len(known) or int(known[i]) >= 16
    return model


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
    args: dict[SSAValue, int] = {a: i for i, a in enumerate(op.body.block.args)}
    seen: set[Access] = set()
    for inner in op.body.block.ops:
        if isinstance(inner, ReadOp):
            coords = [args.get(v) for v in inner.indices]
            access = Access(
                model.node_of[inner.source],
                tuple(classify(e, coords) for e in inner.map.data.results),
                inner.source,
                boundary.get(inner.source),
            )
            if access not in seen:
                seen.add(access)
                node.accesses.append(access)
        elif not isinstance(inner, YieldOp | ParamOp):
            node.instructions += instruction_cost(inner)
    model.add_reads(node.id, {a.producer for a in node.accesses})
    node.hull = _hull(node.accesses)
    offsets: dict[int, list[tuple[int, ...]]] = {}
    for access in node.accesses:
        of_indices = tuple(i.offset if isinstance(i, Index) else 0 for i in access.indices)
        offsets.setdefault(access.producer, []).append(of_indices)
    node.offsets = {producer: tuple(found) for producer, found in offsets.items()}
