"""Strips of rows on a CPU: random pipelines give the evaluator's results to the bit, however strips are cut."""

import functools
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from random_pipelines import random_pipeline
from random_programs import assert_equal, call, evaluated, passes, pieces
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.dialects.memref import MemRef
from xdsl.dialects.scf import ForOp, Scf
from xdsl.parser import Parser
from xdsl.passes import ModulePass

import tilefuse as hl
from tilefuse.analysis.machine import machine
from tilefuse.analysis.model import extract
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import GroupOp, PipelineOp, StageOp
from tilefuse.execution.across import ACROSS_HEIGHT, ACROSS_WIDTH
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.row_strip.attribute import StripSchedule
from tilefuse.execution.row_strip.cost import (
    OF_SEVERAL,
    SEVERAL_ROWS,
    WIDE,
    _late,
    is_static_better,
    streams_output,
    strip_candidates,
)
from tilefuse.execution.row_strip.features import StripFeatures
from tilefuse.execution.row_strip.loops import loops
from tilefuse.execution.row_strip.model import RowStrip
from tilefuse.execution.row_strip.order import most_alive, order_for_registers
from tilefuse.execution.row_strip.planes import outer_planes
from tilefuse.execution.row_strip.rows import rolling_rows
from tilefuse.passes.group_stages import _Costs
from tilefuse.passes.pipeline import run_passes, standard_passes
from tilefuse.passes.tile import Tile
from tilefuse.runtime.compile.specialize import find_pipeline
from tilefuse.runtime.program import compile_pipeline


