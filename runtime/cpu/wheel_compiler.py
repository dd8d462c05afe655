"""C compiler from a wheel, for machines without one: `pip install tilefuse[cc]`.

The wheel `ziglang` holds clang with its own headers and linker. It lacks the library of OpenMP that clang's code calls,
which `intel-openmp` has. Without it kernels run on one thread.
"""

from __future__ import annotations

import ctypes
import functools
from importlib.util import find_spec
from pathlib import Path

INSTALL = "pip install 'tilefuse[cc]'"
OF_CLANG = "__kmpc_"
"""Beginning of the names of OpenMP's functions in clang's code."""


def zig_command() -> tuple[str, ...] | None:
    """Return the command of the wheel's clang; None if the wheel is not installed."""
    spec = find_spec("ziglang")
    folders = spec.submodule_search_locations if spec is not None else None
    found = (Path(folder) / name for folder in folders or () for name in ("zig", "zig.exe"))
    return next(((str(path), "cc") for path in found if path.is_file()), None)


def openmp_library() -> Path | None:
    """Return the wheel's OpenMP library for clang's code; None if the wheel is not installed."""
    from importlib import metadata  # late: it brings the parser of e-mail

    try:
        files = metadata.files("intel-openmp") or ()
    except metadata.PackageNotFoundError:
        return None
    paths = (Path(str(file.locate())) for file in files if file.name == "libiomp5.so")
    return next((path for path in paths if path.is_file()), None)


@functools.cache
def load_openmp(path: Path) -> ctypes.CDLL:
    """Load the OpenMP library, so that kernels loaded later find its functions."""
    return ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
