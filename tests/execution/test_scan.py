"""Recurrences with the last values in registers: random ones, to the bit as the evaluator."""

import random
from dataclasses import dataclass

import numpy as np
import pytest
from emulated_cuda import emulated
from random_programs import passes
from xdsl.parser import Parser
from xdsl.passes import ModulePass

import tilefuse as hl
from tilefuse.analysis.recurrence import Recurrence, recurrence
from tilefuse.analysis.updates import UpdateFacts
from tilefuse.dialects.img.ops import GroupOp, UpdateOp
from tilefuse.execution.across import ACROSS_WIDTH
from tilefuse.execution.scan.attribute import ScanSchedule
from tilefuse.execution.scan.model import CPU_WIDTH
from tilefuse.lowering.prefetch import STEPS_AHEAD
from tilefuse.passes.group_updates import GroupUpdates
from tilefuse.passes.pipeline import new_context, run_passes, standard_passes
from tilefuse.passes.tile import Tile

PICTURE = np.random.default_rng(4).integers(0, 256, (12, 13), dtype=np.uint8)


def _recurrence(seed: int):
    """A Func with one recurrence along a dimension, the arguments of a call, and its schedule by hand."""
    rng, behind = random.Random(seed), random.Random(f"behind {seed}")
    rank = rng.randint(1, 3)
    x = [hl.Var(n) for n in "xyz"[:rank]]
    image, extent = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Param(hl.Int(32), "extent")
    edge = hl.BoundaryConditions.repeat_edge(image)
    along = rng.randrange(rank)
    deep, first = rng.choice([1, 1, 2, 3]), rng.randint(1, 4)
    of_run_time, backwards = rng.random() < 0.4, rng.random() < 0.4
    length = rng.choice([0, 1, 2, 5, 8])
    spans = [(first, extent if of_run_time else length)]
    other = rng.choice([d for d in range(rank) if d != along]) if rank > 1 and rng.random() < 0.3 else None
    if other is not None:
        spans.append((rng.randint(0, 1), rng.choice([1, 2, 4])))
    r = hl.RDom(spans)
    if rng.random() < 0.3:
        r.where(edge[r[0], 2] % 3 != 0)
    step = 11 - r[0] if backwards else r[0] + rng.randint(0, 1)
    sign = 1 if backwards else -1

    def at(shift: int):
        here = [*x]
        here[along] = step + shift
        if other is not None:
            here[other] = r[1]
        return tuple(here)

    beside = next((v for d, v in enumerate(x) if d not in (along, other)), r[0])
    types = [rng.choice([hl.Int(32), hl.UInt(8), hl.Float(32), hl.Float(64)]) for _ in range(rng.choice([1, 1, 2]))]
    f = hl.Func("f")
    start = [hl.cast(t, edge[x[0], x[-1]] + n) for n, t in enumerate(types)]
    f[tuple(x)] = start[0] if len(types) == 1 else tuple(start)

    def value(shift: int, n: int, type):
        found = f[at(shift)]
        return hl.cast(type, found if len(types) == 1 else found[n])

    def new(n: int, type):
        term = value(sign * deep, rng.randrange(len(types)), type)
        if rng.random() < 0.5:
            term = term + value(rng.choice([0, 0, -sign, sign]), n, type)
        return hl.cast(type, term + hl.cast(type, edge[r[0], beside] if rng.random() < 0.7 else r[0]))

    results = [new(n, t) for n, t in enumerate(types)]
    if len(types) == 1 and rng.random() < 0.3:
        f[at(0)] += results[0]
    else:
        f[at(0)] = results[0] if len(types) == 1 else tuple(results)
    arguments = {"image": PICTURE, "sizes": [rng.randint(1, 14) for _ in range(rank)]}
    if of_run_time:
        arguments["extent"] = rng.choice([-1, 0, 1, 2, 7])
    width = rng.choice([1, 3, 8]) if rank > 1 else 1
    threads = [rng.choice([1, 2, 8]), 1, 1][: max(1, rank - 1)]
    tile = Tile(
        shape="scan", sizes=(threads[0] * width, *threads[1:]), threads=tuple(threads),
        vector=1 if width > 1 else rng.choice([1, 2, 4]),
    )  # fmt: skip
    if len(types) > 1 or behind.random() < 0.4:
        return f, arguments, tile
    # what alone reads it, at a point that may be transposed
    finish = hl.Func("finish")
    finish[tuple(x)] = hl.cast(hl.Float(32), f[tuple(behind.sample(x, rank))]) + edge[x[0], x[-1]]
    return finish, arguments, tile


