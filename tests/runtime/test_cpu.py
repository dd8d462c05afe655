"""The C compiler: found, missing, too old for OpenMP; its libraries: cached, damaged, not storable."""

import ctypes
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from dataclasses import replace

import numpy as np
import pytest
from runtime_pipelines import blur

from tilefuse.runtime import cache
from tilefuse.runtime.cpu import c_compiler
from tilefuse.runtime.cpu.wheel_compiler import openmp_library, zig_command
from tilefuse.runtime.errors import BuildError, TargetError
from tilefuse.runtime.program import compile_pipeline
from tilefuse.targets.cpus import cpu

SOURCE = "int answer(void) { return 42; }\n"


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("CC", raising=False)


def compiler_that(path, script):
    """A compiler that does `script` first."""
    path.write_text(f'#!/bin/sh\n{script}\nexec {shutil.which("cc")} "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def no_compiler(monkeypatch, tmp_path):
    """A machine without one, on the path or as a wheel."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(c_compiler, "zig_command", lambda: None)
    c_compiler._probe.cache_clear()
    yield
    c_compiler._probe.cache_clear()


def test_no_compiler(no_compiler, parse):
    with pytest.raises(TargetError, match=r"none of cc, gcc, clang is on PATH; install one .*'tilefuse\[cc\]'"):
        compile_pipeline(parse(blur()), "cpu")


@pytest.mark.skipif(zig_command() is None, reason="needs the wheel ziglang")
def test_without_a_compiler_on_the_path_the_wheels_is_used(monkeypatch, tmp_path, parse):
    """`auto` is the CPU, with threads where there is a library for them, and the picture is the evaluator's."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("tilefuse.runtime.cuda.devices._missing", lambda: "no GPU")
    compiler = c_compiler.find_compiler()
    assert compiler.command == zig_command()
    assert ("-fopenmp" in compiler.flags) == (openmp_library() is not None)
    program = compile_pipeline(parse(blur()), "auto")
    picture = np.random.default_rng(1).random((300, 200), np.float32)
    expected = compile_pipeline(parse(blur()), "reference")(picture)
    np.testing.assert_allclose(program(picture), expected, rtol=1e-6)
    assert program.target == "cpu"


def test_without_compiler_and_gpu_auto_is_the_reference(no_compiler, monkeypatch, parse):
    monkeypatch.setattr("tilefuse.runtime.cuda.devices._missing", lambda: "no GPU")
    with pytest.warns(RuntimeWarning, match="NumPy evaluator, which is slow: .* needs a C compiler") as said:
        assert compile_pipeline(parse(blur()), "auto").target == "reference"
    assert said[0].filename == __file__


def test_cc_names_what_is_missing(monkeypatch):
    monkeypatch.setenv("CC", "no-such-cc -m64")
    with pytest.raises(TargetError, match=r"\$CC names 'no-such-cc', which is not on this machine's PATH"):
        c_compiler.find_compiler()


def test_cc_that_does_not_work(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", str(compiler_that(tmp_path / "broken", "echo no licence >&2; exit 3")))
    with pytest.raises(TargetError, match="broken --version' fails: no licence"):
        c_compiler.find_compiler()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ('"unbalanced', r"\$CC is no command: No closing quotation"),
        ("true", "'true' makes no shared library of a C source"),
        ("gcc --no-such-flag", "--no-such-flag"),
    ],
)
def test_cc_that_is_no_compiler(monkeypatch, given, message):
    monkeypatch.setenv("CC", given)
    with pytest.raises(TargetError, match=message):
        c_compiler.find_compiler()


def test_a_blank_cc_is_none(monkeypatch):
    monkeypatch.setenv("CC", " ")
    assert c_compiler.find_compiler().command[0] in ("cc", "gcc", "clang")


def test_where_no_cache_can_be_written_a_library_is_built_once(monkeypatch, tmp_path):
    # built again, its file would change under the process that has loaded it, and end it
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path / "file"))
    source = "int where_no_cache_is(void) { return 3; }"
    libraries = [c_compiler.load_library(source, strict_float=False) for _ in range(2)]
    assert libraries[0] is libraries[1]
    assert libraries[1].where_no_cache_is() == 3


