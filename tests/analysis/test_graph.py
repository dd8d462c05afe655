"""Graphs of stages and kernels say what the IR says; networkx agrees with the light model that passes decide on."""

import re
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
from random_pipelines import random_pipeline

import tilefuse as hl
from tilefuse.analysis.dot import dot, dot_of_kernels
from tilefuse.analysis.graph import is_convex, kernel_graph, launch_order, stage_graph
from tilefuse.analysis.model import extract
from tilefuse.analysis.svg import svg
from tilefuse.dialects.img.ops import PipelineOp
from tilefuse.dialects.parsing import parse_module
from tilefuse.passes.group_stages import GroupStages
from tilefuse.passes.pipeline import run_passes

GROUPED = """
img.pipeline @steps {
  %in = img.input "in" : !img.func<2xui8>
  %edge = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xui8>
  %a = img.stage "a" (%x, %y) -> ui8 {
    %l = img.read %edge[%x - 1, %y] : !img.func<2xui8>
    %r = img.read %edge[%x + 1, %y] : !img.func<2xui8>
    %v = arith.addi %l, %r : i8
    img.yield %v : i8
  }
  %b = img.group "k" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> {
    %f = img.stage "f" (%x, %y) -> ui8 place #img.place<block, shared> {
      %v = img.read %a[%x, %y] : !img.func<2xui8>
      img.yield %v : i8
    }
    %g = img.stage "g" (%x, %y) -> ui8 {
      %v = img.read %f[%x, %y + 1] : !img.func<2xui8>
      %w = img.read %in[%x, %y] : !img.func<2xui8>
      %u = arith.addi %v, %w : i8
      img.yield %u : i8
    }
    img.yield %g : !img.func<2xui8>
  } : !img.func<2xui8>
  img.return "out" = %b : !img.func<2xui8>
}
"""


def graph_of(module):
    (pipeline,) = (op for op in module.body.block.ops if isinstance(op, PipelineOp))
    return stage_graph(pipeline)


def test_nodes_say_what_a_function_is():
    graph = graph_of(parse_module(GROUPED))
    assert list(graph.nodes) == ["in", "a", "f", "g"]
    alike = {"element": "ui8", "rank": 2}
    assert graph.nodes["in"] == {**alike, "kind": "input", "outputs": (), "kernel": None, "place": None}
    assert graph.nodes["a"] == {**alike, "kind": "stage", "outputs": (), "kernel": None, "place": None}
    place = "#img.place<block, shared>"
    assert graph.nodes["f"] == {**alike, "kind": "stage", "outputs": (), "kernel": "k", "place": place}
    assert graph.nodes["g"] == {**alike, "kind": "output", "outputs": ("out",), "kernel": "k", "place": None}
    schedule = "#schedule.block_tile<tile = [32, 8], threads = [32, 8]>"
    assert graph.graph == {"name": "steps", "kernels": {"k": schedule}}


def test_edges_say_how_a_function_is_read():
    graph = graph_of(parse_module(GROUPED))
    assert dict(graph.edges) == {
        ("in", "a"): {"reads": 2, "boundaries": ("repeat_edge",)},
        ("in", "g"): {"reads": 1, "boundaries": ()},
        ("a", "f"): {"reads": 1, "boundaries": ()},
        ("f", "g"): {"reads": 1, "boundaries": ()},
    }


def test_a_kernel_is_one_node():
    kernels = kernel_graph(graph_of(parse_module(GROUPED)))
    assert dict(kernels.nodes) == {
        "in": {"kind": "input", "kernel": None, "stages": ("in",)},
        "a": {"kind": "kernel", "kernel": None, "stages": ("a",)},
        "g": {"kind": "kernel", "kernel": "k", "stages": ("f", "g")},
    }
    assert set(kernels.edges) == {("in", "a"), ("in", "g"), ("a", "g")}


def test_the_order_of_kernels_has_no_edge_that_follows():
    kernels = kernel_graph(graph_of(parse_module(GROUPED)))
    order = launch_order(kernels)
    assert set(order.edges) == {("in", "a"), ("a", "g")}
    assert dict(order.nodes) == dict(kernels.nodes)
    assert dot_of_kernels(order).splitlines() == [
        'digraph "steps" {',
        '  node [fontname="sans-serif"];',
        '  "in" [shape=ellipse label="in"];',
        '  "a" [shape=box label="a"];',
        '  "g" [shape=box label="k\\nf, g"];',
        '  "in" -> "a";',
        '  "a" -> "g";',
        "}",
    ]


@pytest.mark.parametrize(
    ("members", "convex"), [("a", True), ("bc", True), ("abcd", True), ("ad", False), ("ab", True), ("abd", False)]
)
def test_convex(members, convex):
    diamond = nx.DiGraph(["ab", "ac", "bd", "cd"])
    assert is_convex(diamond, members) is convex


def two_steps():
    x, f, g, image = hl.Var("x"), hl.Func("f"), hl.Func("g"), hl.ImageParam(hl.Float(32), 1, "image")
    f[x] = hl.sin(image[x])
    g[x] = f[x] + f[x + 1]
    return hl.Pipeline([g, f])


