"""Reductions with blocks of points in registers: random ones under random schedules, to the bit as the evaluator."""

import itertools
import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from emulated_cuda import emulated
from random_programs import passes
from xdsl.ir.affine import AffineExpr
from xdsl.passes import ModulePass

import tilefuse as hl
from tilefuse.analysis.machine import machine
from tilefuse.analysis.model import extract
from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.ops import GroupOp, UpdateOp
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.gemm.attribute import GemmSchedule
from tilefuse.execution.gemm.cpu import cpu_schedules
from tilefuse.execution.gemm.features import StagedFeatures, different_places, shared
from tilefuse.execution.gemm.vector_values import vector_values
from tilefuse.passes.inline_windows import InlineWindows
from tilefuse.passes.lower_groups import LowerGroups
from tilefuse.passes.pipeline import run_passes, standard_passes
from tilefuse.passes.tile import Tile
from tilefuse.runtime.compile.specialize import find_pipeline

PICTURE = np.random.default_rng(3).integers(0, 256, (9, 11), dtype=np.uint8)


def _sum(seed: int):
    """A Func with one reduction, the arguments of a call, and the schedule of its update."""
    rng, beside = random.Random(seed), random.Random(f"beside {seed}")
    rank, dims = rng.randint(1, 3), rng.randint(1, 3)
    x = [hl.Var(n) for n in "xyz"[:rank]]
    picture = beside.choice([PICTURE, PICTURE.astype(np.float32)])
    image = hl.ImageParam(hl.UInt(8) if picture is PICTURE else hl.Float(32), 2, "image")
    extent = hl.Param(hl.Int(32), "extent")
    edge = _edge(rng, beside, image)
    of_run_time = rng.random() < 0.4
    spans = [(rng.randint(-2, 2), rng.choice([1, 2, 3, 5] if of_run_time else [0, 1, 2, 3, 5])) for _ in range(dims)]
    r = hl.RDom([(low, extent if of_run_time and not d else n) for d, (low, n) in enumerate(spans)])
    over = [r[d] for d in range(dims)]
    if rng.random() < 0.3:
        r.where(over[0] + x[0] < rng.randint(2, 9))

    def place():
        terms = rng.sample([*x, *over], rng.randint(1, min(3, rank + dims)))
        return sum(terms[1:], terms[0] * rng.choice([1, 1, 2])) + rng.randint(-2, 2)

    def read():
        at = [place(), place()]
        if rng.random() < 0.2:
            at[1] = hl.cast(hl.Int(32), edge[at[0], at[0]]) % 5
        return edge[at[0], at[1]]

    type = rng.choice([hl.Int(32), hl.UInt(16), hl.Float(32), hl.Float(64)])
    term = hl.cast(type, read()) * hl.cast(type, read()) if rng.random() < 0.7 else hl.cast(type, read() + over[0])
    f = hl.Func("f")
    start = rng.randint(0, 3) + (extent if of_run_time else 0)
    f[tuple(x)] = hl.cast(type, start + (edge[x[0], x[-1] + 1] if beside.random() < 0.5 else 0))
    at = tuple(x)
    match rng.choice(["add", "add", "add", "mul", "max", "min"]):
        case "add":
            f[at] += term
        case "mul":
            f[at] *= term
        case "max":
            f[at] = hl.max(f[at], term)
        case "min":
            f[at] = hl.min(f[at], term)
    arguments = {"image": picture, "sizes": [rng.randint(1, 21) for _ in range(rank)]}
    if of_run_time:
        arguments["extent"] = rng.choice([-1, 0, 1, 2, 5])
    threads = [rng.choice([1, 2, 4, 8]), *(rng.choice([1, 2]) for _ in range(rank - 1))]
    points = [rng.choice([1, 2, 3]) for _ in range(rank)]
    sizes = tuple(t * p for t, p in zip(threads, points, strict=True))
    if not next(op for op in hl.Pipeline(f).to_module().walk() if isinstance(op, UpdateOp)).domain:
        pytest.skip("a domain of no points that is known to be one leaves no reduction")
    tile = Tile(shape="gemm", sizes=sizes, threads=tuple(threads), vector=rng.choice([1, 2, 3]))
    if beside.random() < 0.5:
        return f, arguments, tile
    finish = hl.Func("finish")
    finish[at] = hl.cast(beside.choice([hl.Int(16), hl.Float(32)]), f[at]) + hl.cast(hl.Int(16), edge[x[-1], 1])
    return finish, arguments, tile


