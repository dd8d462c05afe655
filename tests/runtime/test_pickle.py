"""Programs that were pickled call as before; so do copies of them."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from random_pipelines import random_pipeline
from random_programs import assert_equal, call
from runtime_pipelines import AS_IT_IS, SCALED

import tilefuse as hl
from tilefuse.passes.pipeline import standard_passes
from tilefuse.passes.tile import Tile
from tilefuse.runtime.errors import CallError
from tilefuse.runtime.program import compile_pipeline

TARGETS = ("reference", "cpu")


def again(program):
    return pickle.loads(pickle.dumps(program))


def blur():
    x, y = hl.vars("x y")
    image, gain = hl.ImageParam(hl.Float(32), 2, "image"), hl.Param(hl.Float(32), "gain", 2.5)
    f = hl.Func("blur")
    f[x, y] = (hl.BoundaryConditions.repeat_edge(image)[x - 1, y] + image[x, y]) * gain
    return hl.Pipeline(f)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("make", [again, copy.copy, copy.deepcopy])
def test_a_loaded_program_calls_right(make, target):
    program = blur().compile(target, strict_float=True)
    image = np.random.default_rng(1).random((7, 9), np.float32)
    program(image)
    loaded = make(program)
    assert repr(loaded) == repr(program)
    for gain in ({}, {"gain": -1.0}):
        np.testing.assert_array_equal(loaded(image, **gain), program(image, **gain))
    with pytest.raises(CallError, match="no input or param is called 'gian'"):
        loaded(image, gian=3)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("target", TARGETS)
def test_random_pipelines(seed, target):
    case = random_pipeline(seed)
    program = compile_pipeline(case.module, target, strict_float=True)
    assert_equal(call(again(program), case), call(program, case), f"seed {seed}")


@pytest.mark.parametrize("name", ["h200", "cuda:sm_80", "a100"])
def test_a_named_gpu(name):
    """Without that GPU: the same text, and the same words when it is called."""
    program = blur().compile(name, extent=(4096, 2048))
    loaded = again(program)
    assert loaded.target == program.target
    assert loaded.source() == program.source()
    assert loaded.passes == program.passes
    for p in (program, loaded):
        with pytest.raises(CallError, match="input 'image' is on the CPU, but the program is compiled for cuda"):
            p(np.zeros((4, 4), np.float32))


def test_passes_and_options_are_kept():
    passes = [Tile("cpu", sizes=(16, 2), threads=(1, 1)) if p.name == "tile" else p for p in standard_passes("cpu")]
    for options in ({"passes": passes}, {"fast_math": True}, {"extent": [640, 480]}, {"strict_float": True}):
        program = blur().compile("cpu", **options)
        assert again(program).source() == program.source()
        assert again(again(program)).ir() == program.ir()
    assert again(blur().compile("cpu", passes=passes)).kernels[0].tile == (16, 2)


def test_errors_name_the_line_of_the_user():
    x = hl.Var("x")
    image, width = hl.ImageParam(hl.UInt(8), 1, "image"), hl.Param(hl.Int(32), "width")
    f = hl.Func("f")
    f[x] = hl.BoundaryConditions.repeat_image(image, [(0, width)])[x]
    loaded = again(hl.Pipeline(f).compile("cpu"))
    with pytest.raises(
        CallError, match=r"test_pickle.py:\d+:1: error: img.boundary repeat_image of 'image' has 0 points"
    ):
        loaded(np.zeros(4, np.uint8), width=0)


def test_outputs_that_are_inputs():
    program = hl.compile(AS_IT_IS, "cpu")
    image = np.random.default_rng(1).random((5, 6), np.float32)
    for got, wanted in zip(again(program)(image), program(image), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_another_process_loads_it(tmp_path):
    program, image = hl.compile(SCALED, "cpu"), np.arange(6, dtype=np.uint8).reshape(2, 3)
    file = tmp_path / "program"
    file.write_bytes(pickle.dumps((program, image)))
    code = "import pickle, sys; p, a = pickle.load(open(sys.argv[1], 'rb')); print(p(a, gain=2.0, offset=3).tolist())"
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(program(image, gain=2.0, offset=3).tolist()), done.stderr
