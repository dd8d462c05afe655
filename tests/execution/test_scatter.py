"""The execution model `scatter` against the evaluator: on the CPU, and its CUDA text on the emulated GPU."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from emulated_cuda import emulate

import tilefuse as hl
from tilefuse.analysis.machine import machine
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.execution.scatter.search import blocks_of_a_point
from tilefuse.passes.pipeline import standard_passes
from tilefuse.passes.tile import Tile

LARGE = (8192, 8192)
x, y, z = hl.Var("x"), hl.Var("y"), hl.Var("z")
RNG = np.random.default_rng(11)
PHOTO = RNG.integers(0, 256, (37, 210), dtype=np.uint8)
TARGETS = ["cpu", pytest.param("emulated", marks=pytest.mark.skipif(not shutil.which("g++"), reason="needs g++"))]


def passes(target, extent=LARGE, shape="scatter"):
    """The standard ones, with updates by this model as for large pictures, which give blocks much to do."""
    return [
        Tile(target=target, shape=shape, extent=extent) if p.name == "tile" else p
        for p in standard_passes(target, extent=extent)
    ]


@pytest.fixture(params=TARGETS)
def agrees(request, monkeypatch, tmp_path):
    """Check the results of a Func against the evaluator's; give the schedules of its updates."""
    is_gpu = request.param == "emulated"
    if is_gpu:
        emulate(monkeypatch, tmp_path)

    def check(f, *calls, shape="scatter", extent=LARGE):
        program = hl.Pipeline(f).compile(
            "cpu", passes=passes("h200" if is_gpu else "cpu", extent, shape), strict_float=True
        )
        reference = hl.Pipeline(f).compile("reference", strict_float=True)
        for images, options in calls:
            found, expected = program(*images, **options), reference(*images, **options)
            for a, b in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
                np.testing.assert_array_equal(a, b)
        return [line for line in program.ir("validate-occupancy").split("\n") if "#schedule.scatter" in line]

    return check


def photo(bits=8, rank=2):
    return hl.ImageParam(hl.UInt(bits), rank, name="photo")


def histogram(p, index, bins, type=hl.u32, r=None):
    h, r = hl.Func("h"), r or hl.RDom(p)
    h[x] = type(x)
    h[index(p, r)] += type(1)
    return h.bound(x, 0, bins) if bins else h


@pytest.mark.sweep
def test_histogram(agrees):
    """Rows of any length, and that begin anywhere: runs of a vector, and points one by one."""
    h = histogram(photo(), lambda p, r: p[r.x, r.y], 256)
    parts = (PHOTO, PHOTO[3:, 5:], PHOTO[:, ::3], PHOTO[:1, :3], PHOTO[:9, :192].copy(), PHOTO[:0])
    [schedule] = agrees(h, *(([part], {"sizes": (256,)}) for part in parts))
    assert "copies = 32, points = 16" in schedule or "copies = 4, points = 256" in schedule


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["repeat_edge", "mirror_image", "mirror_interior", "repeat_image"])
def test_points_inside_of_edges_and_beyond(agrees, kind):
    """Rows of the domain that lie inside of the picture, reach beyond it, or lie outside."""
    p, f = photo(), hl.Func("f")
    edged, r = getattr(hl.BoundaryConditions, kind)(p), hl.RDom([(-9, 700), (-2, 45)])
    f[x] = hl.u32(0)
    f[edged[r.x + 2, r.y] / 2 + edged[r.x - 3, r.y + 1] / 2] += hl.u32(edged[2 * r.x, r.y])
    wide = np.random.default_rng(5).integers(0, 256, (40, 600), dtype=np.uint8)
    agrees(f, *(([part], {"sizes": (256,)}) for part in (PHOTO, wide, wide[:, :5].copy())))


