"""Kernels that store several stages: of other shapes than the anchor, read by others too, in boxes of their own."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
import random_pipelines
from emulated_cuda import emulate
from random_pipelines import random_pipeline
from random_programs import assert_equal, call, evaluated, passes

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.dialects.parsing import parse_module
from tilefuse.passes.pipeline import run_passes
from tilefuse.runtime.program import compile_pipeline

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
SHAPES = ("block_tile", "warp_tile", "warp_exchange")
needs_gxx = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def of_picture(rank=2, element=None):
    return hl.ImageParam(element or hl.Float(32), rank, "image")


def gradient():
    i = hl.BoundaryConditions.repeat_edge(of_picture())
    dx, dy, magnitude = hl.Func("dx"), hl.Func("dy"), hl.Func("magnitude")
    dx[x, y] = i[x + 1, y] - i[x - 1, y]
    dy[x, y] = i[x, y + 1] - i[x, y - 1]
    # rows and columns beside its own of one, and no others
    magnitude[x, y] = dx[x, y] * dx[x, y] + dy[x - 1, y + 2] * dy[x - 2, y + 1]
    return [dx, dy, magnitude], {"dx": (97, 61), "dy": (130, 50), "magnitude": (128, 64)}


def half():
    i = hl.BoundaryConditions.repeat_edge(of_picture())
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x, y] = i[x - 1, y] + i[x + 1, y]
    g[x, y] = f[2 * x, 2 * y] + f[2 * x + 1, 2 * y + 1]
    h[x, y] = g[2 * x, 2 * y] - g[2 * x + 2, 2 * y + 1]
    return [f, g, h], {"f": (301, 61), "g": (70, 60), "h": (75, 3)}


def double():
    i = hl.BoundaryConditions.repeat_edge(of_picture())
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = i[x - 1, y] + i[x + 1, y]
    g[x, y] = f[x / 2, y / 2] + f[x / 2 + 1, y / 2]
    return [f, g], {"f": (65, 61), "g": (130, 99)}


def siblings():
    i = hl.BoundaryConditions.repeat_edge(of_picture())
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = i[x - 1, y] + i[x + 1, y]
    g[x, y] = hl.cast(hl.UInt(8), hl.clamp(i[x, y + 1] * 200, 0, 255))
    return [f, g], {"f": (130, 61), "g": (200, 33)}


def half_siblings():
    i = hl.BoundaryConditions.repeat_edge(of_picture())
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = i[x - 1, y] + i[x + 1, y]
    g[x, y] = i[2 * x, 2 * y + 1] * 2
    return [f, g], {"f": (130, 61), "g": (66, 33)}


def transposed():
    i = hl.BoundaryConditions.repeat_edge(of_picture())
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = i[x - 1, y] + i[x + 1, y]
    g[x, y] = f[y, x] + f[y + 1, x]
    return [f, g], {"f": (140, 61), "g": (60, 137)}


def colours():
    i, f, g = of_picture(3), hl.Func("f"), hl.Func("g")
    f[x, y, c] = i[x, y, c] * 2
    f.bound(c, 0, 3)
    g[x, y] = f[x, y, 0] + f[x, y, 1] - f[x, y, 2]
    return [f, g], {"f": (128, 61, 3), "g": (100, 80)}


def plane_of_colours():
    i, f, g = of_picture(3), hl.Func("f"), hl.Func("g")
    f[x, y] = i[x, y, 0] + i[x, y, 1] - i[x, y, 2]
    g[x, y, c] = i[x, y, c] - f[x, y]
    g.bound(c, 0, 3)
    return [f, g], {"f": (128, 80), "g": (100, 61, 3)}


def pairs():
    i = hl.BoundaryConditions.repeat_edge(of_picture())
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = (i[x - 1, y] + i[x + 1, y], hl.cast(hl.Int(16), i[x, y] * 100))
    g[x, y] = f[x, y][0] + f[x, y + 1][1]
    return [f, g], {"f.0": (140, 61), "f.1": (140, 61), "g": (60, 137)}


def steps():
    before, made = hl.BoundaryConditions.repeat_edge(of_picture()), []
    for n in range(5):
        step = hl.Func(f"step_{n}")
        step[x, y] = (before[x - 1, y] + before[x + 1, y + 1]) * 0.5
        made.append(step)
        before = step
    return made, {f"step_{n}": (140, 61 + n) for n in range(5)}


def subwords():
    i = hl.BoundaryConditions.repeat_edge(of_picture(2, hl.UInt(8)))
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x, y] = hl.cast(hl.UInt(8), (hl.cast(hl.UInt(16), i[x - 1, y]) + i[x + 1, y]) / 2)
    g[x, y] = f[x, y - 1] - f[x, y + 1]
    h[x, y] = hl.cast(hl.UInt(16), f[x + 1, y]) * 3
    return [f, g, h], {"f": (140, 61), "g": (141, 61), "h": (140, 61)}


def masked():
    image, f, g = of_picture(), hl.Func("f"), hl.Func("g")
    i = hl.BoundaryConditions.repeat_edge(image)
    f[x, y] = i[x - 1, y] + i[x + 1, y]
    # what is stored is not what is read here
    inside = hl.BoundaryConditions.constant_exterior(f, 7.0, [(3, 90), (2, 40)])
    g[x, y] = inside[x, y] - inside[x + 1, y + 1]
    return [f, g], {"f": (128, 61), "g": (128, 61)}


FOLLOW_ONE_TO_ONE = (gradient, siblings, colours, plane_of_colours, pairs, steps, subwords, masked)
ALL = (*FOLLOW_ONE_TO_ONE, half, double, half_siblings, transposed)


def arrays(found):
    """The arrays of a call's result, tuples in it opened."""
    return [a for part in found for a in arrays(part)] if isinstance(found, tuple) else [found]


