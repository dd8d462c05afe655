"""Imports run one way: from room to room as in docs/architecture.md, and in no circle between modules.

Every import counts: late ones, and those for types alone.
"""

import ast
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parent.parent
ROOMS = sorted(link.name for link in (ROOT / "tilefuse").iterdir() if link.is_symlink() and link.name != "examples")

MAY_IMPORT = {
    "targets": set(),
    "dialects": set(),
    "analysis": {"dialects", "targets"},
    "evaluator": {"dialects"},
    "lowering": {"analysis", "dialects", "targets"},
    "execution": {"analysis", "dialects", "lowering", "targets"},
    "passes": {"analysis", "dialects", "evaluator", "execution", "lowering", "targets"},
    "runtime": {"analysis", "dialects", "evaluator", "execution", "lowering", "passes", "targets"},
    "frontend": {"dialects"},
    "tools": {"analysis", "dialects", "execution", "lowering", "passes", "runtime", "targets"},
}

OF_RUNTIME = {
    "cpu": {"errors", "cache"},
    "cuda": {"errors", "cache"},
    "arrays": {"errors", "cuda"},
    "compile": {"errors", "arrays", "cpu", "cuda"},
    "call": {"errors", "arrays", "compile"},
    "launch": {"errors", "arrays", "cpu", "cuda", "compile", "call"},
}
"""Imports of the rooms in runtime/: rooms and files of runtime/. Its other files import any room, or none."""

ACROSS = {
    # What a program is made of before it is compiled knows nothing of compiling, but for the methods that do it.
    ("frontend.compilable", "runtime.program"): "Pipeline.compile",
    ("frontend.infer", "runtime.call.inferred"): "infer_input_bounds",
    ("frontend.ir", "runtime.program"): "hl.compile",
    ("frontend.target", "runtime.compile.backend"): "host_supports_target_device",
    ("frontend.runnable", "analysis.graph"): "Pipeline.graph",
    ("evaluator.evaluate", "analysis.access"): "the function behind boundaries and groups",
}
"""Imports against the table above, each with its reason."""


def _files():
    found = {}
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


def _imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            yield node.module  # a package, where a module is taken out of it: that has to be there, too
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def import_graph(files):
    """A node per module, an edge from it to each module of ours that it imports."""
    graph = nx.DiGraph()
    graph.add_nodes_from(files)
    for name, path in files.items():
        for imported in _imported(path):
            target = imported.removeprefix("tilefuse.")
            if not imported.startswith("tilefuse."):
                continue
            if target not in files:  # a name in a module
                target = target.rpartition(".")[0]
            if target in files and target != name:
                graph.add_edge(name, target)
    return graph


@pytest.fixture(scope="module")
def graph():
    return import_graph(_files())


def test_every_room_is_in_the_table():
    assert sorted(MAY_IMPORT) == ROOMS


def test_the_table_runs_one_way():
    assert nx.is_directed_acyclic_graph(nx.DiGraph((room, other) for room, may in MAY_IMPORT.items() for other in may))


def test_rooms_import_one_way(graph):
    def room(name):
        return name.partition(".")[0]

    wrong = {(a, b) for a, b in graph.edges if room(a) != room(b) and room(b) not in MAY_IMPORT[room(a)]}
    assert wrong == set(ACROSS)


def test_rooms_of_runtime_import_one_way(graph):
    assert set(OF_RUNTIME) == {p.name for p in (ROOT / "runtime").iterdir() if (p / "__init__.py").exists()}

    def room(name):
        return name.split(".")[1]

    inside = [edge for edge in graph.edges if all(name.startswith("runtime.") for name in edge)]
    found = {(room(a), room(b)) for a, b in inside if room(a) in OF_RUNTIME and room(a) != room(b)}
    assert found == {(a, b) for a, may in OF_RUNTIME.items() for b in may}


def test_modules_import_in_no_circle(graph):
    circles = [sorted(c) for c in nx.strongly_connected_components(graph) if len(c) > 1]
    assert circles == []


def test_late_imports_and_those_for_types_count(tmp_path):
    (tmp_path / "a.py").write_text("def f():\n    from tilefuse.b import g\n")
    (tmp_path / "b.py").write_text("if TYPE_CHECKING:\n    import tilefuse.a\n")
    files = {"a": tmp_path / "a.py", "b": tmp_path / "b.py"}
    assert set(import_graph(files).edges) == {("a", "b"), ("b", "a")}