@pytest.mark.sweep
def test_points_inside_of_an_exterior(agrees):
    p, f = photo(), hl.Func("f")
    edged, r = hl.BoundaryConditions.constant_exterior(p, hl.u8(7)), hl.RDom([(-9, 700), (-2, 45)])
    f[x] = hl.u32(0)
    f[edged[r.x + 2, r.y]] += hl.u32(edged[r.x - 3, r.y + 1])
    wide = np.random.default_rng(5).integers(0, 256, (40, 600), dtype=np.uint8)
    agrees(f, *(([part], {"sizes": (256,)}) for part in (PHOTO, wide)))


@pytest.mark.sweep
def test_part_of_the_table_is_asked_for(agrees):
    h = histogram(photo(), lambda p, r: p[r.x, r.y], None)
    agrees(h, ([PHOTO], {"sizes": (40,), "mins": {"h": (100,)}}), ([PHOTO], {"sizes": (300,), "mins": {"h": (-10,)}}))


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("type", "way"),
    [
        *(("u32", way) for way in ("add", "min", "max")),
        *(("i64", way) for way in ("add", "min", "max", "and", "or", "xor")),
        ("i32", "max"),
        ("u64", "min"),
    ],
)
def test_types_and_combiners(agrees, type, way):
    p, f, r = photo(), hl.Func("f"), hl.RDom([(2, 150), (1, 30)])
    cast = getattr(hl, type)
    value = cast(p[r.x, r.y]) * cast(0x1234567) - cast(p[r.x + 1, r.y])
    f[x] = cast(x) - cast(20)
    at = hl.i32(p[r.x - 1, r.y]) / 4
    old = f[at]
    f[at] = {
        "add": lambda: old + value,
        "min": lambda: hl.min(old, value),
        "max": lambda: hl.max(value, old),
        "and": lambda: old & value,
        "or": lambda: old | value,
        "xor": lambda: old ^ value,
    }[way]()
    agrees(f, ([PHOTO], {"sizes": (64,)}))


@pytest.mark.sweep
def test_predicates_on_data_and_tuples(agrees):
    p, f, r = photo(), hl.Func("f"), hl.RDom([(0, 200), (0, 37)])
    r.where((p[r.x, r.y] > 40) & (r.x != r.y))
    f[x] = (hl.u32(0), hl.i64(1) << 40)
    at = p[r.x + 3, r.y] % hl.u8(10)
    old = f[at]
    f[at] = (old[0] + hl.u32(p[r.x, r.y]), hl.min(old[1], hl.i64(r.x) - hl.i64(r.y)))
    agrees(f, ([PHOTO], {"sizes": (10,)}))


def test_extents_of_a_call(agrees):
    """Params decide the domain: nothing is compiled again, and an empty one leaves all as it is."""
    n, first = hl.Param(hl.Int(32), "n"), hl.Param(hl.Int(32), "first")
    p = photo()
    h = histogram(p, lambda p, r: p[r.x, r.y], 256, r=hl.RDom([(first, n), (1, 20)]))
    calls = [
        ([PHOTO], {"sizes": (256,), "n": count, "first": low}) for count, low in ((150, 3), (0, 3), (-4, 0), (1, 9))
    ]
    agrees(h, *calls)


@pytest.mark.sweep
def test_pure_coordinates_have_blocks_of_their_own(agrees):
    p, h, r = photo(rank=3), hl.Func("h"), hl.RDom([(0, 64), (0, 11)])
    h[z, x, y] = hl.u32(0)
    h[z, p[r.x, r.y, z] / hl.u8(16), y] += hl.u32(y + 1)
    pictures = RNG.integers(0, 256, (3, 11, 64), dtype=np.uint8)
    schedules = agrees(
        h, ([pictures], {"sizes": (3, 16, 4)}), ([pictures], {"sizes": (2, 16, 1), "mins": {"h": (1, 0, 5)}})
    )
    assert schedules


