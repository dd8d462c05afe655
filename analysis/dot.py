"""Graphs of stages as text in the DOT language, which Graphviz and many viewers draw."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx

from tilefuse.dialects.naming import printable

_SHAPES = {"input": "ellipse", "stage": "box", "update": "hexagon", "output": "box"}


def dot(graph: nx.DiGraph) -> str:
    """Write a `stage_graph` as one `digraph`: a cluster per kernel with its schedule, double borders for outputs."""
    return "\n".join([f"digraph {_quoted(graph.graph['name'])} {{", *_statements(graph), "}"]) + "\n"


def dot_of_kernels(graph: nx.DiGraph) -> str:
    """Write a `kernel_graph` as one `digraph`: a node per kernel with the names of its stages, and per input."""
    lines = [f"digraph {_quoted(graph.graph['name'])} {{", '  node [fontname="sans-serif"];']
    for name, facts in graph.nodes.items():
        shape = "ellipse" if facts["kind"] == "input" else "box"
        stages = [] if facts["stages"] == (name,) else [", ".join(facts["stages"])]
        lines.append(f"  {_quoted(name)} [shape={shape} label={_label(facts['kernel'] or name, *stages)}];")
    lines += [f"  {_quoted(producer)} -> {_quoted(consumer)};" for producer, consumer in graph.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _statements(graph: nx.DiGraph) -> Iterator[str]:
    yield '  node [fontname="sans-serif"];'
    kernels: dict[str, list[str]] = {}
    for name, facts in graph.nodes.items():
        if facts["kernel"] is None:
            yield f"  {_node(name, facts)}"
        else:
            kernels.setdefault(facts["kernel"], []).append(name)
    for kernel, names in kernels.items():
        schedule = graph.graph["kernels"][kernel]
        yield f"  subgraph {_quoted(f'cluster_{kernel}')} {{"
        yield f"    label={_label(kernel, *([] if schedule is None else [schedule]))};"
        yield from (f"    {_node(name, graph.nodes[name])}" for name in names)
        yield "  }"
    for producer, consumer, facts in graph.edges(data=True):
        reads = f"{facts['reads']} read{'' if facts['reads'] == 1 else 's'}"
        label = _label(reads, *facts["boundaries"])
        yield f"  {_quoted(producer)} -> {_quoted(consumer)} [label={label}];"


def _node(name: str, facts: dict[str, object]) -> str:
    lines = [name, f"{facts['rank']}-d {facts['element']}"]
    if facts["place"] is not None:
        lines.append(str(facts["place"]))
    double = " peripheries=2" if facts["kind"] == "output" else ""
    return f"{_quoted(name)} [shape={_SHAPES[str(facts['kind'])]}{double} label={_label(*lines)}];"


def _label(*lines: str) -> str:
    """Quote the lines of a label, in which `\\n` begins a new one."""
    return '"' + "\\n".join(_escaped(printable(line)).replace("\n", "\\n") for line in lines) + '"'


def _quoted(name: str) -> str:
    """Quote an identifier. Backslashes are doubled first, so that an escape from `printable` stays distinct."""
    return f'"{printable(_escaped(name))}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
