"""CUDA's conversions of f32 to narrow integers, minimum and maximum, against comparisons, for all 2^32 numbers."""

import numpy as np
import pytest

from tilefuse.lowering.printers.cuda import f32_to, nan_propagating
from tilefuse.runtime.cuda.nvrtc import compile_report

TYPES = {"s8": "signed char", "u8": "unsigned char", "s16": "short", "u16": "unsigned short"}
ENDS = {"s8": (-128, 127), "u8": (0, 255), "s16": (-32768, 32767), "u16": (0, 65535)}


def differences():
    """CUDA text of a kernel that counts, for each conversion and operation, the numbers for which it is wrong."""
    lines = [f"static __device__ __forceinline__ {f32_to(t, name[0], int(name[1:])).text}" for name, t in TYPES.items()]
    lines += [f"static __device__ __forceinline__ {nan_propagating(name).text}" for name in ("min", "max")]
    checks = [
        f"if (f32_to_{name}(a) != (a != a ? 0 : min(max(__float2int_rz(a), {low}), {high})))"
        f"  atomicAdd(count + {n}, 1ull);"
        for n, (name, (low, high)) in enumerate(ENDS.items())
    ]
    for n, (name, better) in enumerate((("min", "<"), ("max", ">")), len(ENDS)):
        for pair in ("a, other", "other, a"):
            want = f"a != a || other != other ? !(m != m) : m != (a {better} other ? a : other)"
            checks.append(f"{{ const float m = {name}imum_f32({pair}); if ({want}) atomicAdd(count + {n}, 1ull); }}")
    loop = "for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < (1ull << 32); i += 256ull * gridDim.x)"
    lines.append('extern "C" __global__ void differing(unsigned long long* count, float other) {')
    return "\n".join([*lines, f"{loop} {{", "const float a = __uint_as_float((unsigned int)i);", *checks, "}", "}", ""])


@pytest.mark.gpu
@pytest.mark.parametrize("other", [0.0, 255.0, -1e-42, float("inf"), float("nan")])
def test_every_number(other, tmp_path):
    cupy = pytest.importorskip("cupy")
    arch = f"sm_{cupy.cuda.Device().compute_capability}"
    (tmp_path / "conversions.cubin").write_bytes(compile_report(differences(), arch, ["--ftz=false"]).cubin)
    kernel = cupy.RawModule(path=str(tmp_path / "conversions.cubin")).get_function("differing")
    count = cupy.zeros(len(ENDS) + 2, dtype=np.uint64)
    kernel((132 * 16,), (256,), (count, np.float32(other)))
    assert count.get().tolist() == [0] * (len(ENDS) + 2)
