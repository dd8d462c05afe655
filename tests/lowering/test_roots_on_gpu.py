"""CUDA's roots of f32, and of vectors, against `__fsqrt_rn`, for all 2^32 numbers, with the options of the runtime."""

import numpy as np
import pytest

from tilefuse.lowering.printers.cuda import ROOT
from tilefuse.lowering.printers.cuda_vectors import roots
from tilefuse.runtime.cuda.nvrtc import compile_report

KERNEL = """
static __device__ __forceinline__ bool differ(float want, float got) {
  return want == want ? __float_as_uint(want) != __float_as_uint(got) : got == got;
}
static __device__ __forceinline__ float2 both(float a, float b) {
  const float2 roots = sqrt_f32x2(make_float2(a, b)), same = sqrt_converged_f32x2(make_float2(a, b));
  if (differ(roots.x, same.x) || differ(roots.y, same.y)) return make_float2(-1.0f, -1.0f);
  return roots;
}
extern "C" __global__ void differing(unsigned long long* count, float fast, float slow) {
  for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < (1ull << 32); i += 256ull * gridDim.x) {
    const float a = __uint_as_float((unsigned int)i), want = __fsqrt_rn(a);
    // beside a number that takes the fast path, and one that does not
    const float2 one = both(a, fast), other = both(slow, a);
    if (differ(want, one.x) || differ(want, other.y) || differ(want, sqrt_f32(a))) atomicAdd(count, 1ull);
    if (differ(__fsqrt_rn(fast), one.y) || differ(__fsqrt_rn(slow), other.x)) atomicAdd(count + 1, 1ull);
    if (i < 0x800000 && want > 0.0f) atomicAdd(count + 2, 1ull);
  }
}
"""


@pytest.mark.gpu
@pytest.mark.parametrize("options", [[], ["--fmad=false"]], ids=["default", "strict"])
def test_every_number_has_its_correctly_rounded_root(options, tmp_path):
    cupy = pytest.importorskip("cupy")
    helpers = roots("f32x2", "float", "float2", 2)
    text = (
        f"static __device__ __noinline__ {helpers['sqrt_any'].text}\n"
        f"static __device__ __forceinline__ {helpers['sqrt'].text}\n"
        f"static __device__ __forceinline__ {helpers['sqrt_converged'].text}\n"
        f"static __device__ __forceinline__ {ROOT.text}\n{KERNEL}"
    )
    arch = f"sm_{cupy.cuda.Device().compute_capability}"
    (tmp_path / "roots.cubin").write_bytes(compile_report(text, arch, options).cubin)
    kernel = cupy.RawModule(path=str(tmp_path / "roots.cubin")).get_function("differing")
    count = cupy.zeros(3, dtype=np.uint64)
    kernel((132 * 16,), (256,), (count, np.float32(2), np.float32(1e-42)))
    wrong, wrong_beside, denormals = count.get().tolist()
    assert (wrong, wrong_beside) == (0, 0)
    assert denormals == 2**23 - 1, "denormals are flushed to zero"