def test_tables_of_two_dimensions(agrees, request):
    """A joint histogram, larger than what static arrays may take on a GPU; and rows read at different offsets."""
    a, b, h = photo(), hl.ImageParam(hl.UInt(8), 2, name="other"), hl.Func("h")
    r = hl.RDom([(0, a.width() - 20), (0, a.height() - 2)])
    h[x, y] = hl.u32(0)
    h[a[r.x, r.y] / hl.u8(2), b[r.x + 5, r.y + 1]] += hl.u32(1)
    other = RNG.integers(0, 256, (40, 200), dtype=np.uint8)
    [schedule] = agrees(h, ([PHOTO, other], {"sizes": (128, 256)}))
    if "emulated" in request.node.name:
        assert "copies = 1" in schedule
        assert "131072 shared bytes" in schedule


@pytest.mark.sweep
def test_places_without_a_table(agrees):
    """Where no size is known all goes to memory: a picture turned around, sums along a line, indices of 16 bits."""
    p, f, r = photo(), hl.Func("f"), hl.RDom([(0, 200), (0, 37)])
    f[x, y] = hl.i32(0)
    f[199 - r.x, r.y + hl.i32(p[r.x, r.y] % 2)] += hl.i32(p[r.x, r.y])
    [schedule] = agrees(f, ([PHOTO], {"sizes": (200, 38)}))
    assert "copies" not in schedule
    w = hl.Param(hl.Int(32), "w")
    g, q = hl.Func("g"), hl.RDom([(0, w), (0, 37)])
    g[x] = hl.u64(7)
    g[q.x] += hl.u64(p[q.x, q.y])
    agrees(g, ([PHOTO], {"sizes": (200,), "w": 200}), ([PHOTO], {"sizes": (200,), "w": 0}))


def test_reads_through_boundaries_and_of_stages(agrees):
    p, f, blurred, r = photo(), hl.Func("f"), hl.Func("blurred"), hl.RDom([(-2, 214), (-1, 39)])
    mirrored = hl.BoundaryConditions.mirror_image(p)
    blurred[x, y] = hl.u16(mirrored[x, y]) + hl.u16(mirrored[x + 1, y])
    blurred.compute_root()
    f[x] = hl.u32(0)
    f[hl.clamp(hl.i32(blurred[r.x, r.y]) - 100, 0, 150)] += hl.u32(mirrored[r.x + 1, r.y])
    agrees(f, ([PHOTO], {"sizes": (151,)}))


def test_interleaved_channels(agrees):
    p = photo(rank=3)
    h = histogram(p, lambda p, r: p[r.x, r.y, 1], 256, r=hl.RDom([(0, 50), (0, 20)]))
    picture = RNG.integers(0, 256, (20, 50, 3), dtype=np.uint8)
    agrees(h, ([picture], {"sizes": (256,)}))


def test_several_updates_in_a_row(agrees):
    p, h, r = photo(), hl.Func("h"), hl.RDom([(0, 64), (0, 20)])
    h[x] = hl.u32(0)
    h[p[r.x, r.y]] += hl.u32(1)
    h[p[r.x, r.y]] += hl.u32(p[r.y, r.x % 37])
    h[p[r.x, r.y] / hl.u8(2)] = hl.max(h[p[r.x, r.y] / hl.u8(2)], hl.u32(3))
    h.bound(x, 0, 256)
    agrees(h, ([PHOTO], {"sizes": (256,)}))


def test_threads_with_tables_of_their_own(agrees, request):
    """The splat of a bilateral grid: floats, in the order of the domain, so to the bit; and writes over one another."""
    p, g, h = photo(), hl.Func("g"), hl.Func("h")
    r = hl.RDom([(0, 8), (0, 8)])
    r.where(p[x * 8 + r.x, y * 8 + r.y] != 7)
    value = p[x * 8 + r.x, y * 8 + r.y]
    g[x, y, z] = (hl.f32(x), hl.f32(1))
    old = g[x, y, hl.i32(value) / 32]
    g[x, y, hl.i32(value) / 32] = (old[0] + hl.f32(value) * hl.f32(0.1), old[1] * hl.f32(1.01))
    pictures = PHOTO[:32, :208]
    schedules = agrees(
        g,
        ([pictures], {"sizes": (26, 4, 8)}),
        ([pictures], {"sizes": (5, 2, 3), "mins": {f"g.{i}": (20, 1, 2) for i in (0, 1)}}),
        shape="auto",
    )
    if "emulated" in request.node.name:
        assert ["threads = [32, " in s and "thread_tables = 1" in s for s in schedules] == [True]
    q = hl.RDom([(0, hl.Param(hl.Int(32), "n"))])
    h[x, y] = hl.u8(9)
    h[p[q, y] / hl.u8(64), y] = hl.u8(q)
    agrees(h, *(([PHOTO], {"sizes": (4, 37), "n": count}) for count in (150, 0, -2, 1)), shape="auto")


