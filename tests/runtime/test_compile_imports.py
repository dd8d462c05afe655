"""What compiling loads: imports are most of the time of a first compilation, and grow unnoticed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"

CODE = """
import gc, json, sys
import tilefuse as hl
from tilefuse.dialects.parsing import parse_module
from tilefuse.runtime.program import compile_pipeline
compile_pipeline(parse_module(open(sys.argv[1]).read()), "cuda:sm_90")
assert gc.isenabled()
print(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def modules():
    """All that is loaded once Harris is compiled, short of its machine code."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, EXAMPLES / "harris.mlir"], capture_output=True, text=True,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def test_no_dialect_is_loaded_that_no_kernel_needs(modules):
    prefix = "xdsl.dialects."
    dialects = {name[len(prefix) :].split(".")[0] for name in modules if name.startswith(prefix)}
    assert dialects - {"utils"} == {"arith", "builtin", "func", "gpu", "math", "memref", "scf", "ub", "vector"}


@pytest.mark.parametrize(
    "heavy",
    [
        "cupy", "torch", "scipy", "networkx",  # arrays and graphs of others
        "subprocess", "_hashlib", "multiprocessing", "asyncio", "unittest",  # the system's compiler, the cache, tests
        "xdsl.interpreter", "xdsl.backend", "xdsl.tools", "xdsl.xdsl_opt_main",
        "tilefuse.evaluator", "tilefuse.tools",
        "tilefuse.passes.stream_stores", "tilefuse.passes.widen_accesses",  # CPUs' passes
    ],
)  # fmt: skip
def test_what_only_others_need_is_not_loaded(modules, heavy):
    assert heavy not in modules
    assert not [name for name in modules if name.startswith(f"{heavy}.")]
