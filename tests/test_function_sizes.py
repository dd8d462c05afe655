"""Functions stay small, names have one meaning, docstrings say what of: limits on the text of the compiler itself."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = "analysis dialects evaluator execution frontend lowering passes runtime targets tools".split()
MOST_LINES, MOST_PARAMETERS = 60, 7

REASON = re.compile(r"# many (parameters|lines): \w+( \S+){2,}")
"""The comment above a function that is over a limit, and why it is."""

WITHOUT_NOUN = re.compile(r"(What|How|That|Those|The same) ")
"""Beginnings of texts that lack a noun: a docstring begins with its thing, or with the verb of a function's deed."""

FRAGMENT = re.compile(
    r"(Of|In|Which|Where|When|For|From|To|By|With|As|Only|Not|Same|Such|Its?|These|There|They|If|So)\b"
    r"|All (of (it|them|a|the)|three|as one|that)\b|One (of|per|line\.)|(Each is|All are)\b"
)
"""Beginnings of a function's, class's or module's docstring that say neither. A field's text may go on from its name,
as in `bytes: float`, "Of a tile"."""

NOUNLESS = re.compile(
    r"\bwhat(ever)?\b"
    r"|\b(those|the same)(?=[.,;:)]|$| (a|again|and|are|as|at|between|but|by|can|do|for|from|had|has|have|if|in|is|it"
    r"|left|made|may|must|needed|not|of|on|or|read|than|that|the|there|they|to|were|which|who|whose|with)\b)"
    r"|\bthat(?=[.,;:)]|$| of\b)"
    r"|\b(if|than|unless|when|where|whether) that (can|may|\w+[^s]s|is)\b",
    re.IGNORECASE,
)
"""Words of a docstring's first line that stand for a noun instead of giving it. `quoted` code does not count."""

IDIOM = re.compile(
    r"\b((is|are) asked|asks|held|lies? (so|well)|as (they|it) (lie|come|stand)s?|beside one another|written out"
    r"|for ever|so many|nobody|by way of|side by side|alike|anew|in turn|data (say|decide)|now and then"
    r"|and the like)\b",
    re.IGNORECASE,
)
"""Expressions of a private idiom, for which readers of CUDA and MLIR have terms: aligned, unrolled, adjacent, ..."""

MOST_IN_A_FILE = 450


SIDE_ROOMS = "examples benchmarks tests tilefuse".split()
"""Folders beside the compiler's, whose first lines are checked, too; of `tests` the modules that hold no tests."""


def parsed(paths):
    """Return the syntax trees of files, by path."""
    return {path: ast.parse(path.read_text()) for path in paths}


@pytest.fixture(scope="module")
def trees():
    return parsed(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


@pytest.fixture(scope="module")
def all_trees(trees):
    """Return the trees of the compiler, of the folders beside it, and of tests' helper modules."""
    beside = [path for room in SIDE_ROOMS for path in (ROOT / room).rglob("*.py")]  # `tilefuse` without its links
    return trees | parsed(path for path in beside if not path.name.startswith("test_"))


def _parameters(function):
    """All of them: `self`, and `*arguments` and `**keywords`, too."""
    given = function.args
    return [a for a in (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg) if a is not None]


def too_large(text, tree):
    """The functions that are over the limits with no reason beside them, with their lines and parameters."""
    found, lines, reasons = {}, text.splitlines(), 0
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = {"lines": node.end_lineno - node.lineno + 1, "parameters": len(_parameters(node))}
            above = REASON.fullmatch(lines[min(d.lineno for d in (node, *node.decorator_list)) - 2].strip())
            over = [k for k, most in (("lines", MOST_LINES), ("parameters", MOST_PARAMETERS)) if size[k] > most]
            if over != ([above[1]] if above else []):
                found[node.name] = tuple(size.values())
            reasons += above is not None
    assert reasons == len(re.findall("# many (?:parameters|lines):", text)), "a reason that updates no function"
    return found


def test_functions_are_small(trees):
    found = {str(path.relative_to(ROOT)): too_large(path.read_text(), tree) for path, tree in trees.items()}
    assert {path: sizes for path, sizes in found.items() if sizes} == {}


def classes_of_one_name(trees):
    """Names that several classes or type aliases (`Box = tuple[...]`) have, wherever they stand, with their modules.

    Without a leading `_`: a reader takes `_Box` for `Box`.
    """
    where = defaultdict(set)
    for path, tree in trees.items():
        aliases = [name for node in tree.body for name in type_aliases(node)]
        for name in (*aliases, *(node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))):
            where[name.lstrip("_")].add(path.as_posix())
    return {name: sorted(paths) for name, paths in where.items() if len(paths) > 1}


