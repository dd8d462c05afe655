"""Emulation of generated CUDA on a CPU, to the bit, with a check of the alignment of vectors.

Only the compiler for GPUs, and what blocks do to each other, is not seen. It needs g++.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from tilefuse.lowering.abi import groups_of
from tilefuse.lowering.printers import print_cuda
from tilefuse.passes.pipeline import lowering_passes, run_passes
from tilefuse.runtime.compile import compiled
from tilefuse.runtime.compile.compiled import Compiled
from tilefuse.runtime.compile.specialize import find_pipeline
from tilefuse.runtime.cpu import entry_points
from tilefuse.runtime.cpu.driver import KernelOfCall
from tilefuse.runtime.cpu.entry_points import c_entry_points
from tilefuse.runtime.launch import plan, prepared
from tilefuse.runtime.launch.cpu_runner import CpuRunner
from tilefuse.targets.gpus import gpu

MOST_BLOCKS = gpu("h200").max_grid
"""Along x, y and z, as on a device."""

PIECE_BYTES = 8
"""The longest piece of a row that is loaded where the row may begin in the midst of it."""

HEADER = Path(__file__).with_suffix(".h")


class _Patches(ExitStack):
    """pytest's `MonkeyPatch.setattr`, where pytest may be missing."""

    def setattr(self, owner: Any, name: str, value: Any) -> None:
        self.enter_context(mock.patch.object(owner, name, value))


@contextmanager
def emulated(**options: Any) -> Iterator[list[int]]:
    """Run the CUDA text of CPU programs inside of the context, as after `emulate`."""
    with _Patches() as patch, tempfile.TemporaryDirectory() as folder:
        yield emulate(patch, Path(folder), **options)


