"""Reductions on the CPU and the emulated GPU against the evaluator: types, combiners, shapes, views, predicates."""

import re
import shutil

import numpy as np
import pytest
from emulated_cuda import emulate

import tilefuse as hl
from tilefuse.passes.pipeline import standard_passes
from tilefuse.passes.tile import Tile
from tilefuse.passes.unroll_reductions import UnrollReductions

x, y, k = hl.vars("x y k")
RNG = np.random.default_rng(11)
BYTES, FLOATS = hl.ImageParam(hl.UInt(8), 2, "p"), hl.ImageParam(hl.Float(32), 2, "p")


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.skipif(not shutil.which("g++"), reason="g++"))])
def compiled(request, monkeypatch, tmp_path):
    """Compile Funcs for the CPU, or as for a GPU that is emulated; small pictures, so that few threads run."""

    def make(funcs, extent=(70, 9), **options):
        target = "cpu" if request.param == "cpu" else "h200"
        if request.param == "gpu":
            emulate(monkeypatch, tmp_path)
        by = options.pop("tile", {"shape": "reduce"})
        others = {"tile": Tile(target, extent=extent, **by), "unroll-reductions": UnrollReductions(0, 0)}
        passes = [others.get(p.name, p) for p in standard_passes(target, extent=extent)]
        return hl.Pipeline(funcs).compile("cpu", passes=passes, **options)

    return make


def schedules(program):
    """The schedules of updates."""
    groups = program.ir("tile").split("img.group")[1:]
    return [re.findall(r"schedule (#schedule[^>]*>)", text)[0] for text in groups if "img.update" in text]


def check(program, funcs, *arguments, **options):
    expected = hl.Pipeline(funcs).compile("reference")(*arguments, **options)
    found = program(*arguments, **options)
    many = len(funcs) > 1 or isinstance(found, tuple)
    for a, b in zip(found if many else [found], expected if many else [expected], strict=True):
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=BOUND[a.dtype.itemsize])
        else:
            np.testing.assert_array_equal(a, b)


BOUND = {2: 0.2, 4: 1e-4, 8: 1e-12}
"""Of sums of some hundred terms of one sign."""
TYPES = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "f32", "f64"]


def over(shape, name, t, combine):
    """A reduction of a picture's points: all of them, along rows, or along columns."""
    p = BYTES
    cast = getattr(hl, t)
    f = hl.Func(name)
    at = {"all": (), "rows": (y,), "columns": (x,)}[shape]
    ranges = {"all": [(0, p.width()), (0, p.height())], "rows": [(0, p.width())], "columns": [(0, p.height())]}[shape]
    r = hl.RDom(ranges)
    here = {"all": lambda: p[r.x, r.y], "rows": lambda: p[r.x, y], "columns": lambda: p[x, r.x]}[shape]()
    f[at] = cast(3)
    f[at] = combine(f[at], cast(here))
    return f


OTHERS = {
    "mul": (lambda a, b: a * b, ("u8", "u32", "f64")),
    "min": (hl.min, ("u8", "i16", "f32")),
    "max": (hl.max, ("i8", "u64", "f16")),
    "and": (lambda a, b: a & b, ("u8",)),
    "or": (lambda a, b: a | b, ("i32",)),
    "xor": (lambda a, b: a ^ b, ("u16",)),
}


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("shape", "named"),
    [
        ("all", [("add", t) for t in TYPES]),
        ("rows", [(name, t) for name, (_, types) in OTHERS.items() for t in types]),
        ("columns", [("add", "u8"), ("add", "f64"), ("min", "i16"), ("max", "f16")]),
    ],
    ids=["all", "rows", "columns"],
)
def test_types_and_combiners(compiled, shape, named):
    ways = OTHERS | {"add": (lambda a, b: a + b, ())}
    funcs = [over(shape, f"{name}_{t}", t, ways[name][0]) for name, t in named]
    program = compiled(funcs)
    size = {"all": (), "rows": (9,), "columns": (70,)}[shape]
    photo = RNG.integers(0, 256, (9, 70), dtype=np.uint8)
    check(program, funcs, photo, sizes={f.name(): size for f in funcs})