def _edge(rng: random.Random, beside: random.Random, image: hl.ImageParam):
    """The picture under a boundary; or what is computed of it, as wide as needed, under a boundary for rows alone."""
    kinds = [hl.BoundaryConditions.repeat_edge, hl.BoundaryConditions.mirror_interior]
    make = rng.choice([*kinds, lambda f, *box: hl.BoundaryConditions.constant_exterior(f, 7, *box)])
    if beside.random() < 0.6:
        return make(image)
    wide, i, j = hl.Func("wide"), hl.Var("i"), hl.Var("j")
    wide[i, j] = hl.f32(hl.BoundaryConditions.repeat_edge(image)[i, j]) / 2
    return make(wide, [(hl.Expr(), hl.Expr()), (1, 5)])


def _without_unrolling(passes):
    """The passes, without the one that leaves no update of small sums."""
    return [p for p in passes if p.name != "unroll-reductions"]


def _program(func, tile: Tile, target: str, others):
    chosen = [tile if isinstance(p, Tile) else p for p in _without_unrolling(others)]
    return hl.Pipeline(func).compile(target, passes=chosen)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(12))
def test_random_reductions(seed):
    func, arguments, tile = _sum(seed)
    expected = hl.Pipeline(func).compile("reference")(**arguments)
    np.testing.assert_array_equal(_program(func, tile, "cpu", standard_passes("cpu"))(**arguments), expected)
    with emulated():
        np.testing.assert_array_equal(_program(func, tile, "cpu", passes("h200"))(**arguments), expected)


@dataclass(frozen=True)
class _Given(ModulePass):
    """Gives the update of a pipeline its schedule."""

    name = "given"
    schedule: GemmSchedule

    def apply(self, ctx, op):
        for group in op.walk():
            if isinstance(group, GroupOp) and group.update is not None:
                group.schedule = self.schedule


def _sliced(seed: int):
    """A Func with one reduction, the arguments of a call, and a schedule that stages its operands."""
    func, arguments, tile = _sum(seed)
    rng, domain = random.Random(seed), _update(func).domain
    extents = [integer_constant(d.extent) for d in domain]
    last = rng.choice([d for d in range(len(domain)) if all(extents[:d])])
    threads = tile.threads if max(tile.threads) > 1 else (4, *tile.threads[1:])
    points = [size // n for size, n in zip(tile.sizes, tile.threads, strict=True)]
    points[0] = rng.choice([1, 2, 4])
    zigzag, near = len(threads) > 1 and rng.random() < 0.5, rng.random() < 0.5
    threads = (8, 4, *threads[2:]) if zigzag else threads
    schedule = GemmSchedule(
        threads=threads, zigzag=int(zigzag), points=points, unroll=rng.choice([1, 2, 4]),
        slice=[*extents[:last], rng.randint(1, 4)], adjacent=int(near),
        buffers=rng.choice([1, 2, 3]), vector=rng.choice([v for v in (1, 2, 4) if points[0] % v == 0]),
    )  # fmt: skip
    return func, arguments, _Given(schedule)


def _with(given: _Given, others):
    return [p for q in _without_unrolling(others) for p in ((given, q) if isinstance(q, Tile) else (q,))]


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(30))
def test_random_sliced_reductions(seed):
    func, arguments, given = _sliced(seed)
    expected = hl.Pipeline(func).compile("reference")(**arguments)
    with emulated():
        found = hl.Pipeline(func).compile("cpu", passes=_with(given, passes("h200")))(**arguments)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(60))
def test_random_reductions_on_gpu(seed):
    func, arguments, tile = _sum(seed)
    expected = hl.Pipeline(func).compile("reference")(**arguments)
    cupy = pytest.importorskip("cupy")
    found = _program(func, tile, "cuda", standard_passes("h200"))(
        **arguments | {"image": cupy.asarray(arguments["image"])}
    )
    np.testing.assert_array_equal(found.get(), expected)


