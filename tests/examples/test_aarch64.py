"""The C text is compiled for aarch64, by a compiler out of a wheel, and its loops over columns become vectors there."""

import re
import subprocess

import pytest
from variants import QUICK

from tilefuse.lowering.printers import print_c
from tilefuse.passes.pipeline import lowering_passes, run_passes, standard_passes
from tilefuse.runtime.cpu.c_compiler import _FLAGS
from tilefuse.runtime.cpu.wheel_compiler import zig_command

pytestmark = pytest.mark.skipif(zig_command() is None, reason="the wheel ziglang compiles for other processors")


@pytest.mark.parametrize(("name", "vector"), [("blur_u8", r"v\d+\.8h"), ("harris", r"fmul\s+v\d+\.4s")])
def test_c_compiles_for_aarch64(name, vector, tmp_path):
    passes = [*standard_passes("cpu"), *lowering_passes(warps=False)]
    (tmp_path / "kernels.c").write_text(print_c(run_passes(QUICK[name].pipeline().to_module(), passes)) + "\n")
    command = [*zig_command(), "-target", "aarch64-linux-gnu", *_FLAGS, "-fopenmp-simd", "-Werror=implicit", "-S"]
    done = subprocess.run([*command, "-o", "kernels.s", "kernels.c"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(vector, (tmp_path / "kernels.s").read_text())
