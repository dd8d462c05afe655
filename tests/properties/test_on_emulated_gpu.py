"""Generated CUDA on a CPU, without a GPU: the evaluator's results to the bit, and vectors that lie where they may."""

import shutil

import emulated_cuda
import numpy as np
import pytest
import random_pipelines
import random_subwords
from emulated_cuda import emulate
from guarded_memory import guarded
from random_pipelines import random_pipeline
from random_programs import assert_equal, call, evaluated, passes, warp_tiles
from xdsl.dialects.builtin import UnitAttr
from xdsl.passes import ModulePass

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import SINGLE_WAVE, GroupOp
from tilefuse.execution.warp_tile import pack_subwords
from tilefuse.execution.warp_tile.roll_stages import RollStages
from tilefuse.passes.merge_versions import MergeVersions
from tilefuse.passes.pipeline import lowering_passes
from tilefuse.runtime.program import compile_pipeline

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

SHAPES = ("auto", "block_tile", "warp_tile", "warp_exchange")


@pytest.fixture
def misaligned(monkeypatch, tmp_path):
    return emulate(monkeypatch, tmp_path)


def compiled(module, shape, **options):
    try:
        return compile_pipeline(module, "cpu", strict_float=True, passes=passes("h200", shape=shape, **options))
    except PipelineError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("seed", [9, 45, 17, 41, *range(4)])
@pytest.mark.parametrize("shape", SHAPES)
def test_random_pipelines(seed, shape, misaligned, monkeypatch):
    # pictures as wide as vectors like, and larger than a tile
    monkeypatch.setattr(random_pipelines, "SIZES", [256])
    case = random_pipeline(seed, stages=8)
    assert_equal(call(compiled(case.module, shape), case), evaluated(case), f"seed {seed}, {shape}")
    assert misaligned, "no kernel ran"
    assert not any(misaligned), f"seed {seed}, {shape}: misaligned accesses per kernel {misaligned}"


@pytest.mark.parametrize("seed", range(24))
def test_random_pipelines_of_small_pictures(seed, misaligned):
    """Of any size, outputs that begin anywhere; rows that lie where no vectors do."""
    case = random_pipeline(seed)
    assert_equal(call(compiled(case.module, "auto"), case), evaluated(case), f"seed {seed}")
    assert misaligned, "no kernel ran"
    assert not any(misaligned)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("shape", ["auto", "block_tile"])
def test_random_pipelines_in_two_versions(seed, shape, misaligned, monkeypatch):
    """Tiles at borders, and of rows that lie where no vectors do, in one version, as of long tile bodies."""

    def merged(*, warps):
        return [
            MergeVersions(min_operations=0) if p.name == "merge-versions" else p for p in lowering_passes(warps=warps)
        ]

    monkeypatch.setattr(emulated_cuda, "lowering_passes", merged)
    case = random_pipeline(seed)
    program = compiled(case.module, shape)
    assert_equal(call(program, case), evaluated(case), f"seed {seed}, {shape}")
    assert misaligned, "no kernel ran"
    assert not any(misaligned)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("shape", ["warp_tile", "warp_exchange"])
def test_pairs_in_registers(seed, shape, misaligned):
    pipeline, picture = random_subwords.pipeline(seed)
    program = compiled(pipeline.to_module(), shape, algorithm="all")
    np.testing.assert_array_equal(program(picture), pipeline.compile(target="reference")(picture))
    assert not any(misaligned)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("vector", "stride", "exchange"), [(8, 1, False), (8, 1, True), (8, 2, True), (16, 1, True), (16, 4, False)]
)
def test_pairs_that_lie_closer(seed, vector, stride, exchange, misaligned, monkeypatch):
    """Any distance between the two columns of a register, in aligned rows and others."""

    monkeypatch.setattr(pack_subwords, "best_pair_stride", lambda *of: stride)
    pipeline, picture = random_subwords.pipeline(seed)
    schedule = warp_tiles(vector, 4, rows=6, exchange=exchange)
    try:
        program = pipeline.compile("cpu", passes=schedule, strict_float=True)
        results = [program(picture), program(picture[:, 1:])] if picture.shape[1] > 1 else [program(picture)]
    except PipelineError as error:
        pytest.skip(str(error))
    reference = pipeline.compile(target="reference")
    for first, result in enumerate(results):
        np.testing.assert_array_equal(result, reference(picture[:, first:]))
    assert not any(misaligned)