def sums():
    """A sum of all, of rows and of columns, of floats whose sums have no rounding."""
    p = FLOATS
    every, rows, columns = hl.Func("every"), hl.Func("rows"), hl.Func("columns")
    r, across, down = hl.RDom(p), hl.RDom([(0, p.width())]), hl.RDom([(0, p.height())])
    every[()] = hl.f32(0)
    every[()] += p[r.x, r.y]
    rows[y] = hl.f32(1)
    rows[y] += p[across.x, y]
    columns[x] = hl.f32(2)
    columns[x] += p[x, down.x]
    return [every, rows, columns]


@pytest.mark.sweep
@pytest.mark.parametrize("extent", [(70, 9), (600, 40)])
def test_pictures_of_any_size_and_layout(compiled, extent):
    """Compiled once: sizes that fill no lane, views that lie anywhere, one row, one column."""
    funcs = sums()
    program = compiled(funcs, extent)
    large = RNG.integers(0, 100, (66, 520)).astype(np.float32)
    views = [
        large[:9, :70],
        large[1:8, 3:76],
        large[::9, ::3],
        large[:1, :],
        large[:9, :1],
        large[:3, :5],
        large[8::-1],
    ]
    for view in views:
        found = program(view, sizes={"rows": (view.shape[0],), "columns": (view.shape[1],)})
        np.testing.assert_array_equal(found[0], view.sum(dtype=np.float32))
        np.testing.assert_array_equal(found[1], view.sum(axis=1, dtype=np.float32) + 1)
        np.testing.assert_array_equal(found[2], view.sum(axis=0, dtype=np.float32) + 2)


@pytest.mark.sweep
def test_parts_predicates_tuples_and_boxes(compiled):
    """A domain from parameters, also an empty one; `where` on coordinates and data; two sums; outputs from anywhere."""
    p = BYTES
    n, first = hl.Param(hl.Int(32), "n"), hl.Param(hl.Int(32), "first")
    disk, both, part = hl.Func("disk"), hl.Func("both"), hl.Func("part")
    r = hl.RDom([(-3, 7), (-3, 7)])
    r.where(r.x * r.x + r.y * r.y <= 9)
    around = hl.BoundaryConditions.repeat_edge(p)
    disk[x, y] = hl.u8(255)
    disk[x, y] = hl.min(disk[x, y], around[x + r.x, y + r.y])
    q = hl.RDom([(first, n), (0, p.height())])
    q.where(p[q.x, q.y] > 40)
    both[()] = hl.Tuple(hl.u32(0), hl.u64(7))
    v = hl.u32(p[q.x, q.y])
    both[()] = hl.Tuple(both[()][0] + v, both[()][1] + hl.u64(v * v))
    s = hl.RDom([(first, n)])
    part[y, k] = hl.i32(5)
    part[y, k] += hl.i32(p[s.x, y]) * (k + s.x)
    funcs = [disk, both, part]
    program = compiled(funcs)
    photo = RNG.integers(0, 256, (9, 70), dtype=np.uint8)
    for number, low in ((70, 0), (0, 0), (33, 5), (1, 69), (-2, 3)):
        check(
            program, funcs, photo, n=number, first=low,
            sizes={"disk": (41, 6), "part": (4, 3)}, mins={"disk": (-2, 1), "part": (3, -1)},
        )  # fmt: skip


def test_bools(compiled):
    p = BYTES
    found, every = hl.Func("found"), hl.Func("every")
    r, q = hl.RDom(p), hl.RDom([(0, p.width())])
    found[()] = hl.cast(hl.Bool(), 0)
    found[()] = found[()] | (p[r.x, r.y] > 250)
    every[y] = hl.cast(hl.Bool(), 1)
    every[y] = every[y] & (p[q.x, y] > 2)
    funcs = [found, every]
    program = compiled(funcs)
    for top in (250, 256):
        check(program, funcs, RNG.integers(0, top, (9, 70), dtype=np.uint8), sizes={"every": (9,)})