def test_where_no_cache_can_be_written_nothing_is_left_open(tmp_path):
    (tmp_path / "file").write_text("no folder")
    code = (
        "from tilefuse.runtime.cpu import c_compiler; import gc\n"
        "for i in range(2): c_compiler.load_library(f'int here(void) {{ return {i}; }}', strict_float=False)\n"
        "gc.collect()"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", code], capture_output=True, text=True,
        env={**os.environ, "TILEFUSE_CACHE_DIR": str(tmp_path / "file")},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_cc_may_have_options(monkeypatch):
    monkeypatch.setenv("CC", "cc -DANSWER=7")
    library = c_compiler.load_library("int f(void) { return ANSWER; }", strict_float=False)
    assert library.f() == 7


def test_a_compiler_without_openmp_is_used_without_it(monkeypatch, tmp_path):
    script = 'for a in "$@"; do [ "$a" = -fopenmp ] && { echo "unknown -fopenmp" >&2; exit 1; }; done'
    monkeypatch.setenv("CC", str(compiler_that(tmp_path / "plain", script)))
    assert "-fopenmp" not in c_compiler.find_compiler().flags
    assert c_compiler.load_library(SOURCE, strict_float=False).answer() == 42


def compiler_whose_threads_ask(function, path, *, linked=""):
    """A compiler whose libraries call a function if they have threads, which `linked` may have."""
    script = f"""for a in "$@"; do [ "$a" = -fopenmp ] && {{
      echo 'int {function}(void); int asks(void) {{ return {function}(); }}' > asks.c
      set -- "$@" asks.c {linked}; break; }}; done"""
    return str(compiler_that(path, script))


def made_library(path, source):
    subprocess.run(["cc", "-fPIC", "-shared", "-x", "c", "-", "-o", str(path)], input=source, text=True, check=True)
    return path


@pytest.mark.parametrize("is_linked", [False, True])
def test_a_compiler_whose_openmp_does_not_load_is_used_without_it(is_linked, monkeypatch, tmp_path):
    """Functions that no library has, or in a library that is not found at run time, as clang's may be."""
    made_library(tmp_path / "libhidden.so", "int not_there(void) { return 1; }")
    linked = f"-L{tmp_path} -lhidden" if is_linked else ""
    monkeypatch.setenv("CC", compiler_whose_threads_ask("not_there", tmp_path / "unloadable", linked=linked))
    assert "-fopenmp" not in c_compiler.find_compiler().flags
    assert c_compiler.load_library(SOURCE, strict_float=False).answer() == 42


def test_functions_of_clang_are_looked_for_in_the_wheels_library(monkeypatch, tmp_path):
    library = made_library(tmp_path / "libiomp.so", "int __kmpc_of_this_test(void) { return 1; }")
    monkeypatch.setattr(c_compiler, "openmp_library", lambda: library)
    monkeypatch.setenv("CC", compiler_whose_threads_ask("__kmpc_of_this_test", tmp_path / "clang"))
    assert "-fopenmp" in c_compiler.find_compiler().flags
    assert c_compiler.load_library(SOURCE, strict_float=False).asks() == 1


@pytest.mark.skipif(zig_command() is None, reason="needs the wheel ziglang")
def test_cc_may_name_the_wheels_compiler(monkeypatch, parse):
    """It has threads as the one that is found without being named, from the same library."""
    monkeypatch.setenv("CC", f"{sys.executable} -m ziglang cc")
    assert ("-fopenmp" in c_compiler.find_compiler().flags) == (openmp_library() is not None)
    picture = np.random.default_rng(1).random((300, 200), np.float32)
    expected = compile_pipeline(parse(blur()), "reference")(picture)
    np.testing.assert_allclose(compile_pipeline(parse(blur()), "cpu")(picture), expected, rtol=1e-6)


def test_where_no_probe_loads_the_compiler_is_believed(monkeypatch):
    """Programs may not run from the folder of temporary files, and may from the cache."""
    c_compiler._probe.cache_clear()
    monkeypatch.setattr(c_compiler, "_loads", lambda path: False)
    flags = c_compiler.find_compiler().flags
    c_compiler._probe.cache_clear()
    assert "-fopenmp" in flags


@pytest.mark.parametrize("is_known", [True, False])
def test_a_compiler_optimises_for_the_model_if_it_knows_that(is_known, monkeypatch, tmp_path):
    """One older than the processor knows the instructions alone."""
    monkeypatch.setattr(c_compiler, "host_cpu", lambda: replace(cpu("emerald_rapids"), tune="core-of-this-test"))
    act = "shift" if is_known else "echo unknown >&2; exit 1"
    script = f"""for a in "$@"; do
      if [ "$a" = -mtune=core-of-this-test ]; then {act}; else set -- "$@" "$a"; shift; fi; done"""
    monkeypatch.setenv("CC", str(compiler_that(tmp_path / "tuned", script)))
    assert ("-mtune=core-of-this-test" in c_compiler.find_compiler().flags) == is_known
    assert c_compiler.load_library(SOURCE + f"// {is_known}", strict_float=False).answer() == 42


def test_a_compiler_that_crashes_is_asked_for_loops_without_vectors(monkeypatch, tmp_path):
    crash = """case "$*" in
      *pipeline.c*-fno-tree-vectorize*) ;;
      *pipeline.c*) echo "x.c:1: internal compiler error" >&2; exit 1;;
    esac"""
    monkeypatch.setenv("CC", str(compiler_that(tmp_path / "crashing", crash)))
    assert c_compiler.load_library(SOURCE + "// anew", strict_float=False).answer() == 42


def test_strict_float_turns_contraction_off():
    compiler = c_compiler.find_compiler()
    assert "-ffp-contract=off" in c_compiler.build_flags(compiler, True)
    assert "-ffp-contract=fast" in c_compiler.build_flags(compiler, False)
    fma = "double f(double a, double b, double c) { return a * b + c; }"
    found = []
    for strict in (True, False):
        f = c_compiler.load_library(fma, strict_float=strict).f
        f.restype, f.argtypes = ctypes.c_double, [ctypes.c_double] * 3
        found.append(f(1 + 2**-30, 1 - 2**-30, -1.0))
    assert found[0] == 0.0
    if "fma" in c_compiler._processor():
        assert found[1] == -(2.0**-60)


def test_a_refused_source_comes_with_the_compilers_words():
    with pytest.raises(BuildError, match=r"(?s)refuses the generated source \(.*-O3.*nonsense"):
        c_compiler.load_library("int f(void) { return nonsense; }", strict_float=False)


def the_library(folder):
    [path] = folder.rglob("*.so")
    return path


def test_a_library_is_built_once_and_a_damaged_one_again(monkeypatch, tmp_path):
    assert c_compiler.load_library(SOURCE, strict_float=False).answer() == 42
    path = the_library(tmp_path / "cache")

    def forget():
        c_compiler._libraries.clear()

    with monkeypatch.context() as patch:
        patch.setattr(c_compiler, "_compile", None)
        forget()
        assert c_compiler.load_library(SOURCE, strict_float=False).answer() == 42
    data = path.read_bytes()
    path.unlink()  # the old library is still mapped, so the damaged one is another file
    path.write_bytes(data[: len(data) // 2])
    forget()
    assert c_compiler.load_library(SOURCE, strict_float=False).answer() == 42
    assert cache.read(path) is not None


@pytest.mark.skipif(os.name != "posix", reason="folders by path")
def test_a_cache_folder_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "cache").write_text("in the way")
    assert c_compiler.load_library(SOURCE, strict_float=False).answer() == 42


def limited(program, setup, cache):
    """Run a program in a process of its own; `setup` comes first."""
    environment = {**os.environ, "TILEFUSE_CACHE_DIR": str(cache), "PYTHONDEVMODE": "1"}
    environment.pop("CC", None)
    command = [sys.executable, "-c", f"{setup}\n{program}"]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120)


FEW_BYTES = """
import resource, signal
from tilefuse.runtime.cpu import c_compiler
from tilefuse.runtime.errors import TargetError
def least(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
"""


@pytest.mark.parametrize("size", [0, 10, 4096])
@pytest.mark.parametrize("first", ["", "c_compiler.find_compiler()"])
def test_a_full_folder_for_temporary_files(size, first, tmp_path):
    """Files of no more than a few bytes, as on a disk that is full: that is not the compiler's fault."""
    program = f"""
{first}
least({size})
try:
    c_compiler.load_library({SOURCE!r}, strict_float=False)
except TargetError as error:
    print(error)
"""
    done = limited(program, FEW_BYTES, tmp_path)
    assert "the folder for temporary files cannot be written: " in done.stdout, done.stderr
    assert "$TMPDIR" in done.stdout
    assert "$CC" not in done.stdout


def test_no_folder_for_temporary_files(monkeypatch, tmp_path):
    c_compiler._probe.cache_clear()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(TargetError, match=r"folder for temporary files cannot be written: .*none"):
        c_compiler.find_compiler()


def test_where_no_cache_can_be_written_nothing_is_left_behind(tmp_path):
    (tmp_path / "file").write_text("no folder")
    program = f"""
from tilefuse.runtime.cpu import c_compiler
print(c_compiler.load_library({SOURCE!r}, strict_float=False).answer(), c_compiler._private_folder())
"""
    done = limited(program, "", tmp_path / "file")
    answer, folder = done.stdout.split()
    assert answer == "42"
    assert not os.path.exists(folder)
    assert done.stderr == ""
