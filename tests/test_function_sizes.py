"""Functions stay small, names have one meaning, docstrings say what of: limits on the text of the compiler itself."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = "analysis dialects evaluator execution frontend lowering passes runtime targets tools".split()
MOST_LINES, MOST_PARAMETERS = 60, 7

LARGER: dict[str, str] = {}
"""Functions over the limits, each with its reason."""

WITHOUT_NOUN = ("What ", "How ", "That ", "Those ", "The same ")
"""A docstring begins with the thing that it describes, or with the verb of what a function does."""

MOST_IN_A_FILE = 450


@pytest.fixture(scope="module")
def trees():
    return {path: ast.parse(path.read_text()) for room in ROOMS for path in (ROOT / room).rglob("*.py")}


def _parameters(function):
    given = function.args
    names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [n for n in names if n not in ("self", "cls")]


def too_large(tree):
    """The functions of a module that are over the limits, with their lines and parameters."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = (node.end_lineno - node.lineno + 1, len(_parameters(node)))
            if size[0] > MOST_LINES or size[1] > MOST_PARAMETERS:
                found[node.name] = size
    return found


def test_functions_are_small(trees):
    found = {
        f"{path.relative_to(ROOT)}:{name}": size for path, t in trees.items() for name, size in too_large(t).items()
    }
    assert {name: size for name, size in found.items() if name not in LARGER} == {}
    assert set(LARGER) <= set(found), "no reason is needed any more"


def classes_of_one_name(trees):
    """Names that several classes have, wherever they stand, with their modules."""
    where = defaultdict(list)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                where[node.name].append(path.as_posix())
    return {name: paths for name, paths in where.items() if len(paths) > 1}


def test_a_name_is_of_one_class(trees):
    assert classes_of_one_name({path.relative_to(ROOT): tree for path, tree in trees.items()}) == {}


def test_classes_in_functions_count():
    trees = {Path("a.py"): ast.parse("class A: ..."), Path("b.py"): ast.parse("def f():\n  class A: ...")}
    assert classes_of_one_name(trees) == {"A": ["a.py", "b.py"]}


def texts(tree):
    """The docstrings of a module: of itself, of classes and functions, and those below constants and fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def test_docstrings_begin_with_their_noun_or_verb(trees):
    found = [(p.relative_to(ROOT), n, t) for p, tree in trees.items() for n, t in texts(tree)]
    assert [f"{path}:{line}: {text}" for path, line, text in found if text.startswith(WITHOUT_NOUN)] == []


def test_files_are_small(trees):
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in trees}
    assert {name: n for name, n in lengths.items() if n > MOST_IN_A_FILE} == {}


def test_lines_and_parameters_are_counted():
    long = "def f():\n" + "    pass\n" * MOST_LINES
    many = f"class A:\n  def g(self, {', '.join(f'a{i}' for i in range(7))}, *, b): ...\n  def h(self, a, b): ...\n"
    assert too_large(ast.parse(long + many)) == {"f": (MOST_LINES + 1, 0), "g": (1, 8)}
