"""C text for a row of ARM's is compiled for it, by a compiler out of a wheel, and loops become vectors there."""

import re
import subprocess

import pytest
from small import SMALL
from variants import QUICK

from tilefuse.lowering.printers import print_c
from tilefuse.passes.pipeline import lowering_passes, run_passes, standard_passes
from tilefuse.runtime.cpu.c_compiler import _FLAGS
from tilefuse.runtime.cpu.wheel_compiler import zig_command
from tilefuse.targets.cpus import cpu

pytestmark = pytest.mark.skipif(zig_command() is None, reason="the wheel ziglang compiles for other processors")


# blocks of products have vectors of the row's width in the text itself
@pytest.mark.parametrize(
    ("name", "vector"),
    [("blur_u8", r"v\d+\.8h"), ("harris", r"fmul\s+v\d+\.4s"), ("mat_mul", r"fm(ul|la)\s+v\d+\.4s")],
)
def test_c_compiles_for_aarch64(name, vector, tmp_path):
    row = cpu("neoverse_n1")
    passes = [*standard_passes(row.name), *lowering_passes(warps=False)]
    module = run_passes((QUICK | SMALL)[name].pipeline().to_module(), passes)
    (tmp_path / "kernels.c").write_text(print_c(module) + "\n")
    command = [*zig_command(), "-target", f"{row.machine}-linux-gnu", *_FLAGS, "-fopenmp-simd", "-Werror=implicit"]
    command += ["-S", "-o", "kernels.s", "kernels.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(vector, (tmp_path / "kernels.s").read_text())
