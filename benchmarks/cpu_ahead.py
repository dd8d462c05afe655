"""Halide's pipelines compiled ahead of time: libraries that one machine writes, and another calls without Halide."""

from __future__ import annotations

import ctypes
import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ENTRY = "rival"


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Dimension(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("min", "extent", "stride")] + [("flags", ctypes.c_uint32)]


class _Buffer(ctypes.Structure):
    """`halide_buffer_t` of HalideRuntime.h."""

    _fields_ = [
        ("device", ctypes.c_uint64),
        ("device_interface", ctypes.c_void_p),
        ("host", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("type", _Type),
        ("dimensions", ctypes.c_int32),
        ("dim", ctypes.POINTER(_Dimension)),
        ("padding", ctypes.c_void_p),
    ]


_CODES = {"i": 0, "u": 1, "f": 2}
_HOST_DIRTY = 1


def _buffer(array: np.ndarray, mins: Sequence[int]) -> _Buffer:
    dims = (_Dimension * array.ndim)()
    for d, (low, size, stride) in enumerate(zip(mins, array.shape[::-1], array.strides[::-1], strict=True)):
        dims[d] = _Dimension(low, size, stride // array.itemsize, 0)
    kind = _Type(_CODES[array.dtype.kind], 8 * array.itemsize, 1)
    return _Buffer(0, None, array.ctypes.data, _HOST_DIRTY, kind, array.ndim, dims, None)


def write(halide: Any, output: Any, images: Sequence[Any], params: Sequence[tuple[Any, float]], path: Path) -> None:
    """Compile a scheduled output to a shared library, runtime included, for `$HL_TARGET` or the processor at hand.

    Values of its parameters go to a JSON file beside it."""
    target = halide.get_target_from_environment()
    arguments = [*map(halide.Argument, images), *(halide.Argument(param) for param, _ in params)]
    object_file = path.with_suffix(".o")
    output.compile_to_object(str(object_file), arguments, ENTRY, target)
    link = ["cc", "-shared", "-Wl,-Bsymbolic", "-o", str(path), str(object_file), "-lpthread", "-ldl", "-lm"]
    subprocess.run(link, check=True)
    object_file.unlink()
    path.with_suffix(".json").write_text(json.dumps([value for _, value in params]))


_IGNORE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)(lambda context, message: None)


def load(path: Path, arrays: Sequence[np.ndarray], out: np.ndarray, mins: Sequence[int]) -> Callable[[], None]:
    """Return a call of a library made by `write`; `mins`: min of the output, x first."""
    library = ctypes.CDLL(str(path.resolve()))
    library.halide_set_error_handler(_IGNORE)  # the other one ends the process
    function = getattr(library, ENTRY)
    values = json.loads(path.with_suffix(".json").read_text())
    buffers = [*(_buffer(a, [0] * a.ndim) for a in arrays), _buffer(out, mins)]
    scalars = [ctypes.c_float(v) if isinstance(v, float) else ctypes.c_int32(v) for v in values]
    references = [*map(ctypes.byref, buffers[:-1]), *scalars, ctypes.byref(buffers[-1])]

    def call() -> None:
        if code := function(*references):
            raise RuntimeError(f"{path.name} returned {code}")

    return call
