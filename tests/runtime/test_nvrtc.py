"""NVRTC's report, without a GPU."""

import pytest

from tilefuse.runtime.cuda import nvrtc
from tilefuse.runtime.cuda.nvrtc import NvrtcError, NvrtcNotFound, compile_report, supported_archs

SCALE = 'extern "C" __global__ void scale(float* a, float b) { a[threadIdx.x] *= b; }\n'
SPILLS = """
extern "C" __global__ void __launch_bounds__(1024, 2) spills(const float* a, float* b) {
  __shared__ float tile[100];
  float v[200];
  #pragma unroll
  for (int i = 0; i < 200; i++) v[i] = a[i * threadIdx.x];
  tile[threadIdx.x % 100] = v[0];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 200; i++) b[i * threadIdx.x] = v[i] * v[199 - i] + tile[i % 100];
}
"""


def test_figures_are_by_kernel():
    report = compile_report(SCALE + SPILLS, "sm_90")
    assert report.cubin[:4] == b"\x7fELF"
    assert set(report.registers) == {"scale", "spills"}
    assert 4 <= report.registers["scale"] <= 32
    assert report.spill_bytes["scale"] == report.stack_bytes["scale"] == report.shared_bytes["scale"] == 0
    assert report.registers["spills"] == 32
    assert report.spill_bytes["spills"] > 500
    assert report.stack_bytes["spills"] > 500
    assert report.shared_bytes["spills"] == 400


def test_spills_of_a_function_that_is_not_inlined_are_not_the_kernels_own():
    body = (
        SPILLS[SPILLS.index("{") :]
        .replace("__shared__ float tile[100];", "")
        .replace("tile[threadIdx.x % 100]", "b[0]")
    )
    function = "__device__ __noinline__ void apart(const float* a, float* b) " + body.replace("tile[i % 100]", "a[i]")
    kernel = """
extern "C" __global__ void __launch_bounds__(1024, 2) calls(const float* a, float* b) {
  if (b[threadIdx.x] > 0.0f) apart(a, b);
}
"""
    report = compile_report(SPILLS + function + kernel, "sm_90")
    assert report.own_spill_bytes["spills"] == report.spill_bytes["spills"] > 500
    assert report.own_spill_bytes["calls"] == 0 < report.spill_bytes["calls"]


def test_options_reach_the_compiler():
    text = 'extern "C" __global__ void f(float* a) { a[0] = FACTOR; }'
    assert compile_report(text, "sm_80", ["-DFACTOR=2"]).registers.keys() == {"f"}
    with pytest.raises(NvrtcError, match="FACTOR"):
        compile_report(text, "sm_80")


def test_an_unknown_architecture_is_answered_with_the_known_ones():
    assert {"sm_80", "sm_90"} <= set(supported_archs())
    with pytest.raises(NvrtcError, match=r"cannot compile for sm_30; this NVRTC knows .*sm_90"):
        compile_report(SCALE, "sm_30")


def test_without_the_library_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(["libno_such_nvrtc.so"]))
    nvrtc._library.cache_clear()
    try:
        with pytest.raises(NvrtcNotFound, match="pip install nvidia-cuda-nvrtc-cu12"):
            compile_report(SCALE, "sm_90")
    finally:
        nvrtc._library.cache_clear()
