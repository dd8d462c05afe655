"""Random updates: what the halide wheel computes, and the same on every back end."""

import shutil

import numpy as np
import pytest
from emulated_cuda import emulate
from random_updates import FLOATS, INTEGERS, PICTURE, random_update_program

import tilefuse
from tilefuse.passes.pipeline import standard_passes
from tilefuse.runtime.cuda.nvrtc import NvrtcNotFound, supported_archs


def arrays(made):
    return [np.array(a) for a in made] if isinstance(made, tuple | list) else [np.array(made)]


def ours(seed, target, types=INTEGERS, **options):
    func, sizes = random_update_program(tilefuse, tilefuse.Buffer(PICTURE), seed, types)
    return arrays(func.realize(sizes, target, strict_float=True, **options))


def assert_same(got, expected):
    assert [a.dtype for a in got] == [a.dtype for a in expected]
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("seed", range(60))
def test_as_halide(seed):
    halide = pytest.importorskip("halide")
    func, sizes = random_update_program(halide, halide.Buffer(PICTURE), seed)
    assert_same(ours(seed, "reference"), arrays(func.realize(sizes)))


@pytest.mark.parametrize("types", [INTEGERS, FLOATS], ids=["integers", "floats"])
@pytest.mark.parametrize("seed", range(100, 112))
def test_on_cpu(seed, types):
    assert_same(ours(seed, "cpu", types), ours(seed, "reference", types))


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("types", [INTEGERS, FLOATS], ids=["integers", "floats"])
@pytest.mark.parametrize("seed", range(200, 208))
def test_on_emulated_gpu(seed, types, monkeypatch, tmp_path):
    misaligned = emulate(monkeypatch, tmp_path)
    got = ours(seed, "cpu", types, passes=standard_passes("h200"))
    assert_same(got, ours(seed, "reference", types))
    assert misaligned, "no kernel ran"
    assert not any(misaligned)


@pytest.mark.parametrize(("seed", "types"), [(300, INTEGERS), (301, FLOATS), (311, FLOATS), (314, INTEGERS)])
def test_compiled_for_a_gpu(seed, types, monkeypatch, tmp_path):
    """Also where a stage beside the update spills registers, and is tiled again (311)."""
    try:
        supported_archs()
    except NvrtcNotFound as error:
        pytest.skip(str(error))
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path))
    func, _ = random_update_program(tilefuse, tilefuse.Buffer(PICTURE), seed, types)
    program = tilefuse.Pipeline(func).compile("h200", verify=True)
    assert "update" in program.source()
    updates = [k for k in program.kernels if "update" in k.name]
    assert updates
    assert all(k.spill_bytes == 0 for k in updates)


@pytest.mark.gpu
@pytest.mark.parametrize("types", [INTEGERS, FLOATS], ids=["integers", "floats"])
@pytest.mark.parametrize("seed", range(400, 440))
def test_on_gpu(seed, types):
    import cupy

    image = tilefuse.ImageParam(tilefuse.UInt(8), 2, "image")
    func, sizes = random_update_program(tilefuse, image, seed, types)
    program = tilefuse.Pipeline(func).compile("cuda", strict_float=True)
    pictures = [cupy.asarray(PICTURE)] if "image" in str(program.ir("input")) else []
    made = program(*pictures, sizes=sizes)
    got = [array.get() for array in (made if isinstance(made, tuple | list) else [made])]
    assert_same(got, ours(seed, "reference", types))