def check(definition, program, there=np.asarray):
    """Compare with the evaluator, in rows that lie where vectors may and in others."""
    functions, sizes = definition()
    reference = hl.Pipeline(functions).compile(target="reference")
    rng = np.random.default_rng(0)
    for width in (128, 151):
        shape = (3, 80, width) if definition in (colours, plane_of_colours) else (80, width)
        picture = rng.integers(0, 256, shape).astype(np.uint8)
        if definition is not subwords:
            picture = picture.astype(np.float32) / 255
        found, expected = program(there(picture), sizes=sizes), reference(picture, sizes=sizes)
        for got, wanted in zip(arrays(found), arrays(expected), strict=True):
            np.testing.assert_array_equal(got.get() if hasattr(got, "get") else got, wanted)


def compiled(definition, target, machine, shape="auto"):
    """All in one kernel."""
    chosen = passes(machine, shape=shape, algorithm="all")
    program = hl.Pipeline(definition()[0]).compile(target, passes=chosen, strict_float=True)
    assert len(program.graph().graph["kernels"]) == 1
    return program


@pytest.mark.parametrize("definition", ALL)
def test_one_kernel_on_a_cpu(definition):
    check(definition, compiled(definition, "cpu", "cpu"))


@needs_gxx
@pytest.mark.parametrize("definition", ALL)
def test_one_block_tile(definition, monkeypatch, tmp_path):
    misaligned = emulate(monkeypatch, tmp_path)
    check(definition, compiled(definition, "cpu", "h200", "block_tile"))
    assert misaligned
    assert not any(misaligned)


@needs_gxx
@pytest.mark.parametrize("shape", ["warp_tile", "warp_exchange"])
@pytest.mark.parametrize("definition", FOLLOW_ONE_TO_ONE)
def test_one_warp_tile(definition, shape, monkeypatch, tmp_path):
    misaligned = emulate(monkeypatch, tmp_path)
    check(definition, compiled(definition, "cpu", "h200", shape))
    assert misaligned
    assert not any(misaligned)


@pytest.mark.parametrize("seed", range(12))
def test_random_pipelines_on_a_cpu(seed):
    case = random_pipeline(seed, returned=0.5)
    program = compile_pipeline(case.module, "cpu", strict_float=True, passes=passes("cpu"))
    assert_equal(call(program, case), evaluated(case), f"seed {seed}")


@needs_gxx
@pytest.mark.parametrize("shape", ["auto", *SHAPES])
@pytest.mark.parametrize("seed", range(3))
def test_random_pipelines(seed, shape, monkeypatch, tmp_path):
    misaligned = emulate(monkeypatch, tmp_path)
    monkeypatch.setattr(random_pipelines, "SIZES", [256, 37])
    case = random_pipeline(seed, returned=0.5)
    try:
        chosen = passes("h200", shape=shape, algorithm="both" if shape == "auto" else "all")
        program = compile_pipeline(case.module, "cpu", strict_float=True, passes=chosen)
    except PipelineError as error:
        pytest.skip(str(error))
    assert_equal(call(program, case), evaluated(case), f"seed {seed}, {shape}")
    assert not any(misaligned)


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(40))
def test_random_pipelines_on_a_gpu(seed):
    case = random_pipeline(seed, returned=0.5)
    cupy = pytest.importorskip("cupy")
    program = compile_pipeline(case.module, "cuda", strict_float=True)
    on_gpu = replace(case, inputs={name: cupy.asarray(array) for name, array in case.inputs.items()})
    found = {name: cupy.asnumpy(array) for name, array in call(program, on_gpu).items()}
    assert_equal(found, evaluated(case), f"seed {seed}")


