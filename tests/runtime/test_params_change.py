"""Params of every type, and small arrays, change from call to call: nothing is compiled again."""

import shutil
import subprocess

import numpy as np
import pytest
from emulated_cuda import emulate

import tilefuse as hl
from tilefuse.passes.pipeline import standard_passes

VALUES = {
    "bool": (hl.Bool(), (False, True)),
    "uint8": (hl.UInt(8), (0, 255)),
    "int8": (hl.Int(8), (-128, 127)),
    "uint16": (hl.UInt(16), (1, 65535)),
    "int16": (hl.Int(16), (-32768, 5)),
    "uint32": (hl.UInt(32), (3, 2**32 - 1)),
    "int32": (hl.Int(32), (-(2**31), 77)),
    "uint64": (hl.UInt(64), (9, 2**64 - 1)),
    "int64": (hl.Int(64), (-(2**63), 2**40)),
    "float16": (hl.Float(16), (0.5, -2048.0)),
    "bfloat16": (hl.BFloat(16), (0.5, -256.0)),
    "float32": (hl.Float(32), (0.1, -3e38)),
    "float64": (hl.Float(64), (0.1, 1e300)),
}
x = hl.Var("x")


@pytest.fixture
def compilations(monkeypatch, tmp_path):
    """The commands of compilers that ran."""
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path / "cache"))
    seen, start = [], subprocess.Popen

    def counted(command, *args, **options):
        seen.append(command)
        return start(command, *args, **options)

    monkeypatch.setattr(subprocess, "Popen", counted)
    return seen


def program_of(make, target, monkeypatch, tmp_path):
    if target == "cpu":
        return hl.Pipeline(make).compile("cpu")
    emulate(monkeypatch, tmp_path)
    return hl.Pipeline(make).compile("cpu", passes=standard_passes("h200"))


def of_every_type():
    """An output for each type: what the Param is, as a stage and in a reduction whose extent another says."""
    params = {name: hl.Param(type, name) for name, (type, _) in VALUES.items()}
    count, outputs = hl.Param(hl.Int(32), "count"), []
    for name, (type, _) in VALUES.items():
        f = hl.Func(f"out_{name}")
        shown = hl.Float(32) if name == "bfloat16" else type  # NumPy has no bf16
        f[x] = hl.cast(shown, 0)
        f[hl.RDom([(0, count)]).x] = hl.cast(shown, params[name])
        outputs.append(f)
    return outputs


def call(program, which, count):
    values = {name: given[which] for name, (_, given) in VALUES.items()}
    sizes = {f"out_{name}": (6,) for name in VALUES}
    return program(**values, count=count, sizes=sizes)


@pytest.mark.parametrize(
    "target", ["cpu", pytest.param("emulated", marks=pytest.mark.skipif(not shutil.which("g++"), reason="needs g++"))]
)
def test_params_of_every_type(target, compilations, monkeypatch, tmp_path):
    outputs = of_every_type()
    program = program_of(outputs, target, monkeypatch, tmp_path)
    reference = hl.Pipeline(outputs).compile("reference")
    call(program, 0, 2)
    text, compiled = program.source(), len(compilations)
    assert compiled
    for which, count in ((1, 2), (0, 5), (1, 0), (1, 6)):
        for found, expected in zip(call(program, which, count), call(reference, which, count), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert len(compilations) == compiled
    assert program.source() == text


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_small_arrays(target, compilations):
    """Weights and a table: other values, and of weights another number."""
    image, weights = hl.ImageParam(hl.UInt(8), 1, "image"), hl.ImageParam(hl.Float(32), 1, "weights")
    table, f = hl.ImageParam(hl.Int(16), 1, "table"), hl.Func("f")
    edges, r = hl.BoundaryConditions.repeat_edge(image), hl.RDom([(0, weights.width())])
    f[x] = hl.f32(table[image[x]])
    f[x] += weights[r.x] * hl.f32(edges[x + r.x])
    program = hl.Pipeline(f).compile(target)
    picture = np.arange(40, dtype=np.uint8) * 6
    compiled = None
    for taps in (3, 3, 7, 1):
        given = np.linspace(-1, 1, taps, dtype=np.float32) * taps
        values = np.arange(256, dtype=np.int16) * taps
        padded = np.pad(picture, (0, taps), "edge").astype(np.float32)
        expected = values[picture] + sum(w * padded[i : i + 40] for i, w in enumerate(given))
        np.testing.assert_allclose(program(picture, weights=given, table=values), expected, rtol=1e-5, atol=1e-3)
        compiled = len(compilations) if compiled is None else compiled
        assert len(compilations) == compiled


@pytest.mark.gpu
def test_params_of_every_type_on_a_gpu(monkeypatch):
    from tilefuse.runtime.cuda import cubins

    outputs = of_every_type()
    program, reference = hl.Pipeline(outputs).compile("cuda"), hl.Pipeline(outputs).compile("reference")
    call(program, 0, 2)

    def again(*_args, **_options):
        raise AssertionError("compiled again")

    monkeypatch.setattr(cubins, "compile_cubins", again)
    for which, count in ((1, 2), (0, 5), (1, 6)):
        for found, expected in zip(call(program, which, count), call(reference, which, count), strict=True):
            np.testing.assert_array_equal(found.get(), expected)
