"""What the pages show runs as it stands: Python, command lines on the examples, IR."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.execution.registry import models
from tilefuse.tools.pipeline_opt import main

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", ["README.md", "docs/language.md"])
def test_python_blocks_run(page):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    # A page's blocks follow one another; `array` is the reader's own picture.
    names = {"__name__": "reader", "array": np.arange(12 * 16, dtype=np.uint8).reshape(12, 16)}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def _commands(page):
    """What follows `pipeline-opt` in a page's blocks of shell, where it reads an example."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", "").splitlines()
    return [line.removeprefix("pipeline-opt ") for line in lines if line.startswith("pipeline-opt examples/")]


@pytest.mark.parametrize("page", ["README.md", "examples/README.md"])
def test_command_lines_run(page, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    commands = _commands(page)
    assert commands
    for command in commands:
        assert main(shlex.split(command, comments=True)) == 0, (command, capsys.readouterr().err)
        assert capsys.readouterr().out


def _rewrite(file, pattern, new):
    """Write a text in the one place of a file where a pattern stands."""
    text, count = re.subn(pattern, lambda found: found.expand(new), file.read_text(), flags=re.MULTILINE)
    assert count == 1, pattern
    file.write_text(text)


def test_the_first_change_of_a_newcomer_works(tmp_path):
    """The steps of CONTRIBUTING.md on a copy of the package: an operation gets a name, and its test passes."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    row, function, test = map(textwrap.dedent, re.findall(r"^ +```python\n(.*?)^ +```", page, re.M | re.S))
    for room in [ROOT / "tilefuse", *(link.resolve() for link in (ROOT / "tilefuse").iterdir() if link.is_symlink())]:
        shutil.copytree(room, tmp_path / room.name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    _rewrite(tmp_path / "dialects/img/float_operations.py", r"^ *FloatOperation\(math\.CbrtOp.*\n", row)
    functions = tmp_path / "frontend/functions.py"
    _rewrite(functions, r"^(erf = )", rf"{function}\1")
    _rewrite(functions, r'("cosh", "erf")', r'"cbrt", \1')
    file = tmp_path / "tests/frontend/test_cbrt.py"
    file.parent.mkdir(parents=True)
    file.write_text(test)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "2 passed" in ran.stdout, ran.stdout + ran.stderr


def test_the_walk_through_the_levels_is_what_passes_print(tmp_path, capsys):
    """Each block of text is in what the passes before it, on the first block, give: `...` stands for anything."""
    walk = (ROOT / "docs/architecture.md").read_text().partition("## One pipeline, level by level")[2]
    blocks = re.findall(r"(?:^Passes[^:\n]*: `([^`]*)`\n\n)?^```mlir\n(.*?)^```", walk, re.M | re.S)
    (_, algorithm), *levels = blocks
    assert len(levels) == 4
    file = tmp_path / "blur.mlir"
    file.write_text(algorithm)
    so_far = []
    for passes, shown in levels:
        so_far.append(passes)
        assert main([str(file), "-p", ",".join(so_far)]) == 0
        _assert_shown(shown, capsys.readouterr().out)


def _called(run):
    """The functions of the package that run while `run` does: their files, as the repository has them, with names."""
    found = set()

    def note(frame, event, _):
        if event == "call":
            found.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    paths = {code: Path(code.co_filename).resolve() for code in found}
    inside = {code: path.relative_to(ROOT) for code, path in paths.items() if path.is_relative_to(ROOT)}
    return {(path.as_posix(), code.co_qualname) for code, path in inside.items()}


def test_the_walk_of_a_read_is_what_runs(tmp_path, capsys):
    """The functions that the table names are called for the pipeline, and the text below is printed of it."""
    _, _, walk = (ROOT / "docs/architecture.md").read_text().partition("## One pipeline, level by level")
    levels, _, rooms = walk.partition("### One `img.read`, room by room")
    rows = re.findall(r"^\| `([\w/]+\.py)` \| ([^|]+) \|", rooms, re.M)
    named = {(path, name) for path, names in rows for name in re.findall(r"`([\w.]+)`", names)}
    assert len(rows) >= 10
    file = tmp_path / "blur.mlir"
    file.write_text(re.search(r"^```mlir\n(.*?)^```", levels, re.M | re.S)[1])
    passes = ",".join(re.findall(r"^Passes[^:\n]*: `([^`]*)`", levels, re.M))

    def run():
        x, y, photo, blur = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "photo"), hl.Func("blur")
        clamped = hl.BoundaryConditions.repeat_edge(photo)
        blur[x, y] = clamped[x - 1, y] + clamped[x, y]
        program = hl.Pipeline(blur).compile(target="reference")
        program(np.zeros((4, 5), np.float32))
        assert main([str(file), "-p", passes, "-t", "cuda"]) == 0

    called = _called(run)
    assert named - called == set()
    (shown,) = re.findall(r"^```cuda\n(.*?)^```", rooms, re.M | re.S)
    _assert_shown(shown, capsys.readouterr().out)


def test_a_function_that_does_not_run_is_not_called():
    called = _called(lambda: missing("`analysis/access.py`"))
    assert ("tests/test_docs.py", "missing") in called
    assert ("tests/test_docs.py", "_rewrite") not in called


def _assert_shown(shown: str, text: str) -> None:
    """Every line of a page stands in a text, in order; `...` in it for anything, and alone for any lines."""
    lines = iter(text.splitlines())
    for line in (s.strip() for s in shown.splitlines()):
        if line == "...":
            continue
        pattern = re.compile(".*".join(map(re.escape, line.split("..."))))
        assert any(pattern.match(found.strip()) for found in lines), line


def test_the_glossary_spells_names_as_the_code_does():
    rows = re.findall(r"^\| (.+?) \|", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    names = {name.strip("#!=") for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert {"img.stage", "warp_tile", "blocks", "inline-stages"} <= names
    rooms = [link for link in (ROOT / "tilefuse").iterdir() if link.is_symlink() and link.name != "examples"]
    texts = [path.read_text() for room in rooms for path in room.resolve().rglob("*.py")]
    words = {word for text in texts for word in re.findall(r"[\w.-]+", text)}
    words |= {part for word in words for part in word.split(".")}
    assert {name for name in names if name not in words and name.removeprefix("img.") not in words} == set()


def test_the_glossary_has_all_models_parameters_and_attributes():
    page = (ROOT / "docs/glossary.md").read_text()
    texts = [path.read_text() for room in ("execution", "lowering", "passes") for path in (ROOT / room).rglob("*.py")]
    attributes = {name for text in texts for name in re.findall(r'"(kernel\.[a-z_]+)"', text)}
    wanted = {m.name for m in models()} | {key for m in models() for key in m.schedule.PARAMETERS} | attributes
    assert {"warp_tile", "zigzag", "kernel.no_cse"} <= wanted
    assert {name for name in wanted if f"`{name}`" not in page} == set()


PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/**/*.md"), *ROOT.glob("examples/*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_between_pages_lead_somewhere(page):
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


ELSEWHERE = {"prefix_stages.py", "cpu.toml", "math.h"}
"""Files that pages name and readers have: a pass of their own, figures of their machine, a header of C."""


def missing(text):
    """The files and folders that a page names in code font, and that are nowhere."""
    rooms = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."}
    named = set(re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.(?:py|toml|h)|[a-z_]+(?:/[a-z_]+)*/?)`", text))
    paths = {n for n in named if n.partition("/")[0] in rooms and "/" in n}
    alone = {n for n in named if "/" not in n and "." in n} - ELSEWHERE
    found = {path.name for room in rooms for path in (ROOT / room).rglob("*.*")}
    return {n for n in paths if not (ROOT / n).exists()} | (alone - found)


@pytest.mark.parametrize("page", [ROOT / "README.md", *ROOT.glob("docs/*.md")], ids=lambda page: page.name)
def test_files_that_pages_name_exist(page):
    assert missing(page.read_text()) == set()


def test_files_that_docstrings_name_exist():
    rooms = [link.resolve() for link in (ROOT / "tilefuse").iterdir() if link.is_symlink()]
    trees = [ast.parse(path.read_text()) for room in rooms for path in room.rglob("*.py")]
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Expr))
    texts = [node.value.value for node in nodes if isinstance(node.value, ast.Constant)]
    assert missing("\n".join(map(str, texts))) == set()


def test_missing_files_and_folders_are_found():
    text = (
        "`execution/kernel.py`, `execution/nowhere.py`, `dialects/img`, `dialects/nowhere/`, `gpus.toml`, `nowhere.py`"
    )
    assert missing(text) == {"execution/nowhere.py", "dialects/nowhere/", "nowhere.py"}


def test_figures_with_dates_stand_with_the_results():
    diaries = {p.name: re.findall(r"20\d\d-\d\d-\d\d", p.read_text()) for p in ROOT.glob("docs/*.md")}
    assert {name for name, dates in diaries.items() if dates} == set()
