"""What the pages show runs as it stands: Python, command lines on the examples, IR."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from tilefuse.dialects.parsing import parse_module
from tilefuse.passes.lower_groups import LowerGroups
from tilefuse.passes.pipeline import new_context
from tilefuse.passes.validate_occupancy import ValidateOccupancy
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


def test_the_text_of_levels_1_to_3_parses():
    first, second = re.findall(r"^```mlir\n(.*?)^```", (ROOT / "docs/architecture.md").read_text(), re.M | re.S)[:2]
    body = re.search(r"-> f32 \{\n(.*?)\n  \}", first, re.DOTALL)[1]
    along_y = re.sub(r"%clamped\[%x( [-+] 1)?, %y\]", r"%bx[%x, %y\1]", body)
    group = second.replace("{ ... }", f"{{\n{body}\n}}", 1).replace("{ ... }", f"{{\n{along_y}\n}}", 1)
    head = first.partition("  %blur_x")[0]
    module = parse_module(f'{head}{group}  img.return "blur_y" = %out : !img.func<2xf32>\n}}')
    parse_module(first)
    ValidateOccupancy(target="h200").apply(new_context(), module)
    LowerGroups().apply(new_context(), module)
    assert "within [0, 120, 0, 30]" in str(module)


def test_the_glossary_spells_names_as_the_code_does():
    rows = re.findall(r"^\| (.+?) \|", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    names = {name.strip("#!=") for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert {"img.stage", "warp_tile", "blocks", "inline-stages"} <= names
    rooms = [link for link in (ROOT / "tilefuse").iterdir() if link.is_symlink() and link.name != "examples"]
    texts = [path.read_text() for room in rooms for path in room.resolve().rglob("*.py")]
    words = {word for text in texts for word in re.findall(r"[\w.-]+", text)}
    words |= {part for word in words for part in word.split(".")}
    assert {name for name in names if name not in words and name.removeprefix("img.") not in words} == set()


PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/**/*.md"), *ROOT.glob("examples/*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_between_pages_lead_somewhere(page):
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *ROOT.glob("docs/*.md")], ids=lambda page: page.name)
def test_files_that_pages_name_exist(page):
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|toml|h))`", page.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_figures_with_dates_stand_with_the_results():
    diaries = {p.name: re.findall(r"20\d\d-\d\d-\d\d", p.read_text()) for p in ROOT.glob("docs/*.md")}
    assert {name for name, dates in diaries.items() if dates} == set()
