"""The helper that loads adjacent planes of places, for each vector size that this machine has."""

import ctypes

import numpy as np
import pytest

from tilefuse.runtime.cpu.c_compiler import load_library

WITHOUT = {16: "", 8: "#undef __AVX512F__\n", 1: "#undef __AVX512F__\n#undef __AVX2__\n"}
"""By elements of a vector: what keeps larger ones out."""
CALL = """
void call(float* r, unsigned* s, const float* table, const unsigned* words, const int* at, int pitch, int planes,
          int n) {
  load_planes_f32(r, pitch, table, at, planes, n);
  load_planes_i32(s, pitch, words, at, planes, n);
}
"""


def source(lanes: int) -> str:
    from tilefuse.lowering.printers.conversions import VECTOR_TYPES
    from tilefuse.lowering.printers.interleaved import interleaved_helpers

    helpers = [f"static inline {helper.text}" for helper in interleaved_helpers().values()]
    return "\n".join([WITHOUT[lanes], "typedef int idx;", VECTOR_TYPES, *helpers, CALL])


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize("planes", [4, 12, 32])
@pytest.mark.parametrize("lanes", WITHOUT)
def test_planes_of_places(lanes, planes):
    library = load_library(source(lanes), strict_float=False)
    rng = np.random.default_rng(planes)
    table = rng.random(50 * planes, dtype=np.float32)
    for n in (0, 1, 7, 8, 15, 16, 17, 40):
        at = rng.integers(0, 50, n).astype(np.int32) * planes
        rows, words = np.full((planes, 48), -1, np.float32), np.zeros((planes, 48), np.uint32)
        given = [pointer(a) for a in (rows, words, table, table.view(np.uint32), at)]
        library.call(*given, 48, planes, n)
        right = np.full_like(rows, -1)
        for p in range(planes):
            right[p, :n] = table[at + p]
        np.testing.assert_array_equal(rows, right)
        np.testing.assert_array_equal(words[:, :n], right[:, :n].view(np.uint32))
