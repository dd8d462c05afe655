"""Divisions that CUDA's compiler would call functions for: of 8 and 16 bits, and of f32 by a constant."""

import shutil

import numpy as np
import pytest
from emulated_cuda import emulate
from random_programs import passes

import tilefuse as hl
from tilefuse.lowering.printers import cuda
from tilefuse.lowering.printers.cuda_vectors import quotients
from tilefuse.runtime.cuda.nvrtc import compile_report
from tilefuse.runtime.program import compile_pipeline

needs_gxx = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
INTEGERS = {"uint8": hl.UInt(8), "int8": hl.Int(8), "uint16": hl.UInt(16), "int16": hl.Int(16)}


def numbers(dtype):
    """All numbers of 8 bits; of 16 bits the ends, those around powers of two, and some others."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    if high < 256:
        return np.arange(low, high + 1).astype(dtype)
    near = {sign * 2**k + d for sign in (1, -1) for k in range(17) for d in (-1, 0, 1)} | {low, high, 0}
    others = np.random.default_rng(0).integers(low, high + 1, 200).tolist()
    return np.array(sorted(n for n in {*near, *others} if low <= n <= high), dtype)


@pytest.mark.sweep
@needs_gxx
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_on_the_emulated_gpu(dtype, monkeypatch, tmp_path):
    x, y = hl.vars("x y")
    a, b = (hl.ImageParam(INTEGERS[dtype], 1, name) for name in "ab")
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = a[x] / b[y]
    g[x, y] = a[x] % b[y]
    some = numbers(dtype)
    module, size = hl.Pipeline([f, g]).to_module(), [len(some)] * 2
    given = {"a": some, "b": some, "sizes": {"f": size, "g": size}}
    expected = compile_pipeline(module, "reference")(**given)
    emulate(monkeypatch, tmp_path)
    program = compile_pipeline(module, "cpu", passes=passes("h200", algorithm="all"))
    for got, wanted in zip(program(**given), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


SPECIAL = np.array([0.0, -0.0, 1e-45, -1e-45, 1e-38, 3e-31, -7e-31, 1.0, -5.0, 3e38, -3e38, np.inf, -np.inf, np.nan])


@pytest.mark.sweep
@needs_gxx
@pytest.mark.parametrize("divisor", [9.0, -3.0, 1 / 3, 0.1, 1e30, 4.0])
@pytest.mark.parametrize("shape", ["warp_tile", "block_tile"])
def test_floats_on_the_emulated_gpu(shape, divisor, monkeypatch, tmp_path):
    x, y = hl.vars("x y")
    a = hl.ImageParam(hl.Float(32), 2, "a")
    f = hl.Func("f")
    f[x, y] = a[x, y] / hl.f32(divisor)
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, (40, 240), dtype=np.uint32).view(np.float32)
    bits[0, : len(SPECIAL)] = SPECIAL
    with np.errstate(all="ignore"):
        expected = bits / np.float32(divisor)
    emulate(monkeypatch, tmp_path)
    got = hl.Pipeline(f).compile("cpu", strict_float=True, passes=passes("h200", shape=shape))(bits)
    known = ~np.isnan(expected)
    assert (np.isnan(got) == ~known).all()
    np.testing.assert_array_equal(got.view(np.uint32)[known], expected.view(np.uint32)[known])


KERNELS = """
extern "C" __global__ void integers(unsigned long long* count) {
  for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < (1ull << 32); i += 256ull * gridDim.x) {
    const int a = (int)(i >> 16), b = (int)(i & 0xffff), c = (short)a, d = (short)b;
    if (b == 0) continue;
    if (div_u16(a, b) != a / b || rem_u16(a, b) != a % b) atomicAdd(count, 1ull);
    if (div_s16(c, d) != c / d || rem_s16(c, d) != c % d) atomicAdd(count, 1ull);
  }
}
static __device__ __forceinline__ bool differ(float want, float got) {
  return want == want ? __float_as_uint(want) != __float_as_uint(got) : got == got;
}
extern "C" __global__ void floats(unsigned long long* count, float c, float high, float low) {
  for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < (1ull << 32); i += 256ull * gridDim.x) {
    const float a = __uint_as_float((unsigned int)i), want = __fdiv_rn(a, c), tiny = 1e-40f;
    const float2 both = div_by_f32x2(make_float2(tiny, a), c, high, low);
    if (differ(want, div_by_f32(a, c, high, low)) || differ(want, both.y)) atomicAdd(count, 1ull);
    if (differ(__fdiv_rn(tiny, c), both.x)) atomicAdd(count, 1ull);
  }
}
"""


@pytest.mark.gpu
@pytest.mark.parametrize("options", [[], ["--fmad=false"]], ids=["default", "strict"])
def test_every_number_on_a_gpu(options, tmp_path):
    from tilefuse.analysis.reciprocals import reciprocal

    cupy = pytest.importorskip("cupy")
    inline = "static __device__ __forceinline__ "
    of = {"f32": quotients("f32", "float", [""]), "f32x2": quotients("f32x2", "float2", [".x", ".y"])}
    helpers = [cuda.SHORT_DIVISION[name] for name in ("div_u16", "rem_u16", "div_s16", "rem_s16")]
    text = "\n".join(inline + h.text for h in helpers)
    for each in of.values():
        text += f"\nstatic __device__ __noinline__ {each['div_any'].text}\n{inline}{each['div_by'].text}\n"
    arch = f"sm_{cupy.cuda.Device().compute_capability}"
    (tmp_path / "kernels.cubin").write_bytes(compile_report(text + KERNELS, arch, options).cubin)
    module = cupy.RawModule(path=str(tmp_path / "kernels.cubin"))
    count = cupy.zeros(1, dtype=np.uint64)
    module.get_function("integers")((132 * 16,), (256,), (count,))
    assert int(count[0]) == 0
    for divisor in (9.0, 3.0, -7.0, 0.1, 255.0, 16.5, 2.0**60 * 1.1, 2.0**-60 * 1.3):
        divisor = float(np.float32(divisor))
        parts = reciprocal(divisor)
        assert parts is not None
        module.get_function("floats")((132 * 16,), (256,), (count, *map(np.float32, (divisor, *parts))))
        assert int(count[0]) == 0, divisor
