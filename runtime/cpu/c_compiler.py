"""C compilation: text to a shared library, by the system's compiler, and its functions."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import os
import platform
import shlex
import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tilefuse.runtime import cache
from tilefuse.runtime.cpu.output import direct_prints
from tilefuse.runtime.cpu.parts import side_by_side_parts
from tilefuse.runtime.cpu.wheel_compiler import INSTALL, OF_CLANG, load_openmp, openmp_library, zig_command
from tilefuse.runtime.errors import BuildError, TargetError
from tilefuse.targets.cpus import host_cpu

if TYPE_CHECKING:
    import subprocess

_FLAGS = ("-O3", "-fPIC", "-shared", "-std=c11", "-fno-math-errno", "-fno-trapping-math")
_OPTIONAL_FLAGS = (
    "-march=native",
    # GCC would make jumps of selects that follow from one another, and loops with jumps are not vectorised
    "-fno-thread-jumps",
    # where there are vectors of 64 bytes: GCC takes half of one by itself. Harris 0.9, Canny 0.95 of the time
    "-mprefer-vector-width=512",
)
# clang would leave jumps where conditions of rows choose between longer expressions
_CLANG_FLAGS = ("-mllvm=-two-entry-phi-node-folding-threshold=100",)


class CCompiler(NamedTuple):
    """A C compiler: command, identity (with the processor it compiles for), and flags."""

    command: tuple[str, ...]
    identity: str
    flags: tuple[str, ...]


def find_compiler() -> CCompiler:
    """Find a working compiler: `$CC`, the first of cc, gcc, clang on the path, or the wheel's. Else TargetError."""
    try:
        given = tuple(shlex.split(os.environ.get("CC", "")))
    except ValueError as error:
        raise TargetError(f"target 'cpu': $CC is no command: {error}") from None
    return _probe(given or None, os.environ.get("PATH", ""))