def _update(func) -> UpdateOp:
    return next(op for op in hl.Pipeline(func).to_module().walk() if isinstance(op, UpdateOp))


def _program(func, tile: Tile, target: str, others):
    return hl.Pipeline(func).compile(target, passes=[tile if isinstance(p, Tile) else p for p in others])


def _drawn(seed: int):
    func, arguments, tile = _recurrence(seed)
    if not isinstance(recurrence(UpdateFacts(_update(func))), Recurrence):
        pytest.skip("reads itself in a way that is no recurrence")
    return func, arguments, tile


@pytest.mark.sweep
@pytest.mark.parametrize("seed", [1, 0, *range(2, 12)])  # that of 0 takes long
def test_random_recurrences(seed):
    func, arguments, tile = _drawn(seed)
    expected = hl.Pipeline(func).compile("reference")(**arguments)
    for found in _results(func, arguments, tile):
        for a, b in zip(_listed(found), _listed(expected), strict=True):
            np.testing.assert_array_equal(a, b)


def _results(func, arguments, tile):
    # with what alone reads a recurrence in its kernel, as on GPUs
    others = [GroupUpdates() if isinstance(p, GroupUpdates) else p for p in standard_passes("cpu")]
    yield _program(func, tile, "cpu", others)(**arguments)
    with emulated():
        yield _program(func, tile, "cpu", passes("h200"))(**arguments)


def _listed(found) -> list[np.ndarray]:
    return list(found) if isinstance(found, tuple | list) else [found]


@dataclass(frozen=True)
class _Given(ModulePass):
    """Gives the updates of a pipeline that are recurrences their schedule."""

    name = "given"
    schedule: ScanSchedule

    def apply(self, ctx, op):
        for group in op.walk():
            if isinstance(group, GroupOp) and group.update is not None:
                group.schedule = self.schedule


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(30))
def test_random_staged_recurrences(seed):
    func, arguments, _ = _drawn(seed)
    found = recurrence(UpdateFacts(_update(func)))
    if not found.lines:
        pytest.skip("a single line")
    rng = random.Random(seed)
    threads, unroll = [rng.choice([2, 4, 8]), *[1] * (len(found.lines) - 1)], rng.choice([1, 2, 4])
    schedule = ScanSchedule(
        threads=threads,
        unroll=unroll,
        slice=unroll * rng.randint(1, 2),
        buffers=rng.choice([1, 2, 3]),
        rows=rng.choice([1, 2]),
    )
    expected = hl.Pipeline(func).compile("reference")(**arguments)
    with emulated():
        given = [p for q in passes("h200") for p in ((_Given(schedule), q) if isinstance(q, Tile) else (q,))]
        results = hl.Pipeline(func).compile("cpu", passes=given)(**arguments)
    for a, b in zip(_listed(results), _listed(expected), strict=True):
        np.testing.assert_array_equal(a, b)


def _transposed(seed: int):
    """A recurrence down or up the columns whose kernel stores a stage along rows, the call's arguments, a schedule."""
    rng = random.Random(f"transposed {seed}")
    x, y, z = hl.vars("x y z")
    image, extent = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Param(hl.Int(32), "extent")
    edge = hl.BoundaryConditions.repeat_edge(image)
    deep, first, goes_up = rng.choice([1, 1, 2]), rng.randint(0, 6), rng.random() < 0.5
    count = rng.choice([1, 2, 7, 20])
    type = rng.choice([hl.Int(32), hl.UInt(8), hl.Float(32), hl.Float(64)])
    of_run_time = rng.random() < 0.5
    r = hl.RDom([(first, extent if of_run_time else count)])
    if rng.random() < 0.2:
        r.where(edge[r.x, 2] % 3 != 0)
    step, back = (r.x, -deep) if goes_up else (20 - r.x, deep)
    planes = (z,) if rng.random() < 0.4 else ()
    f, finish = hl.Func("f"), hl.Func("finish")
    f[(x, y, *planes)] = hl.cast(type, edge[x, y])
    here = (x, step, *planes)
    f[here] = hl.cast(type, f[(x, step + back, *planes)] + hl.cast(type, edge[x, step] + (z if planes else 0)))
    value = f[(y, x, *planes)]
    finish[(x, y, *planes)] = value if rng.random() < 0.3 else hl.cast(hl.Float(32), value) + edge[x, y]
    sizes = [rng.randint(1, 23), rng.randint(1, 11), *(2 for _ in planes)]
    mins = [rng.choice([0, -3, 2]), rng.choice([0, 1]), *(0 for _ in planes)]
    arguments = {"image": PICTURE, "sizes": sizes, "mins": {"finish": tuple(mins)}}
    if of_run_time:
        arguments["extent"] = rng.choice([-1, 0, count])
    threads = (1, 1) if planes else (1,)
    return finish, arguments, ScanSchedule(threads=threads, width=rng.choice([2, 3, 8]), slice=rng.randint(1, 9))