@pytest.mark.sweep
@pytest.mark.parametrize("channels", [2, 3])
def test_tables_that_start_inside(agrees, channels, request, monkeypatch):
    """A thread has the tables of several channels, and begins with what a stage says, also around a table.

    Calls may ask for more channels, or for less, and for any part of what the table holds.
    """
    p, g, c, r = photo(), hl.Func("g"), hl.Var("c"), hl.RDom([(0, 8), (0, 4)])
    value = p[x * 8 + r.x, y * 8 + r.y]
    g[x, y, z, c] = hl.f32(x) + hl.f32(z) * 100 + hl.f32(c) * 10000
    g[x, y, hl.i32(value) / 32, c] += hl.f32(value) * hl.mux(c, [hl.f32(0.1), hl.f32(1), hl.f32(0.3)])
    monkeypatch.setattr("tilefuse.execution.scatter.search._own_points", lambda *_: [channels])
    pictures = PHOTO[:32, :208]
    schedules = agrees(
        g,
        ([pictures], {"sizes": (26, 4, 8, channels)}),
        ([pictures], {"sizes": (26, 4, 13, 1), "mins": {"g": (0, 0, -3, 1)}}),
        ([pictures], {"sizes": (5, 2, 3, 3), "mins": {"g": (20, 1, 4, 0)}}),
        shape="auto",
    )
    if "emulated" in request.node.name:
        assert [f"points = {channels}" in s and "thread_tables = 1" in s for s in schedules] == [True]


def test_channels_that_read_the_same_share_a_thread():
    """As many tables as another stage reads channels of."""
    p, g, f, c, r = photo(), hl.Func("g"), hl.Func("f"), hl.Var("c"), hl.RDom([(0, 8), (0, 8)])
    value = p[x * 8 + r.x, y * 8 + r.y]
    g[x, y, z, c] = hl.f32(0)
    g[x, y, hl.i32(value) / 32, c] += hl.f32(value) * hl.mux(c, [hl.f32(0.1), hl.f32(1)])
    f[x, y] = g[x, y, hl.i32(p[x, y]) / 40, 0] / g[x, y, hl.i32(p[x, y]) / 32, 1]
    text = hl.Pipeline(f).compile("h200", passes=passes("h200", shape="auto")).ir("validate-occupancy")
    assert "thread_tables = 1, points = 2" in text or "points = 2, thread_tables = 1" in text
    assert 'img.group "g"' not in text  # the zeros have no kernel


@pytest.mark.sweep
def test_sums_of_rows_are_one_sum(agrees):
    """As Halide's users write histograms, for a schedule to run rows side by side."""
    p, rows, h = photo(), hl.Func("rows"), hl.Func("h")
    rx, ry = hl.RDom([(0, p.width())]), hl.RDom([(0, p.height())])
    rows[x, y] = hl.i32(0)
    rows[p[rx.x, y], y] += hl.i32(1)
    h[x] = hl.i32(x)
    h[x] += rows[x, ry.x]
    schedules = agrees(h, ([PHOTO], {"sizes": (256,)}), ([PHOTO[:, :9]], {"sizes": (7,), "mins": {"h": (30,)}}))
    assert len(schedules) == 1