@pytest.mark.parametrize(("vector", "stride"), [(8, 1), (8, 4), (16, 1), (16, 2)])
def test_pairs_in_a_loop(vector, stride, misaligned, monkeypatch):
    """Steps in a loop that carries packed tiles, which are copied before it."""

    def rolled(*, warps):
        passes = lowering_passes(warps=warps)
        return [RollStages(min_instructions=1, unroll=1) if isinstance(p, RollStages) else p for p in passes]

    monkeypatch.setattr(emulated_cuda, "lowering_passes", rolled)
    monkeypatch.setattr(pack_subwords, "best_pair_stride", lambda *of: stride)
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.UInt(8), 2, "image")
    before, step = image, hl.BoundaryConditions.repeat_edge(image)
    for i in range(6):
        # what is two steps back is read as well: a loop carries both
        following = hl.Func(f"step_{i}")
        following[x, y] = (step[x - 1, y] & step[x + 1, y + 1]) + (step if i < 1 else before)[x, y - 1]
        before, step = step, following
    pipeline = hl.Pipeline(step)
    schedule = warp_tiles(vector, 4, rows=16, exchange=1)
    program = pipeline.compile("cpu", passes=schedule, strict_float=True)
    picture = np.random.default_rng(0).integers(0, 256, (70, 601)).astype(np.uint8)
    np.testing.assert_array_equal(program(picture), pipeline.compile("reference")(picture))
    assert "for (idx k_ = 0; k_ < " in program.source()
    assert not any(misaligned)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("outside", [False, True])
def test_bools_with_a_constant_exterior(shape, outside, misaligned):
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Bool(), 2, "image")
    masked, eroded = hl.BoundaryConditions.constant_exterior(image, outside), hl.Func("eroded")
    eroded[x, y] = (masked[x - 1, y] | masked[x, y + 1]) & masked[x + 2, y - 2]
    picture = np.random.default_rng(0).integers(0, 2, (100, 512)).astype(bool)
    program = compiled(hl.Pipeline(eroded).to_module(), shape)
    np.testing.assert_array_equal(program(picture), hl.Pipeline(eroded).compile(target="reference")(picture))
    assert not any(misaligned)


@pytest.mark.parametrize("element", [hl.UInt(8), hl.UInt(16), hl.Float(32)], ids=str)
@pytest.mark.parametrize("width", [255, 1021])
def test_rows_anywhere_read_to_the_left_alone(element, width, misaligned):
    """What moves over the lanes has a lane behind the last."""
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(element, 2, "image")
    edge, f = hl.BoundaryConditions.repeat_edge(image), hl.Func("f")
    f[x, y] = edge[x - 1, y] + edge[x, y - 1] + edge[x - 2, y + 1]
    pipeline = hl.Pipeline(f)
    dtype = {8: np.uint8, 16: np.uint16, 32: np.float32}[element.bits()]
    picture = np.random.default_rng(0).integers(0, 200, (61, width)).astype(dtype)
    expected = pipeline.compile("reference")(picture)
    forced = warp_tiles(4, 4, rows=6)
    for schedule in (passes("h200", shape="warp_tile"), forced, [*forced, OneWave()]):
        out = np.zeros_like(expected)
        pipeline.compile("cpu", passes=schedule, strict_float=True)(picture, out=out)
        np.testing.assert_array_equal(out, expected)
    assert misaligned, "no kernel ran"
    assert not any(misaligned)


@pytest.mark.parametrize("vector", [4, 8])
def test_planes_that_are_moved(vector, misaligned):
    """Planes whose size is no multiple of a word lie differently, and may be read at another one's place."""
    x, y, c, image = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.ImageParam(hl.UInt(8), 3, "image")
    edge, f = hl.BoundaryConditions.repeat_edge(image), hl.Func("f")
    f[x, y, c] = edge[x - 1, y, c + 1] + edge[x + 2, y - 1, c] + edge[x, y + 1, c]
    f.bound(c, 0, 3)
    pipeline = hl.Pipeline(f)
    schedule = warp_tiles(vector, 4, rows=6)
    picture = np.random.default_rng(0).integers(0, 200, (3, 61, 1021)).astype(np.uint8)
    program = pipeline.compile("cpu", passes=[*schedule, OneWave()], strict_float=True)
    np.testing.assert_array_equal(program(picture), pipeline.compile("reference")(picture))
    assert misaligned, "no kernel ran"
    assert not any(misaligned)