@dataclass(frozen=True)
class Strips(ModulePass):
    """Strips of this size wherever they are legal."""

    name = "strips"

    columns: int
    rows: int
    rows_per_loop: int = 1
    streaming_stores: int = 0
    vector_bytes: int = 0
    static: int = 0
    by_planes: int = 0
    """1 for strips that compute all rows of a plane before those of the next, wherever that is legal."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for pipeline in [p for p in op.body.block.ops if isinstance(p, PipelineOp)]:
            model = extract(pipeline)
            for group in [g for g in pipeline.body.block.ops if isinstance(g, GroupOp)]:
                facts = GroupFacts.of(group, model)
                if isinstance(group.output, StageOp) and RowStrip().why_not(facts) is None:
                    deep = [n[1] if n is not None and n[1] <= 16 else 2 for n in facts.bounds[2:]]
                    tile = (self.columns, self.rows, *deep)
                    given = {
                        "rows_per_loop": self.rows_per_loop,
                        "streaming_stores": self.streaming_stores,
                        "vector_bytes": self.vector_bytes,
                        "static": self.static,
                        "by_planes": int(self.by_planes and not isinstance(outer_planes(facts), str)),
                    }
                    group.schedule = StripSchedule(tile=tile, **given)


def small_strips(*size, algorithm="all"):
    return [q for p in passes("cpu", algorithm=algorithm) for q in ([Strips(*size), p] if p.name == "tile" else [p])]


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


SIZES = [(7, 3), (16, 5), (1, 1), (64, 64)]


@pytest.mark.parametrize(("bytes", "rows_per_loop"), [(0, 1), (16, 1), (64, 1), (64, 2)])
def test_rows_end_with_a_vector_that_begins_inside(bytes, rows_per_loop):
    """Rows of less than a vector of bytes, of one, and of several and a part; what lies beside a row stays."""
    image, x, y = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Var("x"), hl.Var("y")
    across, down = hl.Func("across"), hl.Func("down")
    across[x, y] = hl.cast(hl.UInt(8), (hl.cast(hl.UInt(16), image[x, y]) + image[x + 1, y] + image[x + 2, y]) / 3)
    down[x, y] = hl.cast(hl.UInt(8), (hl.cast(hl.UInt(16), across[x, y]) + across[x, y + 1]) / 2)
    module = hl.Pipeline(down).to_module()
    strips = small_strips(512, 8, rows_per_loop, 0, bytes)
    program = compile_pipeline(module, "cpu", strict_float=True, passes=strips, verify=True)
    assert ("part_" in program.source()) == (bytes > 0), "whole vectors are taken where they are known"
    rng = np.random.default_rng(0)
    for width in (1, 2, 15, 16, 17, 31, 63, 64, 65, 127, 128, 130, 191, 513, 600):
        picture = rng.integers(0, 256, (19, width + 2)).astype(np.uint8)
        held = np.full((18, width + 8), 7, np.uint8)
        program(picture, out=held[:, 4 : 4 + width])
        a = picture.astype(np.uint16)
        rows = (a[:, :-2] + a[:, 1:-1] + a[:, 2:]) // 3
        assert np.array_equal(held[:, 4 : 4 + width], (rows[:-1] + rows[1:]) // 2), width
        assert (held[:, :4] == 7).all(), width
        assert (held[:, 4 + width :] == 7).all(), width


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(500, 516))
def test_random_pipelines(seed):
    case, size = (
        random_pipeline(seed, stages=4),
        (*SIZES[seed % len(SIZES)], 1 + seed % 3, seed // 4 % 2, 16 * (seed % 5), 0, seed % 2),
    )
    program = compile_pipeline(case.module, "cpu", strict_float=True, passes=small_strips(*size), verify=True)
    assert_equal(call(program, case), evaluated(case), f"seed {seed}, strips of {size}")


def boxes(count):
    x, y = hl.Var("x"), hl.Var("y")
    current = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.UInt(16), 2, "image"))
    for step in range(count):
        stage = hl.Func(f"box_{step}")
        stage[x, y] = (current[x - 1, y - 1] + current[x, y] + current[x + 1, y + 1]) / 3
        current = stage
    return hl.Pipeline(current)


def narrow_pixels():
    """Sums of pixels in wider numbers, of all widths: what `widen-accesses` loads several of at a time."""
    x, y, outputs = hl.Var("x"), hl.Var("y"), []
    for pixel, wide in ((hl.UInt(8), hl.UInt(16)), (hl.Int(8), hl.Int(16)), (hl.UInt(8), hl.Float(32)),
                        (hl.UInt(16), hl.UInt(32)), (hl.Int(16), hl.Int(32)), (hl.Int(8), hl.Int(32))):  # fmt: skip
        image = hl.ImageParam(pixel, 2, f"{pixel}_{wide}")
        a, b, c = (hl.cast(wide, hl.BoundaryConditions.mirror_image(image)[x + i, y + i // 2]) for i in range(-1, 2))
        f = hl.Func(f"f_{pixel}_{wide}")
        f[x, y] = hl.cast(pixel, hl.abs(a * 3 + b - c) / 5)
        outputs.append(f)
    return hl.Pipeline(outputs)


@pytest.mark.parametrize("divisor", [3, 5, 6, 7, 9, 25, 100, 255, 766])
def test_sums_of_bytes_are_divided(divisor):
    """Every sum of three bytes, by numbers that the upper half of a product divides by, and by one that it does not."""
    image, x, y, mean = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Var("x"), hl.Var("y"), hl.Func("mean")
    total = hl.cast(hl.UInt(16), image[x, y]) + image[x, y + 1] + image[x, y + 2]
    mean[x, y] = hl.cast(hl.UInt(8), total / divisor)
    program = hl.Pipeline(mean).compile("cpu", strict_float=True)
    sums = np.arange(766)
    picture = np.stack([np.minimum(sums, 255), np.clip(sums - 255, 0, 255), np.clip(sums - 510, 0, 255)])
    assert np.array_equal(program(picture.astype(np.uint8))[0], (sums // divisor).astype(np.uint8))
    assert ("upper_u16(" in program.source()) == ((65536 // divisor + 1) * divisor % 65536 * 765 < 65536)


def test_narrow_pixels():
    program = narrow_pixels().compile("cpu", strict_float=True)
    # floats of bytes are made once; bytes as 32-bit integers are computed as those of 16 bits, by one kernel
    assert len(re.findall(r"= load_u\d+\(", program.source())) == 12
    rng = np.random.default_rng(0)
    kinds = ("uint8", "int8", "uint8", "uint16", "int16", "int8")
    for shape in ((3, 71), (5, 2)):
        pictures = [rng.integers(np.iinfo(k).min, np.iinfo(k).max + 1, shape).astype(k) for k in kinds]
        wanted = narrow_pixels().compile("reference")(*pictures)
        for found, right in zip(program(*pictures), wanted, strict=True):
            np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("type", [hl.UInt(8), hl.UInt(16), hl.Float(32)], ids=str)
def test_rows_that_stream_begin_and_end_anywhere(type):
    """Rows of several parts, from any address; bytes are cast from floats in a loop of their own."""
    x, y = hl.Var("x"), hl.Var("y")
    image, total, f = hl.ImageParam(type, 2, "image"), hl.Func("total"), hl.Func("f")
    total[x, y] = hl.cast(hl.Float(32), image[x, y]) + hl.cast(hl.Float(32), image[x, y + 1])
    scaled = (total[x, y] + total[x, y + 1]) * hl.f32(0.37) - hl.f32(20.5)
    f[x, y] = hl.cast(type, scaled if type.is_float() else hl.clamp(scaled, 0.0, 255.0))
    module, rng = hl.Pipeline(f).to_module(), np.random.default_rng(0)
    program = compile_pipeline(module, "cpu", strict_float=True, passes=small_strips(2500, 4, 2, 1, 32), verify=True)
    assert "stream_line(&out" in program.source()
    reference, dtype = hl.Pipeline(f).compile("reference"), "float32" if type.is_float() else f"uint{type.bits()}"
    for width, skipped in ((2601, 0), (2601, 3), (40, 1), (7, 5)):
        picture = rng.integers(0, 256, (11, width)).astype(dtype)
        whole = np.zeros((9, width + skipped + 40), dtype)
        out = whole[:, skipped : skipped + width]
        program(picture, out=out)
        np.testing.assert_array_equal(out, reference(picture))
        out[:] = 0
        assert not whole.any(), "pixels beside the output were written"


def facts_of(pipeline):
    model = extract(find_pipeline(pipeline.to_module()))
    ids = [n.id for n in model.stages]
    return GroupFacts(model, ids, ids[-1], (1536, 2560))


def test_a_stage_keeps_as_many_rows_as_its_reader_reads_however_many_steps_follow():
    facts = facts_of(boxes(6))
    found = [rolling_rows(facts, ())[id] for id in facts.members]
    assert [r.kept for r in found] == [3, 3, 3, 3, 3, 0]
    assert [(r.first, r.last) for r in found] == [(-n, n) for n in (5, 4, 3, 2, 1, 0)]
    assert [r.columns for r in found] == [(-n, n) for n in (5, 4, 3, 2, 1, 0)]


def gradients(other=0, pixel=hl.Float(32)):
    """The product of two differences, of a point's neighbours along x and along y; `other` moves the second one up."""
    x, y = hl.Var("x"), hl.Var("y")
    image, gray = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("gray")
    gray[x, y] = hl.sqrt(image[x, y]) + image[x + 1, y]
    along_x, along_y, f = hl.Func("along_x"), hl.Func("along_y"), hl.Func("f")
    corners = [(gray[x + i, y + j], i, j) for j in (-1, 0, 1) for i in (-1, 0, 1)]
    along_x[x, y] = sum((i + 3) * v for v, i, _ in corners) / hl.f32(3)
    along_y[x, y] = hl.cast(pixel, sum((j + 2) * v for v, _, j in corners) / hl.f32(5))
    f[x, y] = (
        sum(along_x[x + i, y] * along_y[x + 1 - i, y - other] for i in range(2))
        + along_x[x, y + 1] * along_y[x, y + 1 - other]
    )
    return hl.Pipeline(f)