def test_graphs_from_python():
    pipeline = two_steps()
    written = pipeline.graph()
    assert set(written.edges) == {("image", "f"), ("f", "g")}
    assert {facts["kind"] for _, facts in written.nodes(data=True)} == {"input", "output"}
    assert set(dict(written.nodes(data="kernel")).values()) == {None}
    assert set(pipeline.compile(target="reference").graph().edges) == set(written.edges)
    program = pipeline.compile(target="cpu")
    program(np.zeros(9, np.float32))
    compiled = program.graph()
    assert set(compiled.edges) == set(written.edges)
    assert set(dict(compiled.nodes(data="kernel")).values()) == {None, *compiled.graph["kernels"]}
    assert all(schedule.startswith("#schedule.") for schedule in compiled.graph["kernels"].values())


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(12))
def test_the_light_model_agrees(seed):
    module = random_pipeline(seed, stages=12, computed=0.3).module
    (pipeline,) = module.body.block.ops
    graph, model = stage_graph(pipeline), extract(pipeline)
    names = [node.name for node in model.nodes]
    assert list(graph.nodes) == names
    for node in model.nodes:
        assert {names[p] for p in model.producers(node.id)} == set(graph.predecessors(node.name))
        assert {names[c] for c in model.consumers(node.id)} == set(graph.successors(node.name))
    position = {name: i for i, name in enumerate(names)}
    assert all(position[producer] < position[consumer] for producer, consumer in graph.edges)


@pytest.mark.sweep
@pytest.mark.parametrize("algorithm", ["both", "greedy", "dp", "all"])
@pytest.mark.parametrize("returned", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(6))
def test_groups_are_convex(seed, returned, algorithm):
    module = random_pipeline(seed, stages=12, returned=returned).module
    before = graph_of(module)
    after, kernels = _grouped(module, GroupStages(algorithm=algorithm, recompute=False))
    assert any(len(stages) > 1 for _, stages in kernels.nodes(data="stages")) or len(before) < 4
    assert set(after.edges) == set(before.edges)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(6))
def test_groups_that_compute_a_stage_anew_are_convex(seed):
    _grouped(random_pipeline(seed, stages=12).module, GroupStages())


def _grouped(module, group_stages):
    after = graph_of(run_passes(module, [group_stages]))
    kernels = kernel_graph(after)
    assert all(is_convex(after, stages) for _, stages in kernels.nodes(data="stages"))
    assert nx.is_directed_acyclic_graph(kernels)
    return after, kernels


QUOTED = r'"(?:[^"\\\n]|\\.)*"'
LINE = re.compile(
    rf"digraph {QUOTED} {{|  node \[fontname={QUOTED}\];|  subgraph {QUOTED} {{|    label={QUOTED};|  }}|}}|"
    rf"  (?:  )?(?P<node>{QUOTED}) \[shape=\w+(?: peripheries=2)? label={QUOTED}\];|"
    rf"  (?P<producer>{QUOTED}) -> (?P<consumer>{QUOTED}) \[label={QUOTED}\];"
)


@pytest.mark.parametrize("name", ["plain", 'say "no"', "back\\", "\\n", "two\nlines", "bell\a", "größe", "a;b}", '\\"'])
def test_names_of_any_kind_leave_dot_well_formed(name):
    graph = nx.DiGraph(name=name, kernels={name: None})
    facts = {"element": "f32", "rank": 1, "outputs": (), "place": None}
    graph.add_node(name, kind="input", kernel=None, **facts)
    graph.add_node(f"{name}2", kind="output", kernel=name, **facts)
    graph.add_edge(name, f"{name}2", reads=1, boundaries=())
    found = [LINE.fullmatch(line) for line in dot(graph).replace("two\nlines", "two lines").splitlines()]
    assert all(found), dot(graph)
    nodes = [m["node"] for m in found if m["node"]]
    assert len(set(nodes)) == 2
    assert [(m["producer"], m["consumer"]) for m in found if m["producer"]] == [tuple(nodes)]


def test_dot_of_names_that_look_alike_once_escaped():
    graph = nx.DiGraph(name="p", kernels={})
    for name in ("\a", "\\x07", "\\\\x07"):
        graph.add_node(name, kind="stage", element="f32", rank=1, outputs=(), kernel=None, place=None)
    nodes = [m["node"] for line in dot(graph).splitlines() if (m := LINE.fullmatch(line)) and m["node"]]
    assert len(set(nodes)) == 3


def histogram():
    x, r, image = hl.Var("x"), hl.RDom([(0, 9)], "r"), hl.ImageParam(hl.UInt(8), 1, "image")
    counts, shown = hl.Func("counts"), hl.Func("<shown>")
    counts[x] = hl.u32(0)
    counts[image[r.x]] += hl.u32(1)
    shown[x] = counts[x] + hl.u32(1)
    return hl.Pipeline(shown)


def test_updates_are_drawn():
    graph = histogram().graph()
    assert sorted(facts["kind"] for _, facts in graph.nodes.items()) == ["input", "output", "stage", "update"]
    assert dot(graph).count("shape=hexagon") == 1


def test_a_picture_has_a_box_for_each_function_and_a_line_for_each_edge():
    graph = histogram().compile("h200").graph()
    found = ElementTree.fromstring(svg(graph))
    boxes, lines, texts = ([*found.iter(f"{{http://www.w3.org/2000/svg}}{tag}")] for tag in ("rect", "line", "text"))
    assert len(boxes) == len(graph)
    assert len(lines) == len(graph.edges)
    assert {text.text for text in texts} >= set(graph.nodes)
    places = {(box.get("x"), box.get("y")) for box in boxes}
    assert len(places) == len(boxes), "no two lie on one another"
    # arrows go down, from the lower side of a box to the upper one of another
    assert all(int(line.get("y1")) < int(line.get("y2")) for line in lines)
    kernels = {facts["kernel"] for _, facts in graph.nodes.items()}
    assert len({box.get("fill") for box in boxes}) == len(kernels)