class OneWave(ModulePass):
    """Say of all groups that their blocks are those of a single wave: then tiles at the sides have a version."""

    name = "one-wave"

    def apply(self, ctx, op):
        for group in op.walk():
            if isinstance(group, GroupOp):
                group.attributes[SINGLE_WAVE] = UnitAttr()


@pytest.mark.parametrize("element", [hl.UInt(8), hl.UInt(16), hl.Float(32)], ids=str)
@pytest.mark.parametrize(("vector", "exchange"), [(2, False), (4, True), (8, False), (16, True)])
@pytest.mark.parametrize("later", range(4))
def test_rows_anywhere(element, vector, exchange, later, misaligned):
    """Odd widths, and arrays that begin anywhere; tall enough for warps inside and at the border."""
    if vector * element.bits() > 128:
        pytest.skip("more than 16 bytes to a lane")
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(element, 2, "image")
    outer = hl.BoundaryConditions.constant_exterior if later % 2 else hl.BoundaryConditions.repeat_edge
    around = outer(image, 7) if later % 2 else outer(image)
    rows, both = hl.Func("rows"), hl.Func("both")
    rows[x, y] = around[x - 1, y] + around[x, y] + around[x + 2, y]
    both[x, y] = rows[x, y - 2] + rows[x, y] + rows[x, y + 1]
    pipeline = hl.Pipeline(both)
    schedule = warp_tiles(vector, 4, rows=6, exchange=exchange)
    schedule += [OneWave()] if later < 2 else []
    program = pipeline.compile("cpu", passes=schedule, strict_float=True)
    height, width = 61, 1021
    dtype = {8: np.uint8, 16: np.uint16, 32: np.float32}[element.bits()]
    picture = np.zeros(height * width + later, dtype)[later:].reshape(height, width)
    picture[:] = np.random.default_rng(later).integers(0, 200, picture.shape)
    out = np.zeros(height * width + 16 - later, dtype)[16 - later :].reshape(height, width)
    program(picture, out=out)
    np.testing.assert_array_equal(out, pipeline.compile("reference")(picture))
    assert misaligned, "no kernel ran"
    assert not any(misaligned)
    if later < 2 and 2 < vector and element.bits() * vector >= 32:
        assert "bool x_edge_only" in program.source()


