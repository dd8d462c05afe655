"""Kernels of a program are compiled side by side, from sources that keep the others' kernels to themselves."""

import dataclasses
import re

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.runtime.cpu import c_compiler, parts
from tilefuse.runtime.cpu.driver import DRIVER
from tilefuse.runtime.errors import BuildError
from tilefuse.targets.cpus import host_cpu


@pytest.fixture
def three_cores(monkeypatch, tmp_path):
    """A host of three cores, on which kernels are worth a part each; nothing is cached."""
    host = dataclasses.replace(host_cpu(), cores=3)
    monkeypatch.setattr(parts, "host_cpu", lambda: host)
    monkeypatch.setattr(parts, "PART", 100)
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path))


def _sums():
    """Four kernels: sums down the columns, each of what the one before gives."""
    x, y = hl.vars("x y")
    image = hl.ImageParam(hl.Float(32), 2, "image")
    last = image
    for number in range(4):
        f, r = hl.Func(f"f{number}"), hl.RDom([(1, image.height() - 1)])
        f[x, y] = last[x, y]
        f[x, r.x] += f[x, r.x - 1] * hl.f32(number + 2)
        last = f
    return hl.Pipeline(last)


def _commands(monkeypatch):
    """The commands of compilers that a program is built with, as they are run."""
    found, run = [], c_compiler._run_all

    def noted(commands, cwd):
        found.append(commands)
        return run(commands, cwd)

    monkeypatch.setattr(c_compiler, "_run_all", noted)
    return found


def test_kernels_are_compiled_side_by_side(three_cores, monkeypatch):
    picture = np.random.default_rng(3).random((31, 40), dtype=np.float32)
    c_compiler.find_compiler()
    commands = _commands(monkeypatch)
    program = _sums().compile("cpu", strict_float=True)
    np.testing.assert_array_equal(program(picture), _sums().compile("reference", strict_float=True)(picture))
    assert [len(each) for each in commands] == [3, 1]
    assert commands[1][0][-4:] == ["part0.o", "part1.o", "part2.o", "-lm"]


def test_each_kernel_is_in_one_part(three_cores):
    program = _sums().compile("cpu")
    source, names = program.source(), [kernel.name for kernel in program.kernels]
    texts = parts.side_by_side_parts(source, list(dict.fromkeys(names)))
    assert len(texts) == 3
    for text in texts:
        assert text.replace("\nstatic void ", "\nvoid ") == source
    of_part = [set(re.findall(r"^void (\w+)\(", text, re.MULTILINE)) for text in texts]
    functions = {*names, *(f"{name}_words" for name in names), DRIVER}
    assert sorted(name for found in of_part for name in found) == sorted(functions)
    assert all({name.removesuffix("_words") for name in found} <= found for found in of_part)


@pytest.mark.parametrize(("part", "cores"), [(8000, 3), (100, 1)])
def test_short_sources_and_single_cores_have_one_part(three_cores, monkeypatch, part, cores):
    host = dataclasses.replace(host_cpu(), cores=cores)
    monkeypatch.setattr(parts, "PART", part)
    monkeypatch.setattr(parts, "host_cpu", lambda: host)
    source = "void a(void) {\n}\n\nvoid b(void) {\n}\n"
    assert parts.side_by_side_parts(source, ["a", "b"]) == [source]


def test_a_source_that_prints_has_one_part(three_cores):
    x = hl.Var("x")
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = hl.print(x * 2, "of f")
    g[x] = hl.print(f[x] + f[x + 1], "of g")
    program = hl.Pipeline(g).compile("cpu")
    source = program.source()
    assert len(source) > 400
    assert parts.side_by_side_parts(source, [k.name for k in program.kernels]) == [source]


def test_an_error_in_a_part_is_reported(three_cores):
    # each `}` ends a function
    bodies = {"a": "", "b": "  no_such_type x;\n", "c": ""}
    source = "".join(f"\nvoid {name}(void) {{\n{body}}}\n" for name, body in bodies.items()) + "// a comment\n" * 30
    with pytest.raises(BuildError, match="no_such_type"):
        c_compiler.load_library(source, strict_float=False, kernels=list(bodies))
