"""The CUDA target as far as it goes without a GPU: choosing it, and compiling for it."""

import pytest
from runtime_pipelines import blur, invert

from tilefuse.runtime.compile.backend import Backend, find_backend
from tilefuse.runtime.cuda import cubins, devices
from tilefuse.runtime.cuda.nvrtc import NvrtcNotFound, nvrtc_version
from tilefuse.runtime.errors import BuildError, CallError, TargetError
from tilefuse.runtime.program import compile_pipeline


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(devices, "_missing", lambda: "CuPy cannot be imported; " + devices._INSTALL)


@pytest.fixture
def nvrtc():
    try:
        nvrtc_version()
    except NvrtcNotFound as error:
        pytest.skip(str(error))


def test_cuda_without_a_gpu(no_gpu, parse):
    with pytest.raises(TargetError, match=r"target 'cuda': .*pip install 'tilefuse\[cuda12\]'.*target='cpu'"):
        compile_pipeline(parse(blur()), "cuda")


def test_auto_without_a_gpu_is_the_cpu(no_gpu):
    assert find_backend("auto") == Backend("cpu", "cpu")


@pytest.mark.parametrize(("target", "machine"), [("cuda:sm_80", "sm_80"), ("h200", "h200"), ("cuda:a100", "a100")])
def test_named_gpus(target, machine):
    assert find_backend(target) == Backend("cuda", machine)


@pytest.mark.parametrize("target", ["gpu", "cuda:sm_12", "CPU2", ""])
def test_unknown_targets(target):
    with pytest.raises(TargetError, match=f"target '{target}' is unknown; use auto, cpu, reference, cuda"):
        find_backend(target)


def test_a_named_gpu_can_be_compiled_for_without_one(no_gpu, nvrtc, parse):
    program = compile_pipeline(parse(blur()), "cuda:sm_80")
    [kernel] = program.kernels
    assert kernel.registers > 0
    assert kernel.spill_bytes == 0
    assert f"void __launch_bounds__({kernel.threads[0] * kernel.threads[1]}" in program.source()
    assert "registers" in program.report()
    assert program.target == "cuda (sm_80)"


def test_arrays_of_the_wrong_side(no_gpu, parse):
    import numpy as np

    with pytest.raises(CallError, match=r"input 'photo' is on the CPU, but .* for cuda \(h200\)"):
        compile_pipeline(parse(invert()), "h200")(np.zeros((8, 8, 3), np.uint8))


def test_cubins_are_cached_with_their_figures(monkeypatch, nvrtc):
    text = 'extern "C" __global__ void {}(float* a) {{ a[threadIdx.x] *= 2; }}'
    sources = {name: text.format(name) for name in ("twice", "again")}
    first = cubins.compile_cubins(sources, "sm_90", strict_float=False)
    monkeypatch.setattr(cubins.cache, "_memory", {})
    monkeypatch.setattr(cubins, "_compile", None)
    assert cubins.compile_cubins(sources, "sm_90", strict_float=False) == first
    assert list(first.registers) == list(first.codes) == ["twice", "again"]
    assert min(first.registers.values()) > 0
    assert all(code[:4] == b"\x7fELF" for code in first.codes.values())


def test_strict_float_turns_contraction_off():
    assert cubins.options(True) == ("--ftz=false", "--fmad=false")
    assert cubins.options(False) == ("--ftz=false", "--fmad=true")


def test_what_nvrtc_refuses(nvrtc):
    with pytest.raises(BuildError, match=r"(?s)NVRTC refuses the generated source: .*nonsense"):
        cubins.compile_cubins({"nonsense": "nonsense;"}, "sm_90", strict_float=False)
    with pytest.raises(TargetError, match="does not know sm_20"):
        cubins.compile_cubins({"nothing": ""}, "sm_20", strict_float=False)


def test_streams_of_any_library():
    class Torch:
        cuda_stream = 7

    class CuPy:
        ptr = 8

    class Standard:
        ptr = 1

        def __cuda_stream__(self):
            return (0, 9)

    assert [devices.stream_pointer(s) for s in (Torch(), CuPy(), Standard(), 10)] == [7, 8, 9, 10]
    with pytest.raises(CallError, match="stream= takes a stream of CuPy or torch or a raw pointer"):
        devices.stream_pointer("main")