@pytest.mark.parametrize("other", [hl.UInt(8), hl.UInt(16), hl.Float(32)], ids=str)
@pytest.mark.parametrize("outer", ["repeat_edge", "constant_exterior"])
def test_rows_of_two_inputs_anywhere(other, outer, misaligned):
    """Of tiles at the sides one input is loaded as in the interior, and another, read far to both sides, is not."""
    x, y, a, b = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.UInt(8), 2, "a"), hl.ImageParam(other, 2, "b")
    value = () if outer == "repeat_edge" else (3,)
    near, far = (getattr(hl.BoundaryConditions, outer)(image, *value) for image in (a, b))
    out = hl.Func("out")
    out[x, y] = hl.cast(hl.UInt(8), near[x - 1, y] // 2) + hl.cast(hl.UInt(8), far[x - 4, y - 1] + far[x + 4, y + 1])
    pipeline = hl.Pipeline(out)
    schedule = warp_tiles(4, 4, rows=6)
    program = pipeline.compile("cpu", passes=[*schedule, OneWave()], strict_float=True)
    rng = np.random.default_rng(0)
    dtype = {8: np.uint8, 16: np.uint16, 32: np.float32}[other.bits()]
    pictures = rng.integers(0, 200, (61, 1024)).astype(np.uint8)[:, 1:-2], rng.integers(0, 99, (61, 1021)).astype(dtype)
    np.testing.assert_array_equal(program(*pictures), pipeline.compile("reference")(*pictures))
    assert "bool x_edge_only" in program.source()
    assert misaligned, "no kernel ran"
    assert not any(misaligned)


@pytest.mark.parametrize("element", [hl.UInt(8), hl.UInt(16)], ids=str)
@pytest.mark.parametrize("vector", [2, 4, 8, 16])
def test_words_lie_in_the_buffer(element, vector, misaligned):
    """Rows in words, those of border tiles too: no word begins before the buffer, or ends after it."""
    if vector * element.bits() > 128:
        pytest.skip("more than 16 bytes to a lane")
    x, y, c, image = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.ImageParam(element, 3, "image")
    around = hl.BoundaryConditions.repeat_edge(image)
    rows, both = hl.Func("rows"), hl.Func("both")
    rows[x, y, c] = around[x - 1, y, c] + around[x, y, c] + around[x + 2, y, c]
    both[x, y, c] = hl.max(rows[x, y - 2, c] // 3, rows[x, y, c]) + rows[x, y + 1, c]
    both.bound(c, 0, 3)
    pipeline = hl.Pipeline(both)
    schedule = warp_tiles(vector, 4, rows=6, exchange=vector > 4)
    program = pipeline.compile("cpu", passes=schedule, strict_float=True)
    reference = pipeline.compile("reference")
    for height, width in ((1, 9), (2, 5), (3, 33), (30, 241), (61, 1021), (25, 1023)):
        for at_end in (False, True):
            picture, out = (guarded((3, height, width), f"u{element.bytes()}", at_end=at_end) for _ in range(2))
            picture[:] = np.random.default_rng(height).integers(0, 200, picture.shape)
            program(picture, out=out)
            np.testing.assert_array_equal(out, reference(picture))
    assert not any(misaligned)


@pytest.mark.parametrize("shape", SHAPES)
def test_columns_that_are_doubled_and_halved(shape, misaligned):
    """What inlining makes of a picture that was made larger and then smaller."""
    x, y, image, a, b = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.UInt(16), 2, "image"), hl.Func("a"), hl.Func("b")
    edges = hl.BoundaryConditions.repeat_edge(image)
    a[x, y] = edges[x - 1, y] + edges[x + 1, y]
    b[x, y] = a[(2 * x + 3) // 2, (4 * y - 3) // 4] * 3 + a[(x * 2 - 1) // 2, y]
    pipeline = hl.Pipeline(b)
    picture = np.random.default_rng(0).integers(0, 999, (40, 301)).astype(np.uint16)
    schedule = [p for p in passes("h200", shape=shape, algorithm="all") if p.name != "inline-stages"]
    try:
        program = pipeline.compile("cpu", passes=schedule)
    except PipelineError as error:
        pytest.skip(str(error))
    np.testing.assert_array_equal(program(picture), pipeline.compile(target="reference")(picture))
    assert not any(misaligned)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_output_of_fewer_dimensions_than_its_stages(shape, misaligned):
    x, c, image, both, row = hl.Var("x"), hl.Var("c"), hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func(), hl.Func()
    edges = hl.BoundaryConditions.repeat_edge(image)
    both[x, c] = edges[x - 1, c] // 3 + edges[x + 1, c] // 2
    row[x] = both[x - 1, 1] + both[x + 1, 0]
    pipeline = hl.Pipeline(row)
    picture = np.random.default_rng(0).integers(0, 256, (2, 1023)).astype(np.uint8)
    program = compiled(pipeline.to_module(), shape, algorithm="all")
    expected = pipeline.compile(target="reference")(picture)
    np.testing.assert_array_equal(program(picture), expected)
    np.testing.assert_array_equal(pipeline.compile("cpu", passes=passes("cpu", algorithm="all"))(picture), expected)
    assert not any(misaligned)


@pytest.mark.parametrize("first", [-16, -3, 4, 5])
@pytest.mark.parametrize("shape", SHAPES)
def test_outputs_that_begin_elsewhere(shape, first, misaligned):
    """What lies well in an input's columns does not in the output's, and the other way round."""
    x, y, image, both = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("both")
    edges = hl.BoundaryConditions.repeat_edge(image)
    both[x, y] = hl.max(edges[x - 1, y], edges[x + 2, y + 1])
    picture = np.random.default_rng(0).integers(0, 256, (50, 1024)).astype(np.uint8)
    where = {"sizes": {"both": (1024, 40)}, "mins": {"both": (first, 2)}}
    program = compiled(hl.Pipeline(both).to_module(), shape)
    expected = hl.Pipeline(both).compile(target="reference")(picture, **where)
    np.testing.assert_array_equal(program(picture, **where), expected)
    assert not any(misaligned)
