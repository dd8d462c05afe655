"""The address sanitizer of random programs finds what it is there for."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest
import sanitized

CODE = """
import numpy as np
import sanitized
import tilefuse as hl
from tilefuse.analysis import bounds
from tilefuse.passes.pipeline import standard_passes

x, y, steps = hl.Var("x"), hl.Var("y"), hl.Param(hl.Int(32), "steps")
f, g = hl.Func("f"), hl.Func("g")
r = hl.RDom([(1, steps), (20, 3)])
f[x, y] = hl.u32(x + y)
f[r.x, r.y] += f[r.x - 1, r.y]
g[x, y] = f[x, y] + f[x + 1, y]
module = hl.Pipeline([g]).to_module()
{mutation}
with sanitized.Addresses():
    {run}
"""
FORGET = "bounds.updated_spans = lambda op, region, *_: region"
CPU = "found = hl.compile(module, target='cpu')(steps=0, sizes=(9, 4))"
EMULATED = """with sanitized.emulated_addresses():
        hl.compile(module, target='cpu', passes=standard_passes('h200'))(steps=0, sizes=(9, 4))"""


@pytest.mark.skipif(which("gcc") is None or which("g++") is None, reason="no gcc")
@pytest.mark.parametrize("run", [CPU, EMULATED], ids=["cpu", "emulated"])
@pytest.mark.parametrize("mutation", ["", FORGET], ids=["", "beyond"])
def test_accesses_beyond_a_temporary_are_found(run, mutation, tmp_path):
    """A scan without steps loads what stands before its first: of lines that bounds inference has forgotten, too."""
    code = CODE.format(mutation=mutation, run=run)
    environment = os.environ | sanitized.preloaded() | {"TILEFUSE_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, env=environment, capture_output=True, check=False
    )
    assert done.returncode == (sanitized.FOUND if mutation else 0), done.stderr.decode()[-3000:]
