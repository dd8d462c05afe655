"""Kernels that start before those before them have ended: what these still write is not loaded too early."""

import ctypes
import re
from dataclasses import replace

import pytest
from random_pipelines import random_pipeline

from tilefuse.dialects.parsing import parse_module
from tilefuse.passes.pipeline import standard_passes
from tilefuse.passes.tile import Tile
from tilefuse.runtime.cuda import nvrtc
from tilefuse.runtime.program import compile_pipeline

# a kernel each, as the second reads anywhere in the first
TWO = """
img.pipeline @two {
  %photo = img.input "photo" : !img.func<2xf32>
  %a = img.stage "a" (%x, %y) -> f32 {
    %v = img.read %photo[%x, %y] : !img.func<2xf32>
    %r = arith.addf %v, %v : f32
    img.yield %r : f32
  }
  %b = img.stage "b" (%x, %y) -> f32 {
    %v = img.read %a[%y, %x] : !img.func<2xf32>
    %w = img.read %a[%x mod 4, %y mod 2] : !img.func<2xf32>
    %r = arith.mulf %v, %w : f32
    img.yield %r : f32
  }
  img.return "b" = %b : !img.func<2xf32>
}
"""


# one call of one version of its tile
ONE_VALUE = """
img.pipeline @one_value {
  %photo = img.input "photo" : !img.func<2xf32>
  %a = img.stage "a" () -> f32 {
    %v = img.read %photo[0, 0] : !img.func<2xf32>
    img.yield %v : f32
  }
  img.return "a" = %a : !img.func<0xf32>
}
"""


def ptx_of(source):
    try:
        library, program = nvrtc._library(), ctypes.c_void_p()
    except nvrtc.NvrtcNotFound as missing:
        pytest.skip(str(missing))
    assert library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"two.cu", 0, None, None) == 0
    flags = (ctypes.c_char_p * 2)(b"--std=c++17", b"--gpu-architecture=compute_90")
    assert library.nvrtcCompileProgram(program, 2, flags) == 0
    text = nvrtc._text(library, program, "PTX")
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return text


def assert_waits(kernel):
    before, wait, after = kernel.partition("griddepcontrol.wait")
    assert wait
    assert not re.search(r"\b(ld|st|atom|red)\.global|\bcp\.async", before)
    # it says that nobody writes what it reads while the kernel runs, so it need not wait
    assert "ld.global.nc" not in after


def kernels_of(module, shape, without=()):
    passes = [replace(p, shape=shape) if isinstance(p, Tile) else p for p in standard_passes("h200")]
    passes = [p for p in passes if p.name not in without]
    return ptx_of(compile_pipeline(module, "h200", passes=passes).source()).split(".entry")[1:]


@pytest.mark.parametrize("shape", ["block_tile", "auto"])
def test_nothing_is_loaded_before_the_wait(shape):
    kernels = kernels_of(parse_module(TWO), shape, without=["inline-stages"])
    assert len(kernels) == 2
    for kernel in kernels:
        assert "ld.global" in kernel
        assert_waits(kernel)


def test_nor_where_a_tile_has_one_version():
    (kernel,) = kernels_of(parse_module(ONE_VALUE), "auto")
    assert "ld.global" in kernel
    assert_waits(kernel)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", [3, 7, 11, 14, 18, 22])
@pytest.mark.parametrize("shape", ["block_tile", "auto"])
def test_nor_in_random_pipelines(seed, shape):
    for kernel in kernels_of(random_pipeline(seed).module, shape):
        assert_waits(kernel)
