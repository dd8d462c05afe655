"""Drawing of stage graphs as SVG, which browsers and notebooks show with nothing installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

import networkx as nx

from tilefuse.dialects.naming import printable

WIDTH, HEIGHT = 150, 40
"""Size of a node, in pixels."""
GAP, DROP = 24, 36
"""Pixels between neighbours of a layer, and from a layer to the next one."""
_COLOURS = ("#cfe3f6", "#fbe0c3", "#d5eed0", "#e6d8f0", "#f8d2d8", "#e4e0c8")
"""Background colours of kernels, in turn; stages outside of kernels are white."""


def svg(graph: nx.DiGraph) -> str:
    """Draw a `stage_graph` as SVG: a box per function, in the colour of its kernel; producers above their consumers."""
    layers = [list(layer) for layer in nx.topological_generations(graph)]
    columns = max(map(len, layers), default=1)
    width, height = columns * (WIDTH + GAP) + GAP, len(layers) * (HEIGHT + DROP) + DROP
    at = {
        name: (
            round((width - len(layer) * (WIDTH + GAP) + GAP) / 2) + number * (WIDTH + GAP),
            DROP + depth * (HEIGHT + DROP),
        )
        for depth, layer in enumerate(layers)
        for number, name in enumerate(layer)
    }
    body = [*_arrows(graph, at), *_boxes(graph, at)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif"'
    title = f"<title>{_text(graph.graph['name'])}</title>"
    return "\n".join([f'{head} font-size="12" text-anchor="middle">', title, _HEAD, *body, "</svg>"]) + "\n"


_HEAD = (
    '<defs><marker id="head" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L6 3L0 6z"/></marker></defs>'
)


def _arrows(graph: nx.DiGraph, at: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    for producer, consumer, facts in graph.edges(data=True):
        (x0, y0), (x1, y1) = at[producer], at[consumer]
        label = ", ".join([f"{facts['reads']} reads", *facts["boundaries"]])
        ends = f'x1="{x0 + WIDTH // 2}" y1="{y0 + HEIGHT}" x2="{x1 + WIDTH // 2}" y2="{y1}"'
        yield f'<line {ends} stroke="#666" marker-end="url(#head)"><title>{_text(label)}</title></line>'


def _boxes(graph: nx.DiGraph, at: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    kernels = list(graph.graph["kernels"])
    for name, facts in graph.nodes.items():
        x, y = at[name]
        kernel = facts["kernel"]
        fill = "white" if kernel is None else _COLOURS[kernels.index(kernel) % len(_COLOURS)]
        tip = name if kernel is None else f"{name} in kernel {kernel}: {graph.graph['kernels'][kernel]}"
        border = 3 if facts["kind"] == "output" else 1
        round_ = f' rx="{HEIGHT // 2}"' if facts["kind"] == "input" else ""
        middle = x + WIDTH // 2
        yield f'<g><title>{_text(tip)}</title><rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}"{round_}'
        yield f' fill="{fill}" stroke="black" stroke-width="{border}"/>'
        yield f'<text x="{middle}" y="{y + 17}">{_text(name)}</text>'
        yield f'<text x="{middle}" y="{y + 32}" fill="#444">{facts["rank"]}-d {_text(facts["element"])}</text></g>'


def _text(text: str) -> str:
    return escape(printable(text))
