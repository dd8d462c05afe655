"""The driver of a C library calls kernels in order, each with a copy of its words where values are filled in."""

import ctypes

from tilefuse.runtime.cpu.c_compiler import load_library
from tilefuse.runtime.cpu.driver import DRIVER_TEXT, Driver, Fill, KernelOfCall

SOURCE = """
void add_words(const unsigned long long* a) { *(long long*)a[0] = *(long long*)a[0] * 10 + (long long)a[1]; }
void last_words(const unsigned long long* a) {
  ((long long*)a[2])[a[0]] = a[1];
  *(unsigned long long*)a = 7;  // a copy
}
"""


def test_kernels_run_in_order_on_copies_of_their_words():
    library = load_library(SOURCE + DRIVER_TEXT, strict_float=False)
    memory = (ctypes.c_longlong * 4)(1, 0, 0, 0)
    kernels = [
        KernelOfCall("add_words", (0, 2), [Fill(0, 0)]),
        KernelOfCall("add_words", (0, 0), [Fill(0, 0, 8), Fill(1, 1, 3)]),
        KernelOfCall("add_words", (0, 3), [Fill(0, 0)]),
        KernelOfCall("last_words", (2, 9, 0), [Fill(2, 0, 8)]),
    ]
    driver = Driver(library, kernels, 2)
    place = ctypes.addressof(memory)
    driver([place, 2])
    assert list(memory) == [123, 5, 0, 9]
    memory[:] = [1, 0, 0, 0]
    driver([place, 2**64 - 4])
    assert list(memory) == [123, -1, 0, 9]


def test_a_call_without_kernels():
    Driver(load_library(SOURCE + DRIVER_TEXT, strict_float=False), [], 0)([])