@dataclass(frozen=True)
class _Vectors(ModulePass):
    """Gives the update of a group a schedule with sums in vectors, if it may have one."""

    name = "test-vectors"
    rng: random.Random
    schedules: list = field(default_factory=list)

    def apply(self, ctx, op):
        for group in [g for g in op.walk() if isinstance(g, GroupOp) and g.update is not None]:
            rank = len(group.update.pure)
            dim = self.rng.randrange(1, rank) if rank > 1 else None
            lanes, pack = self.rng.choice([2, 4, 8]), self.rng.choice([0, 1, 2, 256])
            points = [lanes * self.rng.choice([1, 2]), *[1] * (rank - 1)]
            if dim is not None:
                points[dim] = self.rng.choice([1, 2, 3])
            repeat = self.rng.choice([1, 2, 5]) if dim is not None else 1
            schedule = GemmSchedule(threads=[1] * rank, points=points, vector=lanes, repeat=repeat, pack=pack)
            values = vector_values(group.update, schedule.rows_dim, bool(pack))
            if not isinstance(values, str):
                if pack and values.shares(group.update, schedule.planes_dim):
                    schedule = schedule.changed(planes=self.rng.choice([1, 2, 3]))
                group.schedule = schedule
                self.schedules.append(schedule)


def _in_vectors(seed: int):
    func, arguments, tile = _sum(seed)
    vectors = _Vectors(random.Random(seed))
    chosen = [
        q
        for p in _without_unrolling(standard_passes("cpu"))
        for q in ((tile, vectors) if isinstance(p, Tile) else (p,))
    ]
    return func, arguments, vectors.schedules, hl.Pipeline(func).compile("cpu", passes=chosen, strict_float=True)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", [1, 8, 3, 35, 43, 18, 20, 21])
def test_random_sums_in_vectors(seed):
    func, arguments, schedules, program = _in_vectors(seed)
    found = program(**arguments)
    assert schedules
    np.testing.assert_array_equal(found, hl.Pipeline(func).compile("reference")(**arguments))


@dataclass(frozen=True)
class _Wide(ModulePass):
    """Gives updates blocks of two vectors of 16, and 3 rows."""

    name = "test-wide"
    pack: int

    def apply(self, ctx, op):
        for group in [g for g in op.walk() if isinstance(g, GroupOp) and g.update is not None]:
            group.schedule = GemmSchedule(threads=[1, 1], points=[32, 3], vector=16, repeat=2, pack=self.pack)


@pytest.mark.parametrize("pack", [0, 4])
def test_few_points_along_x_are_taken_in_narrower_vectors(pack):
    passes = [q for p in standard_passes("cpu") for q in ((p, _Wide(pack)) if isinstance(p, Tile) else (p,))]
    program = hl.Pipeline(_product()).compile("cpu", passes=passes, strict_float=True)
    assert re.search(r"f32x16 block_sums_[^;]*;.*f32x4 block_sums_", program.source(), re.DOTALL)
    rng = np.random.default_rng(0)
    for columns in (70, 35, 31, 16, 15, 5, 4, 3):
        a, b = rng.random((8, 9), np.float32), rng.random((9, columns), np.float32)
        found = program(a, b)
        np.testing.assert_array_equal(found, hl.Pipeline(_product()).compile("reference")(a, b))


@dataclass(frozen=True)
class _Packed(ModulePass):
    """Gives updates of three coordinates blocks of two vectors of 4, and some rows, whose operands are copied first."""

    name = "test-packed"
    pack: int
    rows: int
    planes: int

    def apply(self, ctx, op):
        for group in [g for g in op.walk() if isinstance(g, GroupOp) and g.update is not None]:
            group.schedule = GemmSchedule(
                threads=[1, 1, 1], points=[8, self.rows, 1], vector=4, repeat=2, planes=self.planes, pack=self.pack
            )


def _at_once(pipeline, pack: int, rows: int = 3, planes: int = 1):
    """The program in which operands of `pack` steps are copied at once, and windows are inlined."""
    passes = [InlineWindows(force=True) if isinstance(p, InlineWindows) else p for p in standard_passes("cpu")]
    passes = [q for p in passes for q in ((p, _Packed(pack, rows, planes)) if isinstance(p, Tile) else (p,))]
    return pipeline.compile("cpu", passes=passes, strict_float=True)


