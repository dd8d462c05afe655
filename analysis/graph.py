"""Graphs of a pipeline's functions and of its kernels, as `networkx.DiGraph`s.

Order, reachability and convexity are computed here. Importing networkx takes as long as a fifth of the compiler, so
passes import this module where they have such a question: when a kernel would store several stages. Who reads whom is
in the light model (`analysis/model.py`), whose program order is a topological order already.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

import networkx as nx
from xdsl.ir import SSAValue

from tilefuse.analysis.access import accesses, defining_op
from tilefuse.analysis.bounds import flat_ops
from tilefuse.dialects.img.ops import Definition, GroupOp, InputOp, PipelineOp, StageOp, UpdateOp

_NodeT = TypeVar("_NodeT", bound=Hashable)


def stage_graph(pipeline: PipelineOp) -> nx.DiGraph:
    """Build the graph of a pipeline at level 1, 2 or 3: a node per input and stage, edges from producer to consumer.

    Nodes are names, in program order. They carry `kind` (`input`, `stage`, `update`; `output` if it is returned),
    `element` and `rank`, `outputs` (what a caller knows it by), `kernel` (the name of its group, or None) and `place`
    (IR text, or None). Edges carry `reads` (how many stand in the consumer's body) and `boundaries` (their kinds,
    outermost first). The graph carries `name`, and `kernels`: the schedule of each group, as IR text or None.
    """
    graph = nx.DiGraph(name=pipeline.sym_name.data, kernels={})
    for op in flat_ops(pipeline):
        match op:
            case GroupOp():
                graph.graph["kernels"][op.sym_name.data] = None if op.schedule is None else str(op.schedule)
            case InputOp():
                _add(graph, op, "input", [op.func])
            case StageOp():
                _add(graph, op, "stage", op.funcs)
                _add_reads(graph, op)
            case UpdateOp():
                _add(graph, op, "update", op.funcs)
                _add_reads(graph, op)
    for name, function in pipeline.return_op.outputs:
        node = graph.nodes[defining_op(function).sym_name.data]
        node["outputs"] += (name,)
        if node["kind"] != "input":
            node["kind"] = "output"
    return graph


def _add(graph: nx.DiGraph, op: InputOp | Definition, kind: str, functions: Iterable[SSAValue]) -> None:
    types = [f.type for f in functions]
    group = op.parent_op()
    place = op.place if isinstance(op, StageOp) else None
    graph.add_node(
        op.sym_name.data,
        kind=kind,
        element=", ".join(str(type.element) for type in types),  # type: ignore[attr-defined]
        rank=types[0].rank.data,  # type: ignore[attr-defined]
        outputs=(),
        kernel=group.sym_name.data if isinstance(group, GroupOp) else None,
        place=None if place is None else str(place),
    )


def _add_reads(graph: nx.DiGraph, stage: Definition) -> None:
    consumer = stage.sym_name.data
    updated: dict[SSAValue, SSAValue] = {}
    if isinstance(stage, UpdateOp):
        updated.update(zip(stage.currents, stage.old_funcs, strict=True))
    for old in updated.values():
        graph.add_edge(defining_op(old).sym_name.data, consumer, reads=0, boundaries=())
    for read in accesses(stage):
        producer = defining_op(updated.get(read.base, read.base)).sym_name.data
        if not graph.has_edge(producer, consumer):
            graph.add_edge(producer, consumer, reads=0, boundaries=())
        edge = graph.edges[producer, consumer]
        edge["reads"] += 1
        kinds = tuple(str(b.kind.data) for b in read.boundaries)
        edge["boundaries"] += tuple(k for k in kinds if k not in edge["boundaries"])


def kernel_graph(graph: nx.DiGraph) -> nx.DiGraph:
    """Contract each kernel of a `stage_graph` to one node; inputs and stages outside groups stay.

    A node has the name of the last of its stages, and their names, in program order, as `stages`.
    """
    members: dict[tuple[bool, str], list[str]] = {}
    for name, facts in graph.nodes.items():
        kernel = facts["kernel"]
        members.setdefault((kernel is not None, kernel or name), []).append(name)
    last = {name: names[-1] for names in members.values() for name in names}
    found = nx.DiGraph(name=graph.graph["name"])
    for (grouped, kernel), names in members.items():
        kind = "input" if graph.nodes[names[0]]["kind"] == "input" else "kernel"
        found.add_node(names[-1], kind=kind, kernel=kernel if grouped else None, stages=tuple(names))
    found.add_edges_from((last[p], last[c]) for p, c in graph.edges if last[p] != last[c])
    return found


def launch_order(graph: nx.DiGraph) -> nx.DiGraph:
    """Reduce a `kernel_graph` transitively: each kernel keeps only the last kernels that it waits for."""
    order = nx.transitive_reduction(graph)
    order.graph.update(graph.graph)
    order.add_nodes_from(graph.nodes(data=True))  # the reduction has neither facts nor name
    return order


def is_convex(graph: nx.DiGraph, members: Iterable[Hashable]) -> bool:
    """Check that no path between two members leaves the set: only then can one kernel compute all of them."""
    inside = set(members)
    below = {c for m in inside for c in graph.successors(m)} - inside
    reached = below.union(*(nx.descendants(graph, node) for node in below))
    return inside.isdisjoint(reached)


def uses_first(nodes: Sequence[_NodeT], uses: Callable[[_NodeT], Iterable[_NodeT]]) -> list[_NodeT]:
    """Sort nodes topologically, used nodes first, and otherwise in the given order."""
    graph = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from((node, used) for node in nodes for used in uses(node))
    return list(nx.dfs_postorder_nodes(graph))