@pytest.mark.parametrize("seed", range(40))
def test_random_recurrences_stored_along_rows(seed):
    func, arguments, schedule = _transposed(seed)
    expected = hl.Pipeline(func).compile("reference")(**arguments)
    given = [p for q in standard_passes("cpu") for p in ((_Given(schedule), q) if isinstance(q, Tile) else (q,))]
    program = hl.Pipeline(func).compile("cpu", passes=given)
    assert 'img.group "finish"' not in program.ir("group-updates"), "the stage is stored by the recurrence's kernel"
    np.testing.assert_array_equal(program(**arguments), expected)


def test_search_stores_transposed_lines_by_slices():
    """A filter down the columns of a picture and of its transposition: no read and no store goes across rows."""
    x, y = hl.vars("x y")
    image = hl.ImageParam(hl.Float(32), 2, "image")

    def filtered(source, rows, name):
        f, turned = hl.Func(name), hl.Func(f"turned_{name}")
        r = hl.RDom([(1, rows - 1)])
        f[x, y] = source[x, y]
        f[x, r.x] = hl.f32(0.5) * f[x, r.x - 1] + source[x, r.x]
        turned[x, y] = f[y, x]
        return turned

    last = filtered(filtered(image, image.height(), "down"), image.width(), "across")
    program = hl.Pipeline(last).compile("cpu", strict_float=True)
    text = program.ir("group-updates")
    assert 'img.group "turned' not in text
    assert text.count('img.stage "turned') == 2
    assert program.ir("tile").count("#schedule.scan<threads = [1], width = 64, slice = 64, prefetch = 1>") == 2
    picture = np.random.default_rng(3).random((131, 70), dtype=np.float32)
    expected = hl.Pipeline(last).compile("reference", strict_float=True)(picture)
    np.testing.assert_array_equal(program(picture), expected)


def test_a_number_of_transposed_lines():
    """Where a transposed recurrence is read at one point, by a function without coordinates."""
    x, y, image = *hl.vars("x y"), hl.ImageParam(hl.UInt(8), 2, "image")
    f, turned, one, r = hl.Func("f"), hl.Func("turned"), hl.Func("one"), hl.RDom([(1, 7)])
    f[x, y] = hl.i32(image[x, y])
    f[x, r.x] = f[x, r.x - 1] + image[x, r.x]
    turned[x, y] = f[y, x]
    one[()] = turned[3, 4]
    expected = hl.Pipeline(one).compile("reference")(PICTURE)
    np.testing.assert_array_equal(hl.Pipeline(one).compile("cpu")(PICTURE), expected)


@pytest.mark.parametrize("place", ["plane", "diagonal"])
@pytest.mark.parametrize("transposed", [False, True])
def test_lines_in_a_part_of_a_function(place, transposed):
    """A recurrence over a plane, or a diagonal, of a function: what reads that stores all its other points, too."""
    x, y, z, image = *hl.vars("x y z"), hl.ImageParam(hl.UInt(8), 2, "image")
    f, last, r = hl.Func("f"), hl.Func("last"), hl.RDom([(1, 7)])
    f[x, y, z] = hl.i32(image[x, y]) + z
    at = 1 if place == "plane" else x
    f[x, r.x, at] = f[x, r.x - 1, at] + image[x, r.x]
    last[x, y, z] = (f[y, x, z] if transposed else f[x, y, z]) * 2
    sizes = {"sizes": (8, 8, 3)}
    expected = hl.Pipeline(last).compile("reference")(PICTURE, **sizes)
    np.testing.assert_array_equal(hl.Pipeline(last).compile("cpu")(PICTURE, **sizes), expected)
    with emulated():
        program = hl.Pipeline(last).compile("cpu", passes=passes("h200"))
        np.testing.assert_array_equal(program(PICTURE, **sizes), expected)