@pytest.mark.parametrize(("pack", "planes"), [(2, 1), (3, 2), (7, 1), (12, 3), (64, 4)])
def test_steps_of_all_dimensions_are_copied_at_once(pack, planes):
    c, x, y = hl.Var("c"), hl.Var("x"), hl.Var("y")
    image, weights = hl.ImageParam(hl.Float(32), 3, "image"), hl.ImageParam(hl.Float(32), 4, "weights")
    r = hl.RDom([(0, 3), (0, 2), (0, image.dim(0).extent())])
    sums = hl.Func("sums")
    sums[c, x, y] = 1.0
    sums[c, x, y] += weights[c, r.x, r.y, r.z] * image[r.z, x + r.x, y + r.y]
    program = _at_once(hl.Pipeline(sums), pack=pack, planes=planes)
    assert re.search(r"copy_\[\d+\]\[8\]", program.source())
    assert f"sums_[{6 * planes}][8]" in program.source()
    assert program.source().count("for (idx plane_ = 0;") == (
        0 if planes == 1 else program.source().count("for (idx block_ = 0;")
    )
    rng = np.random.default_rng(pack)
    for channels, width, inputs in ((8, 7, 5), (9, 4, 4), (21, 2, 3), (5, 1, 1), (3, 3, 7)):
        a = rng.random((4, width + 2, inputs), np.float32), rng.random((inputs, 2, 3, channels), np.float32)
        sizes = {"sizes": [channels, width, 3]}
        found = program(*a, **sizes)
        np.testing.assert_array_equal(found, hl.Pipeline(sums).compile("reference")(*a, **sizes))


def _mixed_windows(inputs: int):
    """A window of each channel around each point, zero outside, and a mixture of channels."""
    c, x, y = hl.Var("c"), hl.Var("x"), hl.Var("y")
    image, own = hl.ImageParam(hl.Float(32), 3, "image"), hl.ImageParam(hl.Float(32), 3, "own")
    weights = hl.ImageParam(hl.Float(32), 2, "weights")
    width, height = image.dim(1).extent(), image.dim(2).extent()
    r, k = hl.RDom([(0, 3), (0, 2)]), hl.RDom([(0, inputs)])
    by_channel, mixed, output = hl.Func("by_channel"), hl.Func("mixed"), hl.Func("output")
    near = image[c, hl.clamp(x + r.x - 1, 0, width - 1), hl.clamp(y + r.y - 1, 0, height - 1)]
    inside = (x + r.x >= 1) & (x + r.x <= width) & (y + r.y >= 1)
    by_channel[c, x, y] = 0.5
    by_channel[c, x, y] += own[c, r.x, r.y] * hl.select(inside, near, 0.0)
    mixed[c, x, y] = 1.0
    mixed[c, x, y] += weights[c, k] * by_channel[k, x, y]
    output[c, x, y] = hl.max(mixed[c, x, y], 0.0)
    return hl.Pipeline(output)


@pytest.mark.sweep
@pytest.mark.parametrize(("inputs", "pack"), [(20, 64), (22, 64), (24, 5)])
def test_what_columns_share_is_computed_for_several_steps_at_once(inputs, pack):
    program = _at_once(_mixed_windows(inputs), pack=pack)
    source = program.source()
    assert len(program.kernels) == 1
    assert ("store_f32x4(&side_" in source) == (inputs % 4 == 0 and inputs <= pack)
    rng = np.random.default_rng(inputs)
    for channels, width, height in ((8, 7, 3), (9, 4, 2), (21, 2, 4), (5, 1, 1), (3, 5, 2)):
        a = (
            rng.random((height, width, inputs), np.float32) - np.float32(0.5),
            rng.random((2, 3, inputs), np.float32),
            rng.random((inputs, channels), np.float32) - np.float32(0.5),
        )
        sizes = {"sizes": [channels, width, height]}
        found = program(*a, **sizes)
        np.testing.assert_array_equal(found, _mixed_windows(inputs).compile("reference")(*a, **sizes))


def _mixed_edges(how: str, at: Callable[[Any, Any], Any], inputs: int = 16):
    """A window along y of each channel, beside the middle of a row `at` some place of it, and a mixture of channels."""
    c, x, y = hl.Var("c"), hl.Var("x"), hl.Var("y")
    image, own = hl.ImageParam(hl.Float(32), 3, "image"), hl.ImageParam(hl.Float(32), 2, "own")
    weights = hl.ImageParam(hl.Float(32), 2, "weights")
    bounds = [(hl.Expr(), hl.Expr()), *((image.dim(d).min(), image.dim(d).extent()) for d in (1, 2))]
    conditions = hl.BoundaryConditions
    edge = (
        conditions.constant_exterior(image, 0.25, bounds) if how == "zeros" else getattr(conditions, how)(image, bounds)
    )
    r, k = hl.RDom([(0, 2), (0, 3)]), hl.RDom([(0, inputs)])
    by_channel, mixed = hl.Func("by_channel"), hl.Func("mixed")
    by_channel[c, x, y] = 0.5
    by_channel[c, x, y] += own[c, r.y] * edge[c, at(x, r.x), y + r.y - 1]
    mixed[c, x, y] = 1.0
    mixed[c, x, y] += weights[c, k] * by_channel[k, x, y]
    return hl.Pipeline(mixed)