def emulate(
    patch: Any,
    folder: Path,
    after_block: Callable[[], None] | None = None,
    watched: Callable[[], np.ndarray] | None = None,
    most_blocks: tuple[int, int, int] = MOST_BLOCKS,
    flags: Sequence[str] = (),
) -> list[int]:
    """Make CPU programs run their CUDA text; the list gets the number of misaligned accesses of each kernel.

    `after_block` is called when a block has ended. Vectors near the array that `watched` gives count as misaligned
    too, if they do not lie between the piece in which it begins (memory is allocated at multiples of longer vectors)
    and its last element, and so does each line prefetched outside of it. `flags` are the compiler's, besides.
    """
    call = ctypes.CFUNCTYPE(None)(after_block) if after_block else None
    found: list[int] = []
    libraries: dict[str, ctypes.CDLL] = {}

    def build(source: str, *, strict_float: bool, kernels: Sequence[str]) -> ctypes.CDLL:
        if source not in libraries:
            path = folder / f"kernels{len(libraries)}.cpp"
            path.write_text(source)
            library = path.with_suffix(".so")
            command = ["g++", "-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing"]
            command += [*flags, "-shared", "-fPIC", "-o", str(library), str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr[:3000]
            libraries[source] = ctypes.CDLL(str(library))
            if call:
                place = ctypes.c_void_p.in_dll(libraries[source], "emulated_after_block")
                place.value = ctypes.cast(call, ctypes.c_void_p).value
        return libraries[source]

    class Runner(CpuRunner):
        def _driver(self, library: ctypes.CDLL, kernels: Sequence[KernelOfCall], values: int) -> Any:
            launches = self._plan.launches
            for launch in launches:
                assert all(0 < n <= most for n, most in zip(launch.grid, most_blocks, strict=True)), launch.grid
            of_grids = [_with_grid(library, launch, found, watched) for launch in launches]

            def drive(given: Sequence[int]) -> None:
                for kernel, run in zip(kernels, of_grids, strict=True):
                    words = (ctypes.c_uint64 * len(kernel.words))(*kernel.words)
                    for fill in kernel.fills:
                        words[fill.word] = given[fill.value] + fill.offset
                    run(words)

            return drive

    patch.setattr(Compiled, "most_blocks", most_blocks)
    patch.setattr(Compiled, "_lower", _lower)
    patch.setattr(Compiled, "_print", _print)
    patch.setattr(compiled.c_compiler, "load_library", build)
    patch.setattr(prepared, "CpuRunner", Runner)
    return found


_ASSEMBLY = (
    (r'asm\("abs\.s32[^"]*" : "=r"\((.*?)\) : "r"\((.*?)\)\);', r"\1 = abs(\2);"),
    (r'asm\("xor\.b32[^"]*" : "=r"\((.*?)\) : "r"\((.*?)\), "r"\((.*?)\)\);', r"\1 = \2 ^ \3;"),
    (r'asm volatile\("// version[^;]*;', ""),
    (r'asm volatile\("griddepcontrol[^;]*;"[^;]*;', ""),
    (r'asm volatile\("prefetch\.global[^"]*" :: "l"\((\w+)\)\);', r"prefetched(\1);"),
    (
        r'asm volatile\("\{ \.reg \.pred q;[^"]*"\s*::\s*"r"\(\(int\)(\w+)\), "l"\((\w+)\)[^;]*;',
        r"if (\1) *checked<decltype(v)>(\2) = v;",
    ),
    (r'asm\("rsqrt\.approx[^"]*" : "=f"\((.*?)\) : "f"\((.*?)\)\);', r"\1 = rsqrtf(\2);"),
    (r'asm\("rcp\.approx[^"]*" : "=f"\((.*?)\) : "f"\((.*?)\)\);', r"\1 = 1.0f / \2;"),
    (r'asm\("mul\.rn[^"]*" : "=f"\((.*?)\) : "f"\((.*?)\), "f"\((.*?)\)\);', r"\1 = \2 * \3;"),
    (
        r'asm\("cvt\.rzi\.(s|u)(8|16)\.f32[^"]*" : "=[rh]"\((.*?)\) : "f"\((.*?)\)\);',
        r"\3 = rounded_to_zero<int>(\4, least_of_\1(\2), greatest_of_\1(\2));",
    ),
    (
        r'asm\("(min|max)\.NaN\.f32[^"]*" : "=f"\((.*?)\) : "f"\((.*?)\), "f"\((.*?)\)\);',
        r"\2 = \3 != \3 ? \3 : \4 != \4 ? \4 : f\1f(\3, \4);",
    ),
    (r'asm\("cvt\.f32\.f16[^"]*" : "=f"\((.*?)\) : "h"\((.*?)\)\);', r"\1 = same_bits<_Float16>(\2);"),
    (
        r'asm\("cvt\.rn\.f16[^"]*" : "=h"\((.*?)\) : "[fd]"\((.*?)\)\);',
        r"\1 = same_bits<unsigned short>((_Float16)\2);",
    ),
)
"""Instructions of assembly, and what they do."""


def _with_grid(
    library: ctypes.CDLL,
    kernel: plan.KernelLaunch,
    found: list[int],
    watched: Callable[[], np.ndarray] | None,
) -> Any:
    function = getattr(library, entry_points.entry_point(kernel.name))
    function.argtypes, function.restype = [ctypes.c_void_p], None
    three, two = ctypes.c_int * 3, ctypes.c_ulonglong * 2

    def run(words: ctypes.Array) -> None:
        three.in_dll(library, "emulated_grid")[:] = kernel.grid
        three.in_dll(library, "emulated_threads")[:] = kernel.threads
        ctypes.c_int.in_dll(library, "emulated_shared_bytes").value = kernel.shared_bytes
        two.in_dll(library, "emulated_watched")[:] = _addresses(watched()) if watched else (0, 0)
        misaligned = ctypes.c_int.in_dll(library, "emulated_misaligned")
        misaligned.value = 0
        function(words)
        found.append(misaligned.value)

    return run


def _addresses(array: np.ndarray) -> tuple[int, int]:
    last = sum((n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True))
    return array.ctypes.data // PIECE_BYTES * PIECE_BYTES, array.ctypes.data + last + array.itemsize


def _lower(self: Compiled, scheduled: Any, trace: Any) -> Any:
    return run_passes(scheduled, lowering_passes(warps=True))


def _print(self: Compiled, module: Any, index_bits: int) -> str:
    text = print_cuda(module, index_bits=index_bits)
    text = re.sub(r"\*reinterpret_cast<(const )?([\w ]+)\*>\((\w+)\)", r"*checked<\1\2>(\3)", text)
    for instructions, meaning in _ASSEMBLY:
        text = re.sub(instructions, meaning, text)
    assert "asm(" not in text, "instructions that are not emulated"
    text = re.sub(r"extern __shared__ .*? (\w+)\[\];", r"unsigned char* \1 = emulated_shared;", text)
    names = re.findall(r'extern "C" __global__ void __launch_bounds__\([^)]*\) (\w+)\(', text)
    text = re.sub(r'extern "C" __global__ void __launch_bounds__\([^)]*\) ', "static void ", text)
    entries = c_entry_points(groups_of(find_pipeline(module))).replace("(void*)a[", "Pointer{a[")
    entries = re.sub(r"Pointer\{a\[(\d+)\]", r"Pointer{a[\1]}", entries)
    return HEADER.read_text() + text + _over_threads(entries, names)


def _over_threads(entries: str, names: list[str]) -> str:
    loops = "".join(f"  for (int {d} = 0; {d} < emulated_grid[{i}]; ++{d})\n" for i, d in enumerate("xyz"))
    for name in names:
        entries = entries.replace(
            f"void {entry_points.entry_point(name)}(", f'extern "C" void {entry_points.entry_point(name)}('
        )
        entries = entries.replace(f"\n  {name}(", f"\n{loops}  {{ blockIdx = {{x, y, z}}; run_block([&] {{ {name}(")
    after = "if (emulated_after_block) emulated_after_block();"
    return re.sub(r"(run_block.*?\);)\n", rf"\1 }}); {after} }}\n", entries)