@pytest.mark.gpu
@pytest.mark.parametrize("definition", ALL)
def test_one_block_tile_on_a_gpu(definition):
    check(definition, compiled(definition, "cuda", "h200", "block_tile"), pytest.importorskip("cupy").asarray)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", ["warp_tile", "warp_exchange"])
@pytest.mark.parametrize("definition", FOLLOW_ONE_TO_ONE)
def test_one_warp_tile_on_a_gpu(definition, shape):
    check(definition, compiled(definition, "cuda", "h200", shape), pytest.importorskip("cupy").asarray)


@pytest.mark.parametrize("first", [0, 1000])
def test_a_stored_stage_that_a_call_does_not_need(first):
    """All reads of `f` fall outside of a box then; the kernel that stores it and another output runs all the same."""
    image, at = of_picture(), hl.Param(hl.Int(32), "at")
    i = hl.BoundaryConditions.repeat_edge(image)
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x, y] = hl.sqrt(i[x - 1, y]) + hl.sqrt(i[x + 1, y])
    h[x, y] = i[x, y - 1] + i[x, y + 1]
    inside = hl.BoundaryConditions.constant_exterior(f, 7.0, [(at, 10), (0, 50)])
    g[x, y] = inside[hl.cast(hl.Int(32), hl.clamp(i[x, y] * 30, 0, 30)), y]
    pipeline = hl.Pipeline([h, g])
    program = pipeline.compile("cpu", passes=passes("cpu", algorithm="all"), strict_float=True)
    picture = np.random.default_rng(0).random((50, 70), dtype=np.float32)
    found, expected = program(picture, at=first), pipeline.compile("reference")(picture, at=first)
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert 'img.stage "f"' in program.ir("group-stages")
    assert program.ir("group-stages").count("img.group") == 2


@pytest.mark.parametrize("interleaved", [False, True])
def test_an_output_that_others_read_goes_straight_to_the_callers_array(interleaved):
    """One kernel has all that reads it, so no temporary that is larger is needed, but where it would lie otherwise."""
    image, f, g = of_picture(3), hl.Func("f"), hl.Func("g")
    i = hl.BoundaryConditions.repeat_edge(image, [(0, image.width()), (0, image.height())])
    f[x, y, c] = i[x, y, c] * 2
    f.bound(c, 0, 3)
    g[x, y] = f[x - 1, y, 0] + f[x + 1, y, 1]
    pipeline = hl.Pipeline([f, g])
    program = pipeline.compile("cpu", passes=passes("cpu", algorithm="all"), strict_float=True)
    picture = np.random.default_rng(0).random((50, 70, 3) if interleaved else (3, 50, 70), dtype=np.float32)
    found, expected = program(picture), pipeline.compile("reference")(picture)
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_all_that_a_group_yields_is_kept_by_printing_and_parsing():
    module = run_passes(hl.Pipeline(gradient()[0]).to_module(), passes("h200"))
    (group,) = (op for op in module.walk() if isinstance(op, GroupOp))
    assert [s.sym_name.data for s in group.stored] == ["dx", "dy", "magnitude"]
    assert group.anchor.sym_name.data == "magnitude"
    assert str(parse_module(str(module))) == str(module)


def test_outputs_far_apart_have_kernels_of_their_own():
    """Tiles that cover both boxes would go over 25 million points to store twelve."""
    x, y = hl.vars("x y")
    image, f, g = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("f"), hl.Func("g")
    edge = hl.BoundaryConditions.repeat_edge(image)
    f[x, y] = edge[x, y] + edge[x + 1, y]
    g[x, y] = edge[x, y] * edge[x + 1, y]
    program = hl.Pipeline([f, g]).compile("cpu", passes=passes("cpu", algorithm="all"))
    picture = np.arange(12, dtype=np.float32).reshape(3, 4)
    for far, kernels in ((1, 1), (5000, 2)):
        found = program(picture, sizes=(3, 2), mins={"f": (0, 0), "g": (far, far)})
        expected = hl.Pipeline([f, g]).compile("reference")(picture, sizes=(3, 2), mins={"f": (0, 0), "g": (far, far)})
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
        assert len(program._last.plan.launches) == kernels