SHARED_CLASSES = {
    "Function": "the definitions of an hl.Func; and, as `_Function`, a kernel's function in MLIR's sense",
}
"""Names of several classes or type aliases, each with its reason."""


def test_a_name_is_of_one_class(trees):
    found = classes_of_one_name({path.relative_to(ROOT): tree for path, tree in trees.items()})
    assert set(found) == set(SHARED_CLASSES), found


def test_classes_in_functions_count():
    trees = {Path("a.py"): ast.parse("class A: ..."), Path("b.py"): ast.parse("def f():\n  class A: ...")}
    assert classes_of_one_name(trees) == {"A": ["a.py", "b.py"]}


def test_classes_and_type_aliases_of_one_name_are_found():
    trees = {Path("a.py"): ast.parse("class Box: ..."), Path("b.py"): ast.parse("Box = tuple\nBOX = 1")}
    assert classes_of_one_name(trees) == {"Box": ["a.py", "b.py"]}


def test_names_of_one_module_count():
    trees = {
        Path("a.py"): ast.parse("class Box: ...\n_Span = tuple\n_B = 1"),
        Path("b.py"): ast.parse("_Box = tuple\n_B = 2"),
    }
    assert classes_of_one_name(trees) == {"Box": ["a.py", "b.py"]}


OF_THE_LANGUAGE = {
    "evaluate": "hl.evaluate, as in Halide; and the evaluator, whose package exports it",
    "main": "the entry point of each tool",
}
"""Names that public functions of several modules share, each with its reason."""


def shared_names(trees, names):
    """Names of the top level that several modules define, with these modules; `names(node)` gives a statement's."""
    where = defaultdict(set)
    for path, tree in trees.items():
        for name in (name for node in tree.body for name in names(node)):
            where[name].add(path.as_posix())
    return {name: sorted(paths) for name, paths in where.items() if len(paths) > 1}


def assigned_names(node):
    """Return the names that an assignment defines; none for any other statement."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    found = (n for target in targets for n in ast.walk(target or ast.Pass()) if isinstance(n, ast.Name))
    return [n.id for n in found if isinstance(n.ctx, ast.Store)]


def functions_and_types(node):
    """Return the name of a public function, or of a type alias (`Box = tuple[...]`)."""
    if isinstance(node, ast.FunctionDef):
        return [] if node.name.startswith("_") else [node.name]
    return [name for name in type_aliases(node) if not name.startswith("_")]


def type_aliases(node):
    """Return the type aliases (`Box = tuple[...]`) that a statement defines, with and without a leading `_`."""
    return [name for name in assigned_names(node) if name.lstrip("_")[:1].isupper() and not name.isupper()]


def constants(node):
    """Return the constants in capitals that a statement defines; a leading `_` keeps one to its module."""
    return [name for name in assigned_names(node) if name.isupper() and not name.startswith("_")]


def test_a_name_is_of_one_function_or_type(trees):
    found = shared_names({path.relative_to(ROOT): tree for path, tree in trees.items()}, functions_and_types)
    assert set(found) == set(OF_THE_LANGUAGE), found


def test_functions_and_types_of_one_name_are_found():
    texts = {
        "a.py": "def f(): ...\nBox = tuple\ndef _g(): ...\nMOST = 1",
        "b.py": "def f(): ...\nBox: type = list\nMOST = 2",
    }
    trees = {Path(name): ast.parse(text) for name, text in texts.items()}
    assert shared_names(trees, functions_and_types) == {"f": ["a.py", "b.py"], "Box": ["a.py", "b.py"]}


SHARED_CONSTANTS = {
    "INDEX": "the type `index`, of which each room that builds IR has one object; all are equal",
    "NAME": "of an execution model, in its own folder",
    "T": "a type variable",
}
"""Names of constants that several modules give, each with its reason."""


def test_a_name_is_of_one_constant(trees):
    found = shared_names({path.relative_to(ROOT): tree for path, tree in trees.items()}, constants)
    hint = "say in the name what it is of (MOST_ROWS, not MOST), or import it from one place"
    assert set(found) == set(SHARED_CONSTANTS), f"{hint}: {found}"


def test_constants_of_one_name_are_found():
    texts = {
        "a.py": "MOST = 1\n_MOST = 2\nA, LEAST = 1, 2\nBox = tuple",
        "b.py": "MOST: int = 2\n_MOST = 3\nLEAST = 1\nBox = list\nfrom a import A",
    }
    trees = {Path(name): ast.parse(text) for name, text in texts.items()}
    assert shared_names(trees, constants) == {"MOST": ["a.py", "b.py"], "LEAST": ["a.py", "b.py"]}


def texts(tree):
    """The docstrings of a module: of itself, of classes and functions, and those below constants and fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def test_docstrings_begin_with_their_noun_or_verb(all_trees):
    found = [(p.relative_to(ROOT), n, t) for p, tree in all_trees.items() for n, t in texts(tree)]
    assert [f"{path}:{line}: {text}" for path, line, text in found if WITHOUT_NOUN.match(text)] == []