def loops_of(pipeline):
    """The loops of a strip, each by the names of its stages."""
    facts = facts_of(pipeline)
    found = loops(facts.model, rolling_rows(facts, ()), facts.output)
    return [[facts.model.nodes[id].name for id in ids] for ids in found]


def test_stages_that_load_the_same_share_a_loop():
    assert loops_of(gradients()) == [["gray"], ["along_x", "along_y"], ["f"]]


def test_stages_of_other_rows_or_pixels_have_loops_of_their_own():
    apart = [["gray"], ["along_x"], ["along_y"], ["f"]]
    assert loops_of(gradients(other=1)) == apart
    assert loops_of(gradients(pixel=hl.UInt(8))) == apart
    assert loops_of(boxes(3)) == [["box_0"], ["box_1"], ["box_2"]]


def test_rows_begin_with_a_vector():
    facts = facts_of(gradients())
    assert {r.pitch(100) % 16 for r in rolling_rows(facts, (), 1, 64).values()} == {0}
    assert [r.pitch(100) for r in rolling_rows(facts, ()).values()] == [103, 101, 101, 100]


def side_by_side(seed):
    """Stages that read one function around a point, as others do or elsewhere, and their sum."""
    rng = np.random.default_rng(seed)
    x, y = hl.Var("x"), hl.Var("y")
    kinds = [hl.BoundaryConditions.repeat_edge, hl.BoundaryConditions.mirror_image, hl.BoundaryConditions.repeat_image]
    image = hl.ImageParam(hl.Float(32), 2, "image")
    base = hl.Func("base")
    base[x, y] = hl.sqrt(kinds[rng.integers(3)](image)[x, y]) * hl.f32(0.5)
    source = kinds[rng.integers(3)](base, [(0, 30), (0, 20)]) if rng.random() < 0.4 else base
    around = [(i, j) for j in (-1, 0, 1) for i in (-1, 0, 1)]
    stages = []
    for n in range(int(rng.integers(2, 5))):
        stage, extra = hl.Func(f"stage_{n}"), stages[-1][x, y] if stages and rng.random() < 0.3 else hl.f32(0)
        stage[x, y] = sum(source[x + i, y + j] * hl.f32(int(rng.integers(-3, 4))) for i, j in around) + extra
        stages.append(stage)
    last, moved = hl.Func("last"), int(rng.integers(0, 2))
    last[x, y] = sum(f[x - 1, y] * f[x + 1, y + moved] for f in stages)
    return hl.Pipeline(last)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(8))
def test_stages_side_by_side(seed):
    module, size = side_by_side(seed).to_module(), (*SIZES[seed % len(SIZES)], 1 + seed % 2, 0, 32 * (seed % 3))
    program = compile_pipeline(module, "cpu", strict_float=True, passes=small_strips(*size), verify=True)
    picture = np.random.default_rng(seed).random((23, 37), np.float32)
    found, wanted = np.zeros((19, 33), np.float32), np.zeros((19, 33), np.float32)
    program(picture, out=found, mins={"last": (1, -1)})
    compile_pipeline(module, "reference", strict_float=True)(picture, out=wanted, mins={"last": (1, -1)})
    np.testing.assert_array_equal(found, wanted, f"strips of {size}")