def sums_of_floats(p, predicate=True):
    """By brightness, of values that rounding tells apart; and products, of bytes and of doubles."""
    f, r = hl.Func("f"), hl.RDom(p)
    if predicate:
        r.where(p[r.x, r.y] != 3)
    f[x] = (hl.f32(x), hl.u8(1), hl.f64(0))
    at, value = p[r.x, r.y] / hl.u8(8), hl.f32(p[r.x, r.y])
    old = f[at]
    f[at] = (old[0] + value * hl.f32(0.1), old[1] * (p[r.x, r.y] | 1), hl.max(old[2], hl.f64(value)))
    return f


@pytest.mark.parametrize("target", TARGETS)
def test_sums_of_floats_come_out_the_same_each_time(target, monkeypatch, tmp_path):
    if target == "emulated":
        emulate(monkeypatch, tmp_path)
    f, machine = sums_of_floats(photo()), "h200" if target == "emulated" else "cpu"
    program = hl.Pipeline(f).compile("cpu", passes=passes(machine))
    assert "ordered = 1" in program.ir("tile")
    wide = np.tile(PHOTO, (1, 3))
    for part in (wide, wide[3:, 5:], wide[:, ::3], wide[:0], wide[:1, :3]):
        sums, products, most = program(part, sizes=(32,))
        exact = hl.Pipeline(f).compile("reference")(part, sizes=(32,))
        np.testing.assert_array_equal(products, exact[1])
        np.testing.assert_array_equal(most, exact[2])
        # each sum has its own rounding: of n terms that are not negative, n units in the last place at most
        counts = np.bincount((part // 8).ravel(), minlength=32)
        assert np.all(np.abs(sums - exact[0]) <= 2 * counts * np.spacing(exact[0]))
        for again in (program(part, sizes=(32,)), program(np.ascontiguousarray(part), sizes=(32,))):
            np.testing.assert_array_equal(again[0], sums)


def test_the_order_of_floats_can_be_asked_for():
    p = photo()
    f = sums_of_floats(p)
    kept = hl.Pipeline(f).compile("h200", extent=LARGE, determinism="gpu_to_gpu").ir("tile")
    strict = hl.Pipeline(f).compile("h200", extent=LARGE, strict_float=True).ir("tile")
    free = hl.Pipeline(f).compile("h200", extent=LARGE).ir("tile")
    assert ["schedule.scatter" in text for text in (kept, strict, free)] == [False, False, True]


@pytest.mark.parametrize("target", ["cpu", "h200"])
def test_the_search_takes_it_for_large_domains_alone(target):
    h = histogram(photo(), lambda p, r: p[r.x, r.y], 256)
    small = histogram(photo(), lambda p, r: p[r.x, r.y], 256, r=hl.RDom([(0, 2), (0, 1)]))
    assert "#schedule.scatter" in hl.Pipeline(h).compile(target, extent=LARGE).ir("tile")
    assert "#schedule.in_order" in hl.Pipeline(small).compile(target, extent=LARGE).ir("tile")


@pytest.mark.parametrize(
    ("pure", "cores", "most", "split"),
    [(1, 2, 99, 2), (3, 2, 99, 2), (4, 2, 99, 1), (3, 16, 99, 5), (3, 16, 5, 5), (40, 16, 99, 2), (1, 16, 0, 1)],
)
def test_cores_of_a_cpu_have_as_many_blocks(pure, cores, most, split):
    """Two cores with the histograms of three planes would take two rounds, half of the second idle."""
    assert blocks_of_a_point(pure, replace(machine("x86_64_avx2"), cores=cores), 1, most) == split


def reads_itself(p, r):
    f = hl.Func("f")
    f[x] = hl.u32(0)
    f[p[r.x, r.y]] = f[p[r.x, r.y]] * hl.u32(2) + hl.u32(1)
    return f


def halves(p, r):
    f = hl.Func("f")
    f[x] = hl.f16(0)
    f[p[r.x, r.y]] += hl.f16(p[r.x, r.y])
    return f


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (reads_itself, "its steps must run in order: they read or overwrite values of other steps"),
        (halves, "there are no atomics on elements of f16, only on integers of 32 and 64 bits"),
    ],
)
def test_updates_that_stay_in_order(made, why):
    p = photo()
    f = made(p, hl.RDom(p))
    with pytest.raises(PipelineError, match=f"group 'f_update': {why}"):
        hl.Pipeline(f).compile("h200", passes=passes("h200"))
    assert "#schedule.scatter" not in hl.Pipeline(f).compile("h200", extent=LARGE).ir("tile")


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(37, 210), (1000, 1536), (3, 1)])
@pytest.mark.parametrize("kind", ["noise", "flat"])
def test_on_a_gpu(shape, kind):
    """Counts do not depend on the data's order, nor on how far rows reach; and twice the same."""
    cupy = pytest.importorskip("cupy")
    picture = RNG.integers(0, 256, shape, dtype=np.uint8) if kind == "noise" else np.full(shape, 77, np.uint8)
    h = histogram(photo(), lambda p, r: p[r.x, r.y], 256)
    program = hl.Pipeline(h).compile("cuda", passes=passes("h200"))
    for part in (picture, picture[:, 1:], picture[: shape[0] // 2]):
        expected = np.arange(256) + np.bincount(part.ravel(), minlength=256)  # bins begin at their numbers
        for _ in range(3):
            np.testing.assert_array_equal(program(cupy.asarray(part), sizes=(256,)).get(), expected)


@pytest.mark.gpu
def test_own_and_large_tables_on_a_gpu():
    cupy = pytest.importorskip("cupy")
    p, q, g, h, j = photo(), photo(), hl.Func("g"), hl.Func("h"), hl.Func("j")
    picture = RNG.integers(0, 256, (512, 768), dtype=np.uint8)
    r, s = hl.RDom([(0, 8), (0, 8)]), hl.RDom([(0, q.width() - 1), (0, q.height())])
    g[x, y, z] = (hl.f32(0), hl.f32(0))
    g[x, y, p[x * 8 + r.x, y * 8 + r.y] / 32] += (hl.f32(p[x * 8 + r.x, y * 8 + r.y]) * hl.f32(0.1), hl.f32(1))
    h[x, y] = hl.u32(0)
    h[q[s.x, s.y] / hl.u8(2), q[s.x + 1, s.y]] += hl.u32(1)
    j[x] = hl.u64(0)
    j[hl.i32(q[s.x, s.y]) * 256 + hl.i32(q[s.x + 1, s.y])] = hl.max(
        j[hl.i32(q[s.x, s.y]) * 256 + hl.i32(q[s.x + 1, s.y])], hl.u64(s.x)
    )
    for f, sizes in ((g, (96, 64, 8)), (h, (128, 256)), (j, (65536,))):
        found = hl.Pipeline(f).compile("cuda", passes=passes("h200", shape="auto"), strict_float=True)(
            cupy.asarray(picture), sizes=sizes
        )
        expected = hl.Pipeline(f).compile("reference", strict_float=True)(picture, sizes=sizes)
        for a, b in zip(found if f is g else [found], expected if f is g else [expected], strict=True):
            np.testing.assert_array_equal(a.get(), b)


@pytest.mark.gpu
def test_sums_of_floats_on_a_gpu():
    """The same bits in each call, and near the sums in order."""
    cupy = pytest.importorskip("cupy")
    picture = RNG.integers(0, 256, (700, 900), dtype=np.uint8)
    f = sums_of_floats(photo())
    program = hl.Pipeline(f).compile("cuda", passes=passes("h200"))
    found = [[a.get() for a in program(cupy.asarray(picture), sizes=(32,))] for _ in range(5)]
    exact = hl.Pipeline(f).compile("cpu", strict_float=True)(picture, sizes=(32,))
    for each in found:
        for a, b in zip(each, found[0], strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(each[0], exact[0], rtol=1e-4)
        np.testing.assert_array_equal(each[1], exact[1])
        np.testing.assert_array_equal(each[2], exact[2])