@pytest.mark.parametrize("others", ["", "slice = 8, buffers = 2, rows = 2, "])
def test_part_of_lines_of_a_domain(others):
    """All lines of the domain are written, though the results asked for are fewer."""
    x, y = hl.vars("x y")
    image, f = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("f")
    r = hl.RDom([(1, image.height() - 1), (3, 8)])
    f[x, y] = hl.i32(image[x, y])
    f[r.y, r.x] += f[r.y, r.x - 1]
    schedule = Parser(new_context(), f"#schedule.scan<threads = [4], {others}unroll = 4>").parse_attribute()
    with emulated():
        given = [p for q in passes("h200") for p in ((_Given(schedule), q) if isinstance(q, Tile) else (q,))]
        program = hl.Pipeline(f).compile("cpu", passes=given)
        for box in ({"mins": {"f": (8, 7)}, "sizes": (3, 2)}, {"mins": {"f": (0, 0)}, "sizes": (2, 5)}, {}):
            expected = hl.Pipeline(f).compile("reference")(PICTURE, **box)
            np.testing.assert_array_equal(program(PICTURE, **box), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(80))
def test_random_recurrences_on_gpu(seed):
    func, arguments, tile = _drawn(seed)
    expected = hl.Pipeline(func).compile("reference")(**arguments)
    cupy = pytest.importorskip("cupy")
    found = _program(func, tile, "cuda", standard_passes("h200"))(**arguments | {"image": cupy.asarray(PICTURE)})
    for a, b in zip(_listed(found), _listed(expected), strict=True):
        np.testing.assert_array_equal(a.get(), b)


def test_most_draws_are_recurrences():
    kinds = [isinstance(recurrence(UpdateFacts(_update(_recurrence(s)[0]))), Recurrence) for s in range(40)]
    assert sum(kinds) > 25


@pytest.mark.parametrize(("steps", "back"), [(1, 1), (3, 3)])
def test_steps_back_either_way(steps, back):
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Float(32), 2, "image")
    r = hl.RDom([(steps, image.dim(1).extent() - steps)])
    f = hl.Func("f")
    f[x, y] = image[x, y]
    last = image.dim(1).extent() - 1
    f[x, last - r] = f[x, last - r] + f[x, last - r + steps]
    found = recurrence(UpdateFacts(_update(f)))
    assert isinstance(found, Recurrence)
    assert sorted(found.back.values()) == [0, back]
    assert [line.dim for line in found.lines] == [0]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        (lambda f, r, x: f[(r * 2) % 3, x], "reads itself at points other than"),
        (lambda f, r, x: f[r - 9, x], "9 steps back; at most 8"),
        (lambda f, r, x: f[5, x], "reads itself at points other than"),
    ],
)
def test_what_is_no_recurrence(place, reason):
    x, y = hl.Var("x"), hl.Var("y")
    r = hl.RDom([(9, 6)])
    f = hl.Func("f")
    f[x, y] = x + y
    f[r, y] = f[r, y] + place(f, r, y)
    assert reason in recurrence(UpdateFacts(_update(f)))


@pytest.mark.parametrize("target", ["h200", "cpu"])
def test_search_takes_it_for_running_sums(target):
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Float(32), 2, "image")
    r = hl.RDom([(1, image.dim(1).extent() - 1)])
    f = hl.Func("f")
    f[x, y] = image[x, y]
    f[x, r] += f[x, r - 1]
    text = str(run_passes(hl.Pipeline(f).to_module(), standard_passes(target)))
    assert "#schedule.scan<" in text


@pytest.mark.parametrize(("along_rows", "width"), [(True, ACROSS_WIDTH), (False, CPU_WIDTH)])
@pytest.mark.parametrize("lines", [5, 16, 83])
def test_lines_that_read_along_rows_are_few_in_a_loop(along_rows, width, lines):
    """Where their steps are columns of what they read: each line of the cache stays until all of it is read."""
    x, y, image, f = *hl.vars("x y"), hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("f")
    r = hl.RDom([(1, 40)])
    read = (lambda a, b: image[b, a]) if along_rows else (lambda a, b: image[a, b])
    f[x, y] = read(x, y)
    f[x, r.x] = hl.f32(0.75) * f[x, r.x - 1] + read(x, r.x)
    shape = (lines, 41) if along_rows else (41, lines)
    picture = np.random.default_rng(2).integers(0, 9, shape).astype("float32")
    program = hl.Pipeline(f).compile("cpu", strict_float=True)
    expected = hl.Pipeline(f).compile("reference", strict_float=True)
    sizes = {"sizes": (lines, 41)}
    np.testing.assert_array_equal(program(picture, **sizes), expected(picture, **sizes))
    ahead = "" if along_rows else f", prefetch = {STEPS_AHEAD}"
    assert f"scan<threads = [1], width = {width}{ahead}>" in program.source()