def sampled(seed):
    """A chain of steps that take every second point, or come between points, of a boundary or of the step before."""
    rng = np.random.default_rng(seed)
    x, y, c = (hl.Var(name) for name in "xyc")
    deep = (c,) if rng.random() < 0.4 else ()
    kinds = [hl.BoundaryConditions.repeat_edge, hl.BoundaryConditions.mirror_image, hl.BoundaryConditions.repeat_image]
    image = hl.ImageParam(hl.Int(32), 2 + len(deep), "image")
    current = kinds[rng.integers(3)](image)
    for step in range(int(rng.integers(2, 6))):
        stage, how, bounded = hl.Func(f"step_{step}"), rng.integers(5), rng.random() < 0.4
        a, b, d = (int(n) for n in rng.integers(-2, 4, 3))
        places = [
            lambda n: [(2 * x + a, y), (2 * x + b, y + d)],
            lambda n: [(x, 2 * y + a), (x + d, 2 * y + b)],
            lambda n: [(2 * x + a, 2 * y), (2 * x, 2 * y + b)],
            lambda n: [(x // 2 - 1 + 2 * (x % 2), y), (x // 2 + a, y + d)],
            lambda n: [((x + a) // 2, (y + 1) // 2), (x // 2 + (x + 1) % 2, y // 2)],
        ][how](step)
        stage[x, y, *deep] = sum((3 - i) * current[*at, *deep] for i, at in enumerate(places)) // 2
        current = kinds[rng.integers(3)](stage, [(0, 40), (0, 30)]) if bounded and how > 2 else stage
    last = hl.Func("last")
    last[x, y, *deep] = current[x, y, *deep] + 1
    shape = ((2,) if deep else ()) + tuple(int(n) for n in rng.integers(1, 70, 2))
    return (
        hl.Pipeline(last),
        rng.integers(-999, 999, shape).astype(np.int32),
        tuple(int(n) for n in rng.integers(1, 60, 2)),
    )


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(4))
def test_steps_between_scales(seed):
    pipeline, picture, (rows, columns) = sampled(seed)
    out = np.zeros((*picture.shape[:-2], rows, columns), np.int32)
    mins = (-(seed % 3), seed % 2) + (0,) * (picture.ndim - 2)
    found, wanted = out.copy(), out.copy()
    tile = (*SIZES[seed % len(SIZES)], 1 + seed % 2)
    module = pipeline.to_module()
    program = compile_pipeline(module, "cpu", passes=small_strips(*tile), verify=True)
    program(picture, out=found, mins={"last": mins})
    compile_pipeline(module, "reference")(picture, out=wanted, mins={"last": mins})
    np.testing.assert_array_equal(found, wanted, f"strips of {tile}")


def test_stages_of_other_rows_have_no_strips():
    x, y = hl.Var("x"), hl.Var("y")
    image, half, f = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("half"), hl.Func("f")
    half[x, y] = image[x, y] + image[x + 1, y]
    f[x, y] = half[x, y // 2] + half[x, y // 2 + 1]
    assert RowStrip().legal(facts_of(hl.Pipeline(f))) == "'f' reads another stage at fractional points"
    upside_down = hl.Func("upside_down")
    upside_down[x, y] = half[x, -y] + half[x, 1 - y]
    reason = "'half' does not move with the output by whole points"
    assert RowStrip().legal(facts_of(hl.Pipeline(upside_down))) == reason
    g = hl.Func("g")
    g[x] = image[x, 0]
    assert RowStrip().legal(facts_of(hl.Pipeline(g))) == "a strip needs an output with rows"


def test_with_a_row_of_the_output_two_rows_of_what_it_samples_are_computed():
    x, y = hl.Var("x"), hl.Var("y")
    image, whole, f = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("whole"), hl.Func("f")
    whole[x, y] = image[2 * x, y] + image[2 * x + 1, y]
    f[x, y] = whole[x, 2 * y - 1] + whole[x, 2 * y] + whole[x, 2 * y + 2]
    facts = facts_of(hl.Pipeline(f))
    first, last = rolling_rows(facts, ()).values()
    assert (first.first, first.last, list(first.new), first.kept, first.lead) == (-1, 2, [1, 2], 4, 1)
    assert list(last.new) == [0]


def test_strips_by_hand():
    tile = Tile(target="cpu", shape="row_strip", sizes=(40, 7), threads=(1, 1))
    program = boxes(3).compile("cpu", passes=pieces("cpu", tile))
    assert "schedule #schedule.row_strip<tile = [40, 7]>" in program.ir("tile")
    picture = np.random.default_rng(0).integers(0, 999, (61, 93)).astype("uint16")
    np.testing.assert_array_equal(program(picture), boxes(3).compile("reference")(picture))


@pytest.mark.parametrize("step", [2, -3])
def test_columns_that_planes_move_are_loaded_side_by_side(step):
    x, y, z = (hl.Var(n) for n in "xyz")
    f = hl.Func("f")
    edge = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.UInt(8), 2, "image"))
    f[x, y, z] = hl.absd(edge[x, y], edge[x + step * z + 1, y])
    f.bound(z, 0, 5)
    program = hl.Pipeline(f).compile("cpu", passes=small_strips(16, 5))
    picture = np.random.default_rng(0).integers(0, 256, (11, 45)).astype("uint8")
    box = {"sizes": (45, 11, 5), "mins": {"f": (-3, 0, 0)}}
    np.testing.assert_array_equal(program(picture, **box), hl.Pipeline(f).compile("reference")(picture, **box))
    loops = re.findall(r"#pragma omp simd\n( *)for (.*?)\n\1}", program.source(), re.DOTALL)
    assert loops
    assert not any(re.search(r"m(in|ax)_idx\([^;]*x_", line) for _, loop in loops for line in loop.splitlines()[1:])


def test_a_stage_of_fewer_planes_than_its_reader_counts_once_in_each_plane():
    x, y, z = (hl.Var(n) for n in "xyz")
    image, total, each, best = hl.ImageParam(hl.Float(32), 3, "image"), *(hl.Func(n) for n in ("total", "each", "best"))
    total[x, y] = sum(image[x, y, i] * image[x, y, i] for i in range(1, 16))
    each[x, y, z] = image[x, y, z] * total[x, y]
    r = hl.RDom([(0, 32)])
    best[x, y] = hl.f32(0)
    best[x, y] = hl.max(best[x, y], each[x, y, r.x] - each[x + 1, y, r.x])
    on = machine("x86_64_avx2")
    model = extract(find_pipeline(hl.Pipeline(best).to_module()), (1536, 1024))
    of, reader = (next(n.id for n in model.stages if n.name == name) for name in ("total", "each"))
    costs = _Costs(model, on, (1536, 1024), {})
    assert costs.of([of, reader], reader) > 1.5 * (costs.of([of], of) + costs.of([reader], reader))


def picture_of_planes(*, planes, cores=16, cache=300 << 20, returned=True):
    """Return whether a kernel that adds 1 to each point of so many planes stores past the caches."""
    x, y, z = (hl.Var(n) for n in "xyz")
    image, more, most = hl.ImageParam(hl.Float(32), 3, "image"), hl.Func("more"), hl.Func("most")
    more[x, y, z] = image[x, y, z] + 1.0
    more.bound(z, 0, planes)
    most[x, y] = more[x, y, 0] + more[x, y, planes - 1]
    pipeline = hl.Pipeline(more if returned else most)
    model = extract(find_pipeline(pipeline.to_module()), (1024, 1024))
    id = next(n.id for n in model.stages if n.name == "more")
    facts = GroupFacts(model, [id], id, (1024, 1024))
    return streams_output(facts, replace(machine("emerald_rapids"), cores=cores, last_cache_bytes=cache))


@pytest.mark.parametrize(
    ("case", "streams"),
    [
        (dict(planes=14), False),
        (dict(planes=16), True),
        (dict(planes=16, returned=False), False),
        (dict(planes=32, returned=False), True),
        (dict(planes=32, cores=4), False),
        (dict(planes=32, cache=700 << 20), False),
    ],
)
def test_stores_go_past_the_caches_if_nobody_finds_them_there(case, streams):
    """8 MiB in and out for each plane; of 300 MiB a call finds 120 of the last call's, and 240 of its own."""
    assert picture_of_planes(**case) is streams


def test_a_strip_is_one_threads():
    tile = Tile(target="cpu", shape="row_strip", sizes=(64, 8), threads=(32, 1))
    with pytest.raises(PipelineError, match="a strip has one thread; remove threads= and vector="):
        boxes(3).compile("cpu", passes=pieces("cpu", tile))


def test_short_rows_pages_apart_cost_what_is_fetched_ahead_for_nothing():
    assert [_late(1, width, 8192) for width in (256, 512, 1024, 2048, 4096)] == [3584, 3072, 2048, 2048, 4096]
    assert [_late(4, width, 8192) for width in (512, 1024, 2048)] == [2048, 4096, 4096]
    assert _late(1, 512, 4096) == 512
    assert _late(4, 16, 8192) == 64, "so narrow are tiles that read across rows"


def test_few_strips_are_as_many_for_each_core():
    """Memory takes the time, and pictures stay in second caches: OpenMP's loop is a static one then."""
    on = machine("emerald_rapids")
    of = StripFeatures(blocks=2 * on.cores, bytes=1e6, instructions=1e3, kept_bytes=1e3)
    assert is_static_better(of, on)
    for other in ({"blocks": 2 * on.cores + 1}, {"blocks": 9 * on.cores}, {"bytes": 1e12}, {"instructions": 1e9}):
        assert not is_static_better(replace(of, **other), on)
    for static, kind in enumerate(("dynamic", "static")):
        strips = [q for p in passes("cpu") for q in ([Strips(40, 7, static=static), p] if p.name == "tile" else [p])]
        assert f"schedule({kind})" in compile_pipeline(boxes(3).to_module(), "cpu", passes=strips).source()


def test_few_points_are_left_to_one_thread():
    """However many strips they are: a strip may be wider than a small picture."""
    assert re.search(
        r"#pragma omp parallel for .* if\(.*>= 2 && .*_n0_ \* .*_n1_ >= \d+\)", boxes(3).compile("cpu").source()
    )


def sums_of_squares(points):
    """A loop that loads a and b at so many places, then adds up a a, b b and a b."""
    lines = []
    for i in range(points):
        lines += [f"%{n}{i} = memref.load %{n}[%x] : memref<?xf32>" for n in "ab"]
    for name in ("aa", "bb", "ab"):
        for i in range(points):
            lines.append(f"%{name}{i} = arith.mulf %{name[0]}{i}, %{name[1]}{i} : f32")
            before = f"%s{name}{i - 1}" if i > 1 else f"%{name}0"
            lines += [f"%s{name}{i} = arith.addf {before}, %{name}{i} : f32"] if i else []
        lines.append(f"memref.store %s{name}{points - 1}, %{name}[%x] : memref<?xf32>")
    body = "\n".join(lines)
    arguments = ", ".join(f"%{n} : memref<?xf32>" for n in ("a", "b", "aa", "bb", "ab"))
    text = f"""func.func @f({arguments}, %zero : index, %n : index, %one : index) {{
      scf.for %x = %zero to %n step %one {{ {body} }} {{kernel.simd}}
      func.return
    }}"""
    ctx = Context()
    for dialect in (Builtin, Func, Scf, MemRef, Arith):
        ctx.load_dialect(dialect)
    return Parser(ctx, text).parse_module()


def computed(module):
    [loop] = [op for op in module.walk() if isinstance(op, ForOp)]
    return [op for op in loop.body.block.ops if op.results]


def test_what_needs_many_registers_is_computed_in_an_order_that_needs_few():
    module = sums_of_squares(9)
    before = computed(module)
    assert most_alive(before) == 22
    order_for_registers(module.body.block)
    module.verify()
    after = computed(module)
    assert most_alive(after) <= 8
    assert len(after) == len(before)
    assert set(after) == set(before)


def test_what_finds_registers_stays_as_it_is():
    module = sums_of_squares(3)
    before = computed(module)
    order_for_registers(module.body.block)
    assert computed(module) == before


@pytest.mark.parametrize("size", SIZES)
def test_planes_that_data_choose_are_rows_of_the_strip(size):
    """A stage of planes, of which each point reads one that the picture names, stays in the rows of its reader."""
    x, y, t = hl.vars("x y t")
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    edges, planes, out = hl.BoundaryConditions.repeat_edge(photo), hl.Func("planes"), hl.Func("out")
    planes[x, y, t] = hl.sqrt(hl.f32(edges[x, y - t]) * 2 + edges[x - t, y + 1]) + hl.f32(t)
    out[x, y] = planes[x - 1, y, hl.clamp(photo[x, y], 1, 4)] + planes[x + 1, y + 1, hl.clamp(edges[x, y + 1], 0, 3)]
    picture = np.random.default_rng(5).integers(0, 7, (37, 61), dtype=np.uint8)
    kept = [p for p in small_strips(*size) if p.name != "inline-stages"]
    program = hl.Pipeline(out).compile("cpu", passes=kept, strict_float=True)
    assert program.ir("tile").count("img.group") == 1
    assert "rows_planes" in program.source()
    expected = hl.Pipeline(out).compile("reference", strict_float=True)(photo=picture)
    np.testing.assert_array_equal(program(photo=picture), expected)


def test_rows_that_data_choose_are_none_of_a_strip():
    x, y = hl.vars("x y")
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    other, out = hl.Func("other"), hl.Func("out")
    other[x, y] = hl.sqrt(hl.f32(x + y))
    out[x, y] = other[x, hl.clamp(photo[x, y], 0, 4)]
    (pipeline,) = hl.Pipeline(out).to_module().ops
    assert isinstance(pipeline, PipelineOp)
    model = extract(pipeline)
    members = [n.id for n in model.stages]
    assert RowStrip().why_not(GroupFacts(model, members, members[-1])) == (
        "'out' reads another stage at data-dependent columns or rows"
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("box", [{}, {"sizes": (61, 37, 2)}, {"sizes": (61, 37, 1), "mins": {"out": (0, 0, 2)}}])
def test_planes_with_work_in_common_are_one_loop(size, box):
    """Colours that follow from the same sums are computed together, but where a call asks for some of them."""
    x, y, c = hl.vars("x y c")
    photo = hl.ImageParam(hl.Float(32), 2, "photo")
    edges, wide, out = hl.BoundaryConditions.repeat_edge(photo), hl.Func("wide"), hl.Func("out")
    wide[x, y] = hl.sqrt(edges[x - 1, y] + edges[x + 1, y])
    a, b = wide[x, y - 1] * 3 + wide[x, y + 1], hl.sqrt(wide[x + 1, y] * 5 + wide[x - 1, y])
    out[x, y, c] = hl.select(c == 0, a + b, c == 1, a - b * 2, b / (a + 1))
    out.bound(c, 0, 3)
    picture = np.random.default_rng(6).random((37, 61), np.float32)
    program = hl.Pipeline(out).compile("cpu", passes=small_strips(*size), strict_float=True)
    expected = hl.Pipeline(out).compile("reference", strict_float=True)(photo=picture, **box)
    np.testing.assert_array_equal(program(photo=picture, **box), expected)
    loops = program.source().split("#pragma omp simd")
    assert any(loop.count("out_out_[") >= 3 for loop in loops)


def colours_of_columns(planes=3):
    """Maxima of columns of each colour whose height a table says, so that a row of it needs many rows of one colour."""
    x, y, c, t = hl.vars("x y c t")
    photo = hl.ImageParam(hl.Float(32), 3, "photo", layout="planar")
    edges, heights = hl.BoundaryConditions.repeat_edge(photo), hl.Func("heights")
    high, across, out = hl.Func("high"), hl.Func("across"), hl.Func("out")
    heights[x] = 3 - abs(x)
    high[x, y, c, t] = hl.max(edges[x, y - t, c], edges[x, y + t, c])
    across[x, y, c] = hl.sqrt(high[x, y, c, 2] + high[x, y + 1, c, 1])
    places = (high[x + i, y, c, hl.clamp(heights[i], 0, 3)] for i in (-2, -1, 0, 1, 2))
    out[x, y, c] = functools.reduce(hl.max, places, across[x, y - 1, c] + across[x, y + 1, c])
    out.bound(c, 0, planes)
    return hl.Pipeline(out)


@pytest.mark.sweep
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rows_per_loop", [1, 3])
@pytest.mark.parametrize("box", [{}, {"sizes": (61, 37, 1), "mins": {"out": (0, 0, 2)}}])
def test_planes_outside_of_rows(size, rows_per_loop, box):
    """All rows of a colour before those of the next, of all that a call asks for."""
    picture = np.random.default_rng(6).random((3, 37, 61), np.float32)
    strips = small_strips(*size, rows_per_loop, 0, 32, 0, 1)
    kept = [p for p in strips if p.name != "inline-stages"]
    program = colours_of_columns().compile("cpu", passes=kept, strict_float=True, verify=True)
    assert re.search(r"img.group .*by_planes = 1", program.ir("tile"))
    expected = colours_of_columns().compile("reference", strict_float=True)(photo=picture, **box)
    np.testing.assert_array_equal(program(photo=picture, **box), expected)


def test_search_computes_outer_planes_where_they_share_nothing():
    assert "by_planes = 1" in colours_of_columns().compile("cpu", extent=(1536, 1024)).ir("tile")


@pytest.mark.parametrize(
    ("shared", "reason"),
    [
        (lambda photo, grey, x, y, c: grey[x, y], "several planes of it need the same points of 'grey'"),
        (lambda photo, grey, x, y, c: photo[x, y, 2], "several planes of it need the same points of 'photo'"),
        (lambda photo, grey, x, y, c: photo[x, y, 2 - c], "several planes of it need the same points of 'photo'"),
        (lambda photo, grey, x, y, c: photo[2, 1, 0], ""),
    ],
)
def test_planes_that_share_points_do_not_come_in_turn(shared, reason):
    x, y, c = hl.vars("x y c")
    photo = hl.ImageParam(hl.Float(32), 3, "photo", layout="planar")
    grey, out = hl.Func("grey"), hl.Func("out")
    grey[x, y] = photo[x, y, 0] + photo[x, y, 1]
    out[x, y, c] = photo[x, y, c] * shared(photo, grey, x, y, c)
    out.bound(c, 0, 3)
    (pipeline,) = hl.Pipeline(out).to_module().ops
    assert isinstance(pipeline, PipelineOp)
    model = extract(pipeline)
    members = [n.id for n in model.stages]
    found = outer_planes(GroupFacts(model, members, members[-1]))
    assert (found if isinstance(found, str) else "") == reason


def test_planes_apart_are_loops_of_their_own():
    x, y, c = hl.vars("x y c")
    photo = hl.ImageParam(hl.Float(32), 3, "photo", layout="planar")
    out = hl.Func("out")
    out[x, y, c] = hl.sqrt(photo[x, y, c] * 2 + 1)
    out.bound(c, 0, 3)
    program = hl.Pipeline(out).compile("cpu", passes=small_strips(16, 5))
    assert "for (idx z_" in program.source()


def nine_points(squares, steps=4):
    """Sums of nine points of a picture, and of their squares where asked for, which one loop computes."""
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.Float(32), 2, "image"))
    current = image
    for step in range(steps):
        stage = hl.Func(f"sum_{step}")
        places = [current[x + i, y + j] for j in (-1, 0, 1) for i in (-1, 0, 1)]
        stage[x, y] = sum(places[1:], places[0])
        if squares:
            other = hl.Func(f"squares_{step}")
            other[x, y] = sum((p * p for p in places[1:]), places[0] * places[0])
            both = hl.Func(f"both_{step}")
            both[x, y] = hl.sqrt(sum(f[x + i, y + j] for f in (stage, other) for j in (-1, 0, 1) for i in (-1, 0, 1)))
            stage = both
        current = stage
    return hl.Pipeline(current)


@pytest.mark.parametrize("squares", [False, True])
def test_rows_that_share_loads_are_computed_in_a_loop(squares):
    """Fewer of several stages, whose values would find no registers."""
    passes = standard_passes("emerald_rapids", extent=(8192, 8192))
    module = run_passes(nine_points(squares, steps=4 if squares else 12).to_module(), passes)
    found = {int(n) for n in re.findall(r"rows_per_loop = (\d+)", str(module))}
    assert found == {OF_SEVERAL if squares else max(SEVERAL_ROWS[32].counts)}


@pytest.mark.parametrize("target", ["zen3", "emerald_rapids"])
def test_rows_in_a_loop_fit_the_vector_registers(target):
    """Loops hold as many rows as the processor has registers for, and blurs, whose rows are few, some of them."""
    module = run_passes(nine_points(False, steps=4).to_module(), standard_passes(target, extent=(1536, 2560)))
    found = {int(n) for n in re.findall(r"rows_per_loop = (\d+)", str(module))}
    assert found
    assert found <= set(SEVERAL_ROWS[machine(target).vector_registers].counts)


def test_planes_that_data_choose_count_once_per_read():
    """A kernel that chooses a plane for each of its reads reads more planes, but not more than there are."""

    def megabytes(places):
        x, y, z = hl.Var("x"), hl.Var("y"), hl.Var("z")
        planes, choice = hl.ImageParam(hl.Float(32), 3, "planes"), hl.ImageParam(hl.UInt(8), 1, "choice")
        stage, out = hl.Func("stage"), hl.Func("out")
        stage[x, y, z] = planes[x, y, z] * 2
        reads = [stage[x + i, y, hl.clamp(hl.cast(hl.Int(32), choice[i]), 0, 7)] for i in range(places)]
        out[x, y] = sum(reads[1:], reads[0])
        model = extract(find_pipeline(hl.Pipeline(out).to_module()), (1024, 1024))
        output = model.stages[-1].id
        found = strip_candidates(GroupFacts(model, [output], output, (1024, 1024)), machine("zen3"))
        return min(c.features.bytes for c in found) / 2**20

    assert planes_in(megabytes(1)) == 2
    assert planes_in(megabytes(4)) == 5
    assert planes_in(megabytes(20)) == 9


def planes_in(megabytes):
    """Return the planes of 1024 x 1024 floats that are read and written, without halos."""
    return int(megabytes // 4)


def test_short_rows_are_fewer_in_a_loop():
    """Strips of few columns, of a picture that many cores share, have no loops of more rows than registers need."""
    text = str(run_passes(nine_points(False).to_module(), standard_passes("emerald_rapids", extent=(1536, 2560))))
    found = re.findall(r"tile = \[(\d+), \d+\], rows_per_loop = (\d+)", text)
    assert found
    assert all(int(together) <= OF_SEVERAL or int(columns) >= WIDE for columns, together in found)


@pytest.mark.parametrize(("extent", "one"), [((64, 64), True), ((100, 40), True), ((1536, 2560), False)])
def test_a_small_picture_is_one_strip_with_its_halo(extent, one):
    """Other threads would hardly have begun; short rows are computed several at a time, as each waits for stores."""
    module = run_passes(nine_points(False, 12).to_module(), standard_passes("emerald_rapids", extent=extent))
    pipeline = find_pipeline(module)
    model = extract(pipeline, extent)
    for group in (op for op in pipeline.body.block.ops if isinstance(op, GroupOp)):
        schedule = StripSchedule.expect(group.schedule)
        needed = model.nodes[model.node_of[group.output.funcs[0]]].needed
        assert all(size >= n for size, n in zip(schedule.tile_sizes, needed, strict=True)) == one
        assert not one or schedule.rows_per_loop > 1


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("planes", [1, 3])
@pytest.mark.parametrize("size", [(48, 128), (37, 300), (150, 15)])
def test_transpositions_take_few_columns_of_a_plane_at_a_time(dtype, planes, size):
    """Their lines stay in the first cache until all of each is read, which those of other planes would drive out."""
    x, y, c = hl.vars("x y c")
    image, f = hl.ImageParam(hl.UInt(8) if dtype == "uint8" else hl.Float(int(dtype[-2:])), 3, "image"), hl.Func("f")
    f[x, y, c] = image[y, x, c] + image[y, x, c]
    f.bound(c, 0, planes)
    program = hl.Pipeline(f).compile("cpu", extent=size)
    picture = np.random.default_rng(1).integers(0, 99, (planes, *size)).astype(dtype)
    np.testing.assert_array_equal(program(picture), hl.Pipeline(f).compile("reference")(picture))
    low = min(size[1], ACROSS_HEIGHT)
    columns, rows = map(int, re.findall(r"tile = \[(\d+), (\d+)", program.source())[0])
    assert columns == ACROSS_WIDTH
    assert rows >= low
    if planes > 1:
        order = [program.source().index(f"for (idx {name}_ = ") for name in ("z", "s")]
        assert order == sorted(order), "planes are around rows"