def fragments(tree):
    """Yield the docstrings of functions, classes and the module that begin with neither noun nor verb."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            text = ast.get_docstring(node)
            if text is not None and FRAGMENT.match(text):
                yield text.partition("\n")[0]


def test_docstrings_are_no_fragments(all_trees):
    assert [f"{path.relative_to(ROOT)}: {text}" for path, tree in all_trees.items() for text in fragments(tree)] == []


@pytest.mark.parametrize(("text", "count"), [("Of a block.", 1), ("All of it.", 1), ("Often asked.", 0)])
def test_fragments_are_found(text, count):
    assert len(list(fragments(ast.parse(f"def f():\n  {text!r}")))) == count


def in_first_lines(tree, pattern, code):
    """Yield line, match of a pattern, and first line of the docstrings of functions, classes and the module.

    `code`: what is no prose in them.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            if found := pattern.search(re.sub(code, "`code`", first)):
                yield node.body[0].lineno, found[0], first


def nounless(tree):
    """Yield line, word and first line of the docstrings that lack a noun."""
    return in_first_lines(tree, NOUNLESS, r"`[^`]*`|\"[^\"]*\"")


def test_first_lines_name_things_by_nouns(all_trees):
    found = [
        f'{path.relative_to(ROOT)}:{line}: "{word}" stands for which noun? {text}'
        for path, tree in all_trees.items()
        for line, word, text in nounless(tree)
    ]
    hint = 'name the thing in the first line: "the reads of a body", not "what a body reads"; the lines below are free'
    assert not found, "\n".join([hint, *found])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Emit what a thread reads.", "what"),
        ("The rows of a tile, those of its halo too.", "those"),
        ("The name, with a number if that is taken.", "if that is"),
        ("A cost, and the part of that.", "that"),
        ("Do the same.", "the same"),
        ("The rows that a warp loads, and those rows again in the same order.", None),
        ("`what that` is code.", None),
    ],
)
def test_words_without_nouns_are_found(text, word):
    assert [found for _, found, _ in nounless(ast.parse(f"def f():\n  {text!r}"))] == ([word] if word else [])


def idioms(tree):
    """Yield line, expression and first line of the docstrings that use an expression of a private idiom."""
    return in_first_lines(tree, IDIOM, r"`[^`]*`")


def test_first_lines_use_terms_of_the_field(all_trees):
    found = [
        f'{path.relative_to(ROOT)}:{line}: "{word}": {text}'
        for path, tree in all_trees.items()
        for line, word, text in idioms(tree)
    ]
    assert not found, "\n".join(["say it in terms of CUDA, MLIR or C (aligned, unrolled, adjacent)", *found])


@pytest.mark.parametrize(("text", "count"), [("Load rows that lie well.", 1), ("Unroll `written out` loops.", 0)])
def test_idioms_are_found(text, count):
    assert len(list(idioms(ast.parse(f"def f():\n  {text!r}")))) == count


def test_files_are_small(trees):
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in trees}
    assert {name: n for name, n in lengths.items() if n > MOST_IN_A_FILE} == {}


def test_lines_and_parameters_are_counted():
    long = "def f():\n" + "    pass\n" * MOST_LINES
    many = f"class A:\n  def g(self, {', '.join(f'a{i}' for i in range(5))}, *more, b): ...\n  def h(self, a, b): ...\n"
    assert too_large(long + many, ast.parse(long + many)) == {"f": (MOST_LINES + 1, 0), "g": (1, 8)}


@pytest.mark.parametrize("count", [7, 8])
def test_a_reason_stands_above_a_function_that_needs_it(count):
    text = f"# many parameters: as its operation has\n@d\ndef f({', '.join(f'a{i}' for i in range(count))}): ..."
    assert bool(too_large(text, ast.parse(text))) == (count == 7)
