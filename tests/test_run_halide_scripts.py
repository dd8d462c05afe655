"""The tool that runs folders of Halide's scripts."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).with_name("run_halide_scripts.py")

GOOD = """
import os
import halide as hl
import halide.imageio

x, f = hl.Var("x"), hl.Func("f")
f[x] = x * 2
assert list(f.realize([3], "reference")) == [0, 2, 4]
assert halide.imageio.imread and hl.__name__ == "tilefuse"
assert not os.listdir() and __name__ == "__main__" and os.path.exists(__file__)
"""


def table(*arguments):
    """The lines of the table."""
    command = [sys.executable, TOOL, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout.splitlines()


def test_table(tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "no_good.py").write_text("import halide as hl\nhl.Func('f').no_such_call(1)\n")
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(100)\n")
    lines = table(tmp_path, "--only", "good")
    assert lines[2].startswith("| `good.py` | yes |")
    assert lines[3].startswith("| `no_good.py` | no |")
    assert "AttributeError: a Func has no attribute 'no_such_call'" in lines[3]
    assert lines[-1] == "1 of 2 run with tilefuse."
    lines = table(tmp_path, "--only", "slow", "--limit", "2")
    assert lines[2] == "| `slow.py` | no | 2.0 | takes more than 2 s |"
    lines = table(tmp_path, "--only", "good", "--module", "no_such_module")
    assert "ModuleNotFoundError: No module named 'no_such_module'" in lines[2]
    assert lines[-1] == "0 of 2 run with no_such_module."