def test_special_floats(compiled):
    """NaN gives way to numbers in min and max, and signs of zero are those of the order of the domain."""
    p = FLOATS
    r = hl.RDom([(0, p.width())])
    low, high, total = hl.Func("low"), hl.Func("high"), hl.Func("total")
    nan = hl.f32(float("nan"))
    low[y], high[y], total[y] = nan, nan, hl.f32(-0.0)
    low[y] = hl.min(low[y], p[r.x, y])
    high[y] = hl.max(high[y], p[r.x, y])
    total[y] += p[r.x, y]
    funcs = [low, high, total]
    program = compiled(funcs)
    photo = np.full((5, 70), -0.0, np.float32)
    photo[1], photo[2, 3], photo[3, 69], photo[4, 0] = np.nan, np.nan, np.inf, -np.inf
    sizes = {f.name(): (5,) for f in funcs}
    expected = hl.Pipeline(funcs).compile("reference")(photo, sizes=sizes)
    for a, b in zip(program(photo, sizes=sizes), expected, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(np.signbit(program(photo, sizes=sizes)[2][0]), True)


def first_bests():
    """The best of all, of rows and of columns; beside a sum, by a payload that says no place, and with a predicate."""
    p = BYTES
    every, rows, columns, mixed = hl.Func("every"), hl.Func("rows"), hl.Func("columns"), hl.Func("mixed")
    r, across, down, odd = hl.RDom(p), hl.RDom([(0, p.width())]), hl.RDom([(0, p.height())]), hl.RDom(p)
    every[()] = hl.Tuple(*hl.argmax(r, p[r.x, r.y]))
    rows[y] = hl.Tuple(*hl.argmin(across, hl.f32(p[across.x, y])))
    columns[x] = hl.Tuple(*hl.argmax(down, hl.i16(p[x, down.x]) - 128))
    odd.where(p[odd.x, odd.y] % 2 == 1)
    mixed[()] = hl.Tuple(hl.u8(7), hl.u32(0), hl.f64(300))
    old, v = mixed[()], hl.f64(p[odd.x, odd.y])
    mixed[()] = hl.Tuple(
        hl.select(old[2] > v, hl.u8(odd.x * 3 + odd.y), old[0]),
        old[1] + hl.u32(p[odd.x, odd.y]),
        hl.select(old[2] > v, v, old[2]),
    )
    return [every, rows, columns, mixed]


def last_bests():
    """Of all, rows and columns, where there may be no point at all, and what stands there is as bad as can be."""
    p, every, rows = BYTES, hl.Func("every"), hl.Func("rows")
    r, across = hl.RDom(p), hl.RDom([(0, p.width())])
    r.where(p[r.x, r.y] % 4 == 2)
    across.where(p[across.x, y] > 1)
    every[()] = hl.Tuple(hl.i32(-1), hl.u8(0))
    old, v = every[()], p[r.x, r.y]
    every[()] = hl.Tuple(hl.select(v >= old[1], r.x + 1000 * r.y, old[0]), hl.select(v >= old[1], v, old[1]))
    rows[y] = hl.Tuple(hl.i32(-1), hl.i32(2**31 - 1))
    kept, w = rows[y], hl.i32(p[across.x, y])
    rows[y] = hl.Tuple(hl.select(kept[1] < w, kept[0], across.x), hl.select(kept[1] < w, kept[1], w))
    columns, down = hl.Func("columns"), hl.RDom([(0, p.height())])
    down.where(p[x, down.x] != 0)
    columns[x] = hl.Tuple(hl.u8(255), hl.i32(7))
    most, u = columns[x], p[x, down.x] - 2
    columns[x] = hl.Tuple(hl.select(u <= most[0], u, most[0]), hl.select(u <= most[0], down.x, most[1]))
    return [every, rows, columns]


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("bests", "extent"), [(first_bests, (70, 9)), (first_bests, (600, 40)), (last_bests, (600, 40))]
)
def test_the_first_or_last_best(compiled, bests, extent):
    """Of equal values the first in the order of the domain, whichever lanes, warps and blocks find them."""
    funcs = bests()
    program = compiled(funcs, extent)
    assert all("schedule.reduce" in s for s in schedules(program))
    names = {f.name() for f in funcs} & {"rows", "columns"}
    for high, shape in ((256, (9, 70)), (3, (9, 70)), (1, (40, 300)), (2, (1, 5))):
        photo = RNG.integers(0, high, shape, dtype=np.uint8)
        sizes = {f"{f}.{i}": (shape[f == "columns"],) for f in names for i in range(2)}
        check(program, funcs, photo, sizes=sizes)


