"""The roots of CUDA's vectors of f32 against `__fsqrt_rn`, for all 2^32 numbers."""

import numpy as np
import pytest

from tilefuse.lowering.printers.cuda_vectors import roots

KERNEL = """
extern "C" __global__ void differing(unsigned long long* count) {
  for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < (1ull << 32); i += 256ull * gridDim.x) {
    const float a = __uint_as_float((unsigned int)i), want = __fsqrt_rn(a);
    // beside a number that takes the fast path, and one that does not
    const float2 found[2] = {sqrt_f32x2(make_float2(a, 2.0f)), sqrt_f32x2(make_float2(1e-42f, a))};
    const float got[2] = {found[0].x, found[1].y};
    for (int k = 0; k < 2; ++k) {
      const bool same = want == want ? __float_as_uint(want) == __float_as_uint(got[k]) : got[k] != got[k];
      if (!same) atomicAdd(count, 1ull);
    }
    if (found[0].y != __fsqrt_rn(2.0f) || found[1].x != __fsqrt_rn(1e-42f)) atomicAdd(count, 1ull);
  }
}
"""


@pytest.mark.gpu
def test_every_number_has_its_correctly_rounded_root():
    cupy = pytest.importorskip("cupy")
    helpers = roots("f32x2", "float", "float2", 2)
    text = (
        f"static __device__ __noinline__ {helpers['sqrt_any'].text}\n"
        f"static __device__ __forceinline__ {helpers['sqrt'].text}\n{KERNEL}"
    )
    kernel = cupy.RawModule(code=text, options=("--std=c++17",)).get_function("differing")
    count = cupy.zeros(1, dtype=np.uint64)
    kernel((132 * 16,), (256,), (count,))
    assert int(count[0]) == 0
