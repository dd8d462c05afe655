"""Kinds of array that need no GPU. (test_gpu.py has the others.)"""

import subprocess
import sys

import numpy as np
import pytest
from runtime_pipelines import blur, blurred_edges

from tilefuse.runtime.arrays.kinds import NUMPY, view
from tilefuse.runtime.errors import CallTypeError
from tilefuse.runtime.program import compile_pipeline


class Namespace:
    """An array library, as far as the array API standard says."""

    @staticmethod
    def from_dlpack(array):
        return Foreign(np.from_dlpack(array))


class Foreign:
    """An array of a library that we do not know."""

    def __init__(self, inner):
        self.inner = inner

    def __dlpack__(self, **options):
        return self.inner.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.inner.__dlpack_device__()

    def __array_namespace__(self):
        return Namespace


def test_foreign_arrays_go_in_and_come_out_without_a_copy(parse):
    a = np.random.default_rng(0).random((9, 8), np.float32)
    foreign = Foreign(a)
    v = view(foreign, "input 'photo'")
    assert v.pointer == a.__array_interface__["data"][0]
    program = compile_pipeline(parse(blur()), "cpu")
    result = program(foreign)
    assert isinstance(result, Foreign)
    np.testing.assert_allclose(result.inner, blurred_edges(a), rtol=1e-6)
    out = Foreign(np.empty_like(a))
    assert program(foreign, out=out) is out
    np.testing.assert_array_equal(out.inner, result.inner)


def test_a_foreign_array_without_a_namespace_gives_numpy(parse):
    class Bare(Foreign):
        __array_namespace__ = None

    a = np.ones((4, 4), np.float32)
    assert type(compile_pipeline(parse(blur()), "cpu")(Bare(a))) is np.ndarray


def test_read_only_memory_is_read_but_not_written():
    a = np.ones((4, 4), np.float32)
    a.flags.writeable = False
    assert not view(a, "a").writable
    assert not view(Foreign(a), "a").writable


def test_a_device_that_is_neither_cpu_nor_cuda():
    class Metal(Foreign):
        def __dlpack_device__(self):
            return (8, 0)

    with pytest.raises(CallTypeError, match=r"input 'a' lies on a device .* \(DLPack type 8\)"):
        view(Metal(np.ones(3)), "input 'a'")


def test_subclasses_of_numpy_arrays(tmp_path, parse):
    a = np.memmap(tmp_path / "pixels", np.float32, "w+", shape=(6, 5))
    a[...] = np.arange(30).reshape(6, 5)
    np.testing.assert_allclose(compile_pipeline(parse(blur()), "cpu")(a), blurred_edges(np.array(a)), rtol=1e-6)


def test_importing_the_runtime_imports_no_array_library():
    code = (
        "import sys, tilefuse, tilefuse.runtime.program\n"
        "print([m for m in ('cupy', 'torch', 'halide', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("dtype", ["bool", "uint8", ">i4", "float32", "complex128", "S3", [("a", "u1"), ("b", "f8")]])
def test_addresses_of_numpy(dtype):
    whole = np.zeros((5, 7), dtype)
    read_only = whole.view()
    read_only.flags.writeable = False
    for array in (whole, whole[2:, 1::2], whole[::-1, ::-1], whole[0, 0:0], whole[0, 0, ...], read_only, whole.T):
        assert NUMPY.address(array) == array.__array_interface__["data"][0]