def joined_tuples():
    """Products of complex numbers; of dual ones where a predicate holds, beside a sum; means and variances of parts."""
    p = BYTES
    product, dual, parts = hl.Func("product"), hl.Func("dual"), hl.Func("parts")
    r, across, down = hl.RDom(p), hl.RDom([(0, p.width())]), hl.RDom([(0, p.height())])
    re, im = hl.i32(p[r.x, r.y]) - 100, hl.i32(p[r.x, r.y]) * r.x + r.y
    product[()] = hl.Tuple(hl.i32(3), hl.i32(-2))
    a, b = product[()]
    product[()] = hl.Tuple(a * re - b * im, a * im + b * re)
    across.where(p[across.x, y] % 3 != 0)
    dual[y] = hl.Tuple(hl.u8(1), hl.i32(0), hl.u8(0))
    first, total, second = dual[y]
    by, slope = p[across.x, y], hl.u8(across.x)
    dual[y] = hl.Tuple(first * by, total + hl.i32(by), first * slope + second * by)
    weight, value, spread = hl.f64(p[x, down.x]) + 1, hl.f64(down.x) / 7, hl.f64(x)
    parts[x] = hl.Tuple(hl.f64(0), hl.f64(0), hl.f64(0))
    count, mean, square = parts[x]
    both, off = count + weight, value - mean
    parts[x] = hl.Tuple(both, mean + off * weight / both, square + spread + off * off * count * weight / both)
    return [product, dual, parts]


@pytest.mark.parametrize("extent", [(70, 9), (600, 40)])
def test_tuples_that_a_rule_joins(compiled, extent):
    """Whichever lanes, warps and blocks join them; of integers to the bit, also where there is no point at all."""
    funcs = joined_tuples()
    program = compiled(funcs, extent)
    assert all("schedule.reduce" in s for s in schedules(program))
    for shape in ((9, 70), (12, 130), (2, 1)):
        photo = RNG.integers(0, 256, shape, dtype=np.uint8)
        sizes = {f"{f}.{i}": (shape[f == "parts"],) for f in ("dual", "parts") for i in range(3)}
        check(program, funcs, photo, sizes=sizes)


def test_the_first_best_of_special_floats(compiled):
    """NaN is never better, nor beaten where it stands first; zeros of both signs are equal."""
    p = FLOATS
    r = hl.RDom([(0, p.width())])
    low, from_nan, latest = hl.Func("low"), hl.Func("from_nan"), hl.Func("latest")
    latest[y] = hl.Tuple(hl.i32(-1), hl.f32(float("inf")))
    last = latest[y]
    latest[y] = hl.Tuple(
        hl.select(p[r.x, y] <= last[1], r.x, last[0]), hl.select(p[r.x, y] <= last[1], p[r.x, y], last[1])
    )
    low[y] = hl.Tuple(*hl.argmin(r, p[r.x, y]))
    from_nan[y] = hl.Tuple(hl.i32(-1), hl.f32(float("nan")))
    old = from_nan[y]
    from_nan[y] = hl.Tuple(hl.select(p[r.x, y] > old[1], r.x, old[0]), hl.select(p[r.x, y] > old[1], p[r.x, y], old[1]))
    funcs = [low, from_nan, latest]
    program = compiled(funcs)
    photo = np.full((5, 70), np.inf, np.float32)
    photo[1], photo[2, 3], photo[3, 40:], photo[3, 50] = np.nan, -np.inf, 0.0, -0.0
    photo[4, ::3] = np.nan
    sizes = {f"{f.name()}.{i}": (5,) for f in funcs for i in range(2)}
    check(program, funcs, photo, sizes=sizes)