@pytest.mark.parametrize(
    ("how", "at", "rows"),
    [
        ("zeros", lambda x, r: x + r - 1, 4),
        ("repeat_edge", lambda x, r: 2 * x - r, 3),
        ("mirror_interior", lambda x, r: 3 - x + r, 4),
        ("repeat_image", lambda x, r: x // 2 + 2 * r - 1, 2),
    ],
    ids=["window", "scaled", "turned", "halved"],
)
def test_rows_inside_of_boundaries_ask_for_none(how, at, rows):
    pipeline = _mixed_edges(how, at)
    program = _at_once(pipeline, pack=64, rows=rows)
    assert len(program.kernels) == 1
    pieces = (piece.rpartition(" if (") for piece in program.source().split("} else {\n"))
    inside = [text for _, found, text in pieces if found and "store_f32x4(&side_" in text]
    assert inside
    assert not any(re.search(r"_idx\(|\?", v) for v in inside)
    assert max(v.count("store_f32x4(&side_") for v in inside) == (2 if rows % 2 == 0 else 1)
    rng = np.random.default_rng(rows)
    for width, height in ((13, 4), (8, 2), (5, 7), (4, 1)):
        a = (
            rng.random((height, width, 16), np.float32) - np.float32(0.5),
            rng.random((3, 16), np.float32),
            rng.random((16, 9), np.float32) - np.float32(0.5),
        )
        for low in (0, -3):
            box = {"sizes": [9, 7, 3], "mins": {"mixed": (0, low, low)}}
            np.testing.assert_array_equal(program(*a, **box), pipeline.compile("reference")(*a, **box))


@dataclass(frozen=True)
class _Rows(ModulePass):
    """Gives updates of two coordinates blocks of vectors of 4."""

    name = "test-rows"
    points: tuple[int, int]
    pack: int

    def apply(self, ctx, op):
        for group in [g for g in op.walk() if isinstance(g, GroupOp) and g.update is not None]:
            repeat = 2 if self.pack else 1
            group.schedule = GemmSchedule(threads=[1, 1], points=self.points, vector=4, repeat=repeat, pack=self.pack)


@pytest.mark.parametrize(
    ("how", "at", "points", "pack"),
    [
        ("zeros", lambda x, y, r: (x + r.x - 1, y + r.y - 1), (8, 3), 0),
        ("repeat_edge", lambda x, y, r: (x - 2 * r.x + 3, 2 * y + r.y), (4, 2), 0),
        ("mirror_interior", lambda x, y, r: (x + r.x // 2, r.y - y), (8, 1), 0),
        ("repeat_image", lambda x, y, r: (x + y + r.x - r.y, y // 2), (8, 3), 0),
        ("mirror_image", lambda x, y, r: (x + r.x - 1, y + r.y - 1), (8, 2), 7),
    ],
    ids=["window", "turned", "halved", "slanted", "packed"],
)
def test_vectors_lie_inside_of_boundaries_along_x(how, at, points, pack):
    image, weights = hl.ImageParam(hl.Float(32), 2, "image"), hl.ImageParam(hl.Float(32), 3, "weights")
    conditions, f, x, y = hl.BoundaryConditions, hl.Func("f"), hl.Var("x"), hl.Var("y")
    edge = conditions.constant_exterior(image, 0.25) if how == "zeros" else getattr(conditions, how)(image)
    r = hl.RDom([(0, weights.dim(0).extent()), (0, 3)])
    f[x, y] = 1.0
    f[x, y] += edge[at(x, y, r)] * weights[r.x, r.y, x % 2 if pack else 0]
    passes = [q for p in standard_passes("cpu") for q in ((p, _Rows(points, pack)) if isinstance(p, Tile) else (p,))]
    program = hl.Pipeline(f).compile("cpu", passes=passes, strict_float=True)
    assert re.search(r"= load_f32x4\(&image_\[", program.source())
    rng = np.random.default_rng(pack)
    for width, height, columns in ((31, 9, 3), (12, 4, 2), (7, 5, 1), (3, 2, 5), (13, 6, 0)):
        a = rng.random((height, width), np.float32), rng.random((2, 3, columns or 1), np.float32)[:, :, :columns]
        for box in ({"sizes": [width, height]}, {"sizes": [29, 11], "mins": {"f": (-9, -3)}}):
            np.testing.assert_array_equal(program(*a, **box), hl.Pipeline(f).compile("reference")(*a, **box))


def test_a_window_of_each_channel_is_computed_with_their_mixture_where_that_is_cheaper():
    def kernels(extent):
        return len(_mixed_windows(32).compile("cpu", extent=extent).kernels)

    assert kernels((16, 112, 112)) == 1
    assert kernels((4096, 112, 112)) == 2  # it would be computed anew for each block of channels


@pytest.mark.parametrize("target", ["x86_64_avx2", "x86_64_avx512"])
def test_few_channels_are_one_vector_in_blocks_of_more_rows(target):
    def points(extent):
        passes = standard_passes(target, extent=extent)
        module = run_passes(_mixed_windows(32).to_module(), passes)
        return [op.schedule.points for op in module.walk() if isinstance(op, GroupOp) and op.update is not None][-1]

    lanes = machine(target).vector_bytes // 4
    channels, *rows = points((lanes, 112, 112))
    assert channels == lanes
    assert math.prod(rows) > math.prod(points((4 * lanes, 112, 112))[1:])
    assert 112 % math.prod(rows) < 10


def test_tiles_of_a_thread_have_about_as_many_rows():
    module = run_passes(_mixed_windows(32).to_module(), standard_passes("x86_64_avx512", extent=(64, 112, 112)))
    [schedule] = [op.schedule for op in module.walk() if isinstance(op, GroupOp) and op.update is not None]
    blocks, repeat = -(-112 // schedule.rows), schedule.repeat
    assert -(-blocks // repeat) * repeat - blocks < -(-blocks // repeat)


def _untiled_update(output, target, extent):
    """The only group of an update, as the search finds it, and its facts."""
    before = itertools.takewhile(lambda p: not isinstance(p, Tile), standard_passes(target, extent=extent))
    module = run_passes(hl.Pipeline(output).to_module(), list(before))
    [group] = [op for op in module.walk() if isinstance(op, GroupOp) and op.update is not None]
    return group, GroupFacts.of(group, extract(find_pipeline(module), extent), extent)


def test_tiles_of_few_cores_have_more_rows():
    target = "emerald_rapids"
    _, facts = _untiled_update(_product(), target, (1024, 1024))

    def rows(cores):
        on = replace(machine(target), cores=cores)
        [schedule] = [s for s, _ in cpu_schedules(facts, on) if s.pack and [*s.points] == [64, 6]]
        return schedule.rows * schedule.repeat

    assert rows(2) > 1.5 * rows(16)


def _product():
    x, y = hl.Var("x"), hl.Var("y")
    a, b = hl.ImageParam(hl.Float(32), 2, "a"), hl.ImageParam(hl.Float(32), 2, "b")
    k = hl.RDom([(0, a.dim(0).extent())], "k")
    c = hl.Func("c")
    c[x, y] = 0.0
    c[x, y] += a[k, y] * b[x, k]
    return c


def _update(func) -> UpdateOp:
    module = hl.Pipeline(func).to_module()
    return next(op for op in module.walk() if isinstance(op, UpdateOp))


def test_points_of_a_block_share_operands():
    found = shared(_update(_product()), (4, 8), 2)
    assert found.reads == 4 + 8  # a row of b, a column of a: for each of two steps
    assert found.operations == 4 * 8  # the product is free beside its sum


def test_rows_of_a_window_are_read_once():
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Int(32), 2, "image")
    r = hl.RDom([(0, 4)], "r")
    f = hl.Func("f")
    f[x, y] = 0
    f[x, y] += image[x, y + r]
    assert shared(_update(f), (1, 8), 4).reads == -(-(8 + 4 - 1) // 4)


def _schedule_of_windows(batch: int) -> GemmSchedule:
    """The schedule that the search takes for windows of 3 x 3 of each of 32 channels, with weights of their own."""
    c, x, y, n = (hl.Var(v) for v in "cxyn")
    image, weights = hl.ImageParam(hl.Float(32), 4, "image"), hl.ImageParam(hl.Float(32), 3, "weights")
    r = hl.RDom([(0, 3), (0, 3)], "r")
    f = hl.Func("f")
    f[c, x, y, n] = 0.0
    f[c, x, y, n] += image[c, x + r.x, y + r.y, n] * weights[r.x, r.y, c]
    module = run_passes(hl.Pipeline(f).to_module(), standard_passes("h200", extent=(32, 112, 112, batch)))
    return next(op.schedule for op in module.walk() if isinstance(op, GroupOp) and op.schedule.name == "schedule.gemm")


def test_small_kernels_have_threads_with_more_points():
    """What all multiprocessors copy at once hides no arithmetic: then windows that share more of it take less."""
    small, large = (math.prod(_schedule_of_windows(batch).points) for batch in (4, 256))
    assert small > large


def _staged(**changes) -> float:
    """Microseconds on an H200 of a kernel with a single slice, of 132 blocks unless `changes` say otherwise."""
    counts = dict(
        blocks=132, bytes=1e6, staged_bytes=4096.0, copies=4.0, operations=16.0, loads=2.0, steps=9.0, slices=1.0,
        threads=128, registers=64, shared=4096, parallel=16.0, buffers=1, shares=True,
    )  # fmt: skip
    return StagedFeatures(**{**counts, **changes}).analytical(machine("h200"))


def test_arithmetic_of_small_kernels_hides_behind_nothing():
    more = {"operations": 160.0}
    assert _staged(**more) > 1.5 * _staged()
    assert _staged(bytes=1e9, **more) < 1.05 * _staged(bytes=1e9)


def test_small_kernels_last_as_long_as_the_multiprocessor_with_most_blocks():
    assert _staged(blocks=133) > _staged(blocks=264)


def test_search_takes_blocks_for_a_product_of_matrices():
    module = run_passes(hl.Pipeline(_product()).to_module(), standard_passes("h200", extent=(1024, 1024)))
    text = str(module)
    assert "#schedule.gemm<" in text
    source = str(run_passes(module, [LowerGroups()]))
    assert "memref.alloca" in source


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda f, x, r: f.__setitem__(x, f[x] * 2 + r), "do not only combine"),
        (lambda f, x, r: f.__setitem__(r, f[r] + 1), "no pure coordinates"),
    ],
)
def test_what_is_no_reduction_is_refused(make, reason):
    x, r = hl.Var("x"), hl.RDom([(0, 400)], "r")
    f = hl.Func("f")
    f[x] = 0
    make(f, x, r)
    with pytest.raises(hl.PipelineError, match=reason):
        run_passes(
            hl.Pipeline(f).to_module(),
            [Tile(shape="gemm") if isinstance(p, Tile) else p for p in standard_passes("h200")],
        )


def test_different_places_are_those_that_are_counted_one_by_one():
    x, y, r = (AffineExpr.dimension(n) for n in range(3))
    for exprs in [(x, y), (x + r, y), (x + r, y + r), (x + y, x + y), (x * 2 + 1, r // 2), (x - x, y % 2)]:
        for counts in [(3, 2, 4), (1, 5, 2)]:
            for slots in [(0, 1, 2), (0, None, 2), (None, None, None), (0, 0, 1)]:
                points = itertools.product(*map(range, counts))
                at = ([0 if s is None else p[s] for s in slots] for p in points)
                expected = {tuple(e.eval(a, []) for e in exprs) for a in at}
                assert different_places(exprs, slots, counts) == len(expected)


def test_blocks_of_one_row_are_compared_along_y_alone():
    """A schedule with points along x alone says so, and what they share along z they do not along y."""
    c, x, y = hl.Var("c"), hl.Var("x"), hl.Var("y")
    weights, image = hl.ImageParam(hl.Float(32), 3, "weights"), hl.ImageParam(hl.Float(32), 2, "image")
    r, sums = hl.RDom([(0, 9)]), hl.Func("sums")
    sums[c, x, y] = 0.0
    sums[c, x, y] += hl.exp(weights[c, x, r.x]) * image[r.x, y]
    target, extent = "x86_64_avx512", (64, 640, 640)
    group, facts = _untiled_update(sums, target, extent)
    schedules = [schedule for schedule, _ in cpu_schedules(facts, machine(target))]
    assert any(schedule.rows_dim == 2 for schedule in schedules)
    for schedule in schedules:
        assert not isinstance(vector_values(group.update, schedule.rows_dim, bool(schedule.pack)), str), schedule
