"""The package in docs/passes.md, as it stands there, adds a pass without touching tilefuse."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

DOC = (Path(__file__).parent.parent / "docs" / "passes.md").read_text()
SOURCE = """\
img.pipeline @p {
  %in = img.input "in" : !img.func<1xf32>
  %f = img.stage "f" (%x) -> f32 {
    %v = img.read %in[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  %g = img.stage "g" (%x) -> f32 {
    %v = img.read %f[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "out" = %g : !img.func<1xf32>
}
"""


def _block(language):
    return re.search(rf"^```{language}\n(.*?)^```", DOC, re.MULTILINE | re.DOTALL)[1]


@pytest.fixture
def installed(tmp_path):
    """A folder for PYTHONPATH with the package as pip would lay it out."""
    project = tomllib.loads(_block("toml"))
    (tmp_path / "prefix_stages.py").write_text(_block("python"))
    info = tmp_path / "prefix_stages-1.0.dist-info"
    info.mkdir()
    name, version = project["project"]["name"], project["project"]["version"]
    info.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
        for group, entries in project["project"]["entry-points"].items()
    ]
    info.joinpath("entry_points.txt").write_text("\n".join(lines))
    return tmp_path


def _run(folder, *args):
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-m", "tilefuse.tools.pipeline_opt", *args],
        input=SOURCE,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_pass_runs_by_name(installed):
    done = _run(installed, "-p", "prefix-stages{prefix=my_ skip=g}")
    assert done.returncode == 0, done.stderr
    assert re.findall(r'img.stage "(\w+)"', done.stdout) == ["my_f", "g"]


def test_its_error_is_located(installed):
    done = _run(installed, "-p", "prefix-stages{prefix=my_ skip=g},prefix-stages{prefix=my_}")
    assert done.returncode == 1
    assert done.stderr == (
        "<stdin>:3:3: error: stage 'my_f' has the prefix already\n  %f = img.stage \"f\" (%x) -> f32 {\n  ^\n"
    )


def test_it_is_listed_and_its_options_are_checked(installed):
    listed = _run(installed, "--list-passes").stdout
    assert (
        "prefix-stages: Give the name of every stage a prefix.\n"
        "    prefix: str\n    skip: tuple[str, ...] = ()\n" in listed
    )
    done = _run(installed, "-p", "prefix-stages")
    assert done.returncode == 1
    assert "pass 'prefix-stages' needs option 'prefix'" in done.stderr


def test_without_the_package_the_pass_is_unknown(tmp_path):
    done = _run(tmp_path, "-p", "prefix-stages{prefix=a}")
    assert done.returncode == 1
    assert "unknown pass 'prefix-stages'" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'all_passes={"prefix-stages"',
            'all_passes={"tile"',
            "two packages of the entry point xdsl.universe conflict: "
            "Duplicate definition of tile in ['prefix_stages', 'tilefuse'].",
        ),
        (
            "from dataclasses",
            "import nowhere\nfrom dataclasses",
            "the package 'prefix_stages' (prefix_stages:UNIVERSE), which the entry point xdsl.universe announces, "
            "cannot be loaded: ModuleNotFoundError: No module named 'nowhere'; repair or uninstall it",
        ),
        (
            "UNIVERSE = Universe",
            "UNIVERSE = dict",
            "the package 'prefix_stages' announces prefix_stages:UNIVERSE by the entry point xdsl.universe, which is a "
            "dict, not a Universe",
        ),
    ],
)
def test_a_package_that_cannot_be_used_is_named(installed, old, new, message):
    module = installed / "prefix_stages.py"
    assert old in module.read_text()
    module.write_text(module.read_text().replace(old, new))
    done = _run(installed, "-p", "cse")
    assert (done.returncode, done.stderr) == (1, f"pipeline-opt: error: {message}\n")
    path = os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH")]))
    compiled = subprocess.run(
        [sys.executable, "-c", "import sys, tilefuse; tilefuse.compile(sys.stdin.read(), target='reference')"],
        input=SOURCE,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert f"PipelineError: error: {message}\n" in compiled.stderr


def test_a_pass_is_called_as_its_class_says(installed):
    module = installed / "prefix_stages.py"
    module.write_text(module.read_text().replace('all_passes={"prefix-stages"', 'all_passes={"prefix"'))
    done = _run(installed, "-p", "cse,prefix{prefix=a}")
    assert done.returncode == 1
    assert done.stderr.startswith(
        "--pass-pipeline:1:5: error: pass 'prefix' is called 'prefix-stages' by its class prefix_stages.PrefixStages; "
        "give the class and its row among the passes the same name\n"
    )