def test_the_order_of_floats(compiled):
    """Sums of floats run in order if asked to, or under strict_float; integers and maxima need not."""
    funcs = sums()
    largest = hl.Func("largest")
    p = FLOATS
    r = hl.RDom(p)
    largest[()] = hl.f32(0)
    largest[()] = hl.max(largest[()], p[r.x, r.y])
    for options in ({"tile": {"float_order": True}}, {"tile": {}, "strict_float": True}):
        found = schedules(compiled([*funcs, largest], (1536, 2560), **options))
        assert ["schedule.reduce" not in s for s in found] == [True, True, True, False]


def test_twice_the_same_bits(compiled):
    """Where the picture lies, and how often the program runs, changes no bit."""
    funcs = sums()
    program = compiled(funcs, (600, 40))
    around = RNG.random((40, 601), np.float32)
    picture = np.ascontiguousarray(around[:, 1:])
    sizes = {"rows": (40,), "columns": (600,)}
    first = program(picture, sizes=sizes)
    for again in (picture, around[:, 1:], picture.copy()):
        for a, b in zip(program(again, sizes=sizes), first, strict=True):
            np.testing.assert_array_equal(a, b)


def test_an_unrolled_schedule_of_a_cpu():
    """Written by hand: lanes of one thread, whose rounds are written out."""
    total = over("all", "total", "u32", lambda a, b: a + b)
    scheduled = hl.Pipeline(total).compile("cpu").ir("tile")
    by_hand = "#schedule.reduce<tile = [], threads = [1, 1], vector = 16, unroll = 4, segment = 4>"
    edited = re.sub("#schedule.reduce<[^>]*>", by_hand, scheduled)
    assert by_hand in edited
    photo = RNG.integers(0, 256, (9, 1000), dtype=np.uint8)
    assert hl.compile(edited, target="cpu")(photo) == photo.sum(dtype=np.uint32) + 3


def test_a_long_body_across_on_a_cpu():
    """Points side by side are a loop there, so the body is written once."""
    f, r = hl.Func("f"), hl.RDom([(0, 9)])
    term = hl.u8(x + r.x)
    for n in range(50):
        term = (term ^ hl.u8(n)) * hl.u8(3)
    f[x] = hl.u8(0)
    f[x] += term
    edited = re.sub(
        'f_update" schedule #schedule.[^>]*>',
        'f_update" schedule #schedule.reduce<tile = [256], threads = [1, 1], vector = 256, pure_lanes = 1>',
        hl.Pipeline(f).compile("cpu").ir("tile"),
    )
    check(hl.compile(edited, target="cpu"), [f], sizes=(300,))


@pytest.mark.gpu
@pytest.mark.parametrize("size", [(1536, 2560), (1535, 77), (8192, 1024), (5, 3)])
def test_on_a_gpu(size):
    cupy = pytest.importorskip("cupy")
    funcs = [*sums(), over("all", "bytes", "u32", lambda a, b: a + b)]
    floats, whole = hl.Pipeline(funcs[:3]).compile("cuda"), hl.Pipeline(funcs[3]).compile("cuda")
    width, height = size
    picture = RNG.integers(0, 16, (height, width)).astype(np.float32)
    on_gpu = cupy.asarray(picture)
    sizes = {"rows": (height,), "columns": (width,)}
    exact = (picture.sum(dtype=np.float64), picture.sum(1, dtype=np.float64) + 1, picture.sum(0, dtype=np.float64) + 2)
    first = [cupy.asnumpy(a) for a in floats(on_gpu, sizes=sizes)]
    for a, b in zip(first, exact, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    for _ in range(20):
        for a, b in zip(floats(on_gpu, sizes=sizes), first, strict=True):
            np.testing.assert_array_equal(cupy.asnumpy(a), b)
    bytes = picture.astype(np.uint8)
    assert int(whole(cupy.asarray(bytes))) == 3 + int(bytes.sum(dtype=np.uint64))