@functools.cache
def _probe(given: tuple[str, ...] | None, path: str) -> CCompiler:
    if given is not None:
        command = given
        if shutil.which(given[0]) is None:
            raise TargetError(f"target 'cpu': $CC names '{given[0]}', which is not on this machine's PATH")
    else:
        on_path = next(((name,) for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
        found = on_path or zig_command()
        if found is None:
            raise TargetError(
                "target 'cpu' needs a C compiler, and none of cc, gcc, clang is on PATH; install one "
                f"(Debian, Ubuntu: apt install gcc; as a wheel: {INSTALL}), name one in $CC, or use target='reference'"
            )
        command = found
    version = _run([*command, "--version"])
    if version.returncode != 0:
        raise TargetError(f"target 'cpu': '{shlex.join(command)} --version' fails: {version.stderr.strip()}")
    if not _accepts(command):
        raise TargetError(f"target 'cpu': '{shlex.join(command)}' makes no shared library of a C source; see $CC")
    # a compiler older than the processor knows its instructions, and would optimise for none in particular
    tune = (f"-mtune={model}",) if (model := host_cpu().tune) else ()
    of_clang = _CLANG_FLAGS if "clang" in version.stdout else ()
    optional = _accepted(command, *_OPTIONAL_FLAGS, *tune, *of_clang)
    flags = (*_FLAGS, *optional, *_openmp_flags(command))
    # -march=native means another processor on another machine, and caches may be shared between machines.
    identity = "\n".join((shlex.join(command), version.stdout, platform.machine(), _processor()))
    return CCompiler(command, identity, flags)


def _run(command: list[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    (done,) = _run_all([command], cwd)
    return done


def _run_all(commands: Sequence[list[str]], cwd: Path | None) -> list[subprocess.CompletedProcess[str]]:
    """Run commands in parallel, until all have ended."""
    import subprocess  # late: who compiles for a GPU starts no process

    with contextlib.ExitStack() as running:
        started: list[subprocess.Popen[str]] = []
        for command in commands:
            try:
                process = subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", cwd=cwd
                )
            except OSError as error:
                raise TargetError(f"target 'cpu': the C compiler '{command[0]}' does not run: {error}") from None
            started.append(running.enter_context(process))
        output = [process.communicate() for process in started]
    return [
        subprocess.CompletedProcess(process.args, process.returncode, *texts)
        for process, texts in zip(started, output, strict=True)
    ]


def _accepted(command: tuple[str, ...], *flags: str) -> tuple[str, ...]:
    """Return the flags that a compiler accepts, out of these."""
    return flags if _accepts(command, *flags) else tuple(f for f in flags if len(flags) > 1 and _accepts(command, f))


_PARALLEL_LOOP = """void probe(int *points, int count) {
#pragma omp parallel for
  for (int i = 0; i < count; ++i) points[i] = i;
}
"""


def _openmp_flags(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the flag of OpenMP with which kernels load: of threads, else of vectors alone, else none.

    A compiler may link a library that does not load: without the functions of OpenMP, or with a library of them that
    is not found at run time. Where no library loads at all, the folder is the reason, and the compiler is believed.
    """
    with _work_folder() as folder:
        if _links(command, "-fopenmp", folder=folder, name="threads") and (
            _loads(folder / "threads.so")
            or (_links(command, folder=folder, name="plain") and not _loads(folder / "plain.so"))
        ):
            return ("-fopenmp",)
    return _accepted(command, "-fopenmp-simd")


def _accepts(command: tuple[str, ...], *flags: str) -> bool:
    with _work_folder() as folder:
        return _links(command, *flags, folder=folder, name="probe")


def _links(command: tuple[str, ...], *flags: str, folder: Path, name: str) -> bool:
    """Whether a compiler makes a shared library with these flags: it may know -fopenmp, and lack its library."""
    (folder / f"{name}.c").write_text(_PARALLEL_LOOP)
    done = _run([*command, *flags, "-fPIC", "-shared", "-o", f"{name}.so", f"{name}.c"], folder)
    if done.returncode == 0 and (folder / f"{name}.so").exists():
        return True
    _check_room(folder)
    return False


def _loads(path: Path) -> bool:
    try:
        _load(path)
    except OSError:
        return False
    return True


def _load(path: Path) -> ctypes.CDLL:
    """Load a shared library, after the wheel's OpenMP library if functions of clang's are missing; else OSError."""
    _bound_waiting()
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        openmp = openmp_library() if OF_CLANG in str(error) else None
        if openmp is None:
            raise
        load_openmp(openmp)
        return ctypes.CDLL(str(path))


_ROOM = 1 << 20
"""Bytes that a folder must take for it to be the compiler that refuses: about those of a library of large kernels."""


@contextlib.contextmanager
def _work_folder() -> Iterator[Path]:
    """Open a temporary folder for the compiler; TargetError if it cannot be written."""
    try:
        with tempfile.TemporaryDirectory(prefix="tilefuse-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    except OSError as error:
        raise _no_folder(error) from None


def _check_room(folder: Path) -> None:
    """Raise OSError if the folder's disk is full: compilers report this unclearly, or not at all."""
    (folder / "room").write_bytes(bytes(_ROOM))


def _no_folder(error: OSError) -> TargetError:
    return TargetError(
        f"target 'cpu': the folder for temporary files cannot be written: {error}; make room, or name another one in "
        "$TMPDIR"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))


def build_flags(compiler: CCompiler, strict_float: bool) -> tuple[str, ...]:
    """Return the compile flags. Strict: no contraction to fused multiply-adds; signs of zeros count."""
    if strict_float:
        return (*compiler.flags, "-ffp-contract=off", "-DTILEFUSE_STRICT")
    return (*compiler.flags, "-ffp-contract=fast")


_libraries: dict[Path, ctypes.CDLL] = {}
_lock = threading.Lock()


def load_library(source: str, *, strict_float: bool, kernels: Sequence[str] = ()) -> ctypes.CDLL:
    """Load the shared library of a C source, built unless cached. BuildError if it does not compile.

    `kernels`: functions of the source that may be compiled side by side.
    """
    compiler = find_compiler()
    flags = build_flags(compiler, strict_float)
    entry = path = cache.entry("c", cache.digest(source, compiler.identity, *flags), ".so")
    with _lock:
        library = _libraries.get(entry)
        if library is None:
            # Read first: loading a damaged library may end the process.
            if cache.read(path) is None:
                binary = _compile(side_by_side_parts(source, kernels), compiler, flags)
                if not cache.write_entry(path, binary):
                    path = _private_copy(path.name, binary)
            try:
                library = _load(path)
            except OSError as error:
                raise BuildError(
                    f"the compiled library cannot be loaded: {error}; set TILEFUSE_CACHE_DIR to a folder "
                    "that programs may run from"
                ) from None
            direct_prints(library)
            # by the entry: a private copy must not be written again while it is loaded
            _libraries[entry] = library
        return library


SPINS = (3000, 1500, 30000)
"""Rounds in which an idle thread looks for work: at least, for each core, and at most. 3000 are some 100 us."""


def _bound_waiting() -> None:
    """Make OpenMP's threads spin for a moment before they sleep; it reads its settings when loaded.

    Threads that look on cost milliseconds a call where cores are shared, as few cores often are; those that sleep are
    woken one after the other: all of many take longer than a small picture.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        least, each, most = SPINS
        spins = min(max(least, each * host_cpu().cores), most)
        os.environ.setdefault("GOMP_SPINCOUNT", str(spins))  # GCC's library
        os.environ["OMP_WAIT_POLICY"] = "passive"


CRASHED = "internal compiler error"
"""Said by a compiler that has an error of its own."""


def _compile(parts: Sequence[str], compiler: CCompiler, flags: tuple[str, ...]) -> bytes:
    """Compile a library from the sources `parts`, in parallel."""
    with _work_folder() as folder:
        of_objects = ("-c", *(f for f in flags if f != "-shared"))
        names = [f"part{number}" for number in range(len(parts))] if len(parts) > 1 else ["pipeline"]
        for name, text in zip(names, parts, strict=True):
            (folder / f"{name}.c").write_text(text)
        if len(parts) == 1:
            _build(folder, [[*compiler.command, *flags, "-o", "pipeline.so", "pipeline.c", "-lm"]])
        else:
            _build(folder, [[*compiler.command, *of_objects, "-o", f"{name}.o", f"{name}.c"] for name in names])
            objects = [f"{name}.o" for name in names]
            _build(folder, [[*compiler.command, *flags, "-o", "pipeline.so", *objects, "-lm"]])
        return (folder / "pipeline.so").read_bytes()


def _build(folder: Path, commands: Sequence[list[str]]) -> None:
    """Run compiler commands in parallel. BuildError if one fails."""
    for command, done in zip(commands, _run_all(commands, folder), strict=True):
        if done.returncode != 0 and CRASHED in done.stderr:
            # GCC 13 ends so on minima of bytes under a mask of AVX-512; loops without vectors it compiles
            done = _run([*command, "-fno-tree-vectorize"], folder)
        if done.returncode != 0:
            _check_room(folder)
            raise BuildError(
                f"the C compiler refuses the generated source ({shlex.join(command)}):\n{done.stderr.strip()}"
            )


@functools.cache
def _private_folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="tilefuse-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _private_copy(name: str, binary: bytes) -> Path:
    """Copy to a folder of this process, deleted at its end, if the cache folder is not writable."""
    try:
        path = _private_folder() / name
        path.write_bytes(binary)
    except OSError as error:
        raise _no_folder(error) from None
    return path
