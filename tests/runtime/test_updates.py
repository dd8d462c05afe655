"""Programs with updates: several outputs, sizes of any call, memory that is written over, nothing compiled again."""

import shutil

import numpy as np
import pytest
from emulated_cuda import emulate

import tilefuse as hl
from tilefuse.passes.pipeline import standard_passes
from tilefuse.runtime.compile.compiled import Compiled
from tilefuse.runtime.errors import CallError

TARGETS = [
    "reference",
    "cpu",
    pytest.param("gpu", marks=pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")),
]
x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
RNG = np.random.default_rng(3)
PHOTO = RNG.integers(0, 256, (90, 130), dtype=np.uint8)


@pytest.fixture(params=TARGETS)
def compile(request, monkeypatch, tmp_path):
    """Compile Funcs or the text of IR for one of the back ends; the GPU is emulated."""
    options = {}
    if request.param == "gpu":
        emulate(monkeypatch, tmp_path)
        options["passes"] = standard_passes("h200")
    target = "cpu" if request.param == "gpu" else request.param
    options |= {"strict_float": True}

    def made(source):
        return (
            hl.compile(source, target, **options)
            if isinstance(source, str)
            else hl.Pipeline(source).compile(target, **options)
        )

    return made


def photo():
    return hl.ImageParam(hl.UInt(8), 2, name="photo")


@pytest.mark.sweep
def test_histogram(compile):
    p, h = photo(), hl.Func("h")
    r = hl.RDom(p)
    h[x] = hl.u32(0)
    h[p[r.x, r.y]] += hl.u32(1)
    h.bound(x, 0, 256)
    program = compile(h)
    np.testing.assert_array_equal(program(PHOTO), np.bincount(PHOTO.ravel(), minlength=256))
    for part in (PHOTO, PHOTO[20:31, 7:50], PHOTO[:, ::3]):
        counts = np.bincount(part.ravel(), minlength=256)
        np.testing.assert_array_equal(program(part, sizes=(256,)), counts)
        np.testing.assert_array_equal(program(part, sizes=(40,), mins={"h": (100,)}), counts[100:140])


def test_an_updated_function_is_returned_and_read(compile):
    """Its memory is written over, and is longer in use than that of what was there before."""
    p, f, g = photo(), hl.Func("f"), hl.Func("g")
    r = hl.RDom([(1, p.height() - 1)])
    f[x, y] = hl.f32(p[x, y])
    f[x, r] = f[x, r] * 0.5 + f[x, r - 1]
    f[x, 0] += 1.0
    g[x, y] = f[x, y] - f[0, y]
    expected = PHOTO.astype(np.float32)
    for row in range(1, len(expected)):
        expected[row] = expected[row] * np.float32(0.5) + expected[row - 1]
    expected[0] += 1
    found, differences = compile([f, g])(PHOTO)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(differences, expected - expected[:, :1])


def test_part_of_what_an_update_needs(compile):
    """Outputs that begin anywhere: the old function is larger than what is asked for."""
    p, f = photo(), hl.Func("f")
    r = hl.RDom([(1, p.width() - 1)])
    f[x, y] = hl.u32(p[x, y])
    f[r, y] += f[r - 1, y]
    program = compile(f)
    sums = np.cumsum(PHOTO, 1, dtype=np.uint32)
    np.testing.assert_array_equal(program(PHOTO), sums)
    np.testing.assert_array_equal(program(PHOTO, sizes=(5, 70), mins={"f": (101, 13)}), sums[13:83, 101:106])


def test_old_functions_that_others_read(compile):
    """Two updates of one stage of IR, of which each has its own result."""
    program = compile(
        """img.pipeline @p {
          %in = img.input "in" : !img.func<1xsi32>
          %n = img.extent 0 of %in : !img.func<1xsi32>
          %c0 = arith.constant 0 : index
          %f = img.stage "f" (%x) -> si32 {
            %v = img.read %in[%x] : !img.func<1xsi32>
            img.yield %v : i32
          }
          %a = img.update "a" () over (%r in [%c0, %n]) of (%old = %f : !img.func<1xsi32>) combine [add] {
            %v = img.read %in[%r] : !img.func<1xsi32>
            img.write %v at [0] : i32
          }
          %b = img.update "b" (%x) of (%old = %f : !img.func<1xsi32>) combine [mul] {
            %v = img.read %a[0] : !img.func<1xsi32>
            img.write %v at [%x] : i32
          }
          %d = img.update "d" (%x) of (%old = %in : !img.func<1xsi32>) combine [add] {
            %v = img.read %b[%x] : !img.func<1xsi32>
            img.write %v at [%x] : i32
          }
          img.return "f" = %f : !img.func<1xsi32>, "a" = %a : !img.func<1xsi32>, "d" = %d : !img.func<1xsi32>
        }"""
    )
    values = RNG.integers(-9, 9, 200, dtype=np.int32)
    f, a, d = program(values)
    first = values.copy()
    first[0] += values.sum()
    np.testing.assert_array_equal(f, values)
    np.testing.assert_array_equal(a, first)
    np.testing.assert_array_equal(d, values + values * first[0])


@pytest.mark.sweep
def test_reads_at_clamped_places(compile):
    """As Halide's users write edges, with sizes that only the call knows."""
    p, f = photo(), hl.Func("f")
    r = hl.RDom([(-1, 3), (-1, 3)])
    r.where(r.x != r.y)
    f[x, y] = hl.u16(0)
    f[x, y] += hl.u16(p[hl.clamp(x + r.x, 0, p.width() - 1), hl.clamp(y + r.y, 0, p.height() - 1)])
    padded = np.pad(PHOTO.astype(np.uint16), 1, "edge")
    shifted = {(i, j): padded[1 + j : 91 + j, 1 + i : 131 + i] for i in (-1, 0, 1) for j in (-1, 0, 1)}
    np.testing.assert_array_equal(compile(f)(PHOTO), sum(a for (i, j), a in shifted.items() if i != j))


def test_interleaved_pictures(compile):
    p, f = hl.ImageParam(hl.UInt(8), 3, name="p"), hl.Func("f")
    r = hl.RDom([(1, 2)])
    f[x, y, c] = hl.u16(p[x, y, c])
    f[x, y, r] += f[x, y, r - 1]
    picture = RNG.integers(0, 256, (30, 70, 3), dtype=np.uint8)
    np.testing.assert_array_equal(compile(f)(picture), np.cumsum(picture, 2, dtype=np.uint16))


def test_params_change_from_call_to_call(compile, monkeypatch):
    n, first = hl.Param(hl.Int(32), "n"), hl.Param(hl.UInt(8), "first")
    f = hl.Func("f")
    r = hl.RDom([(first, n)])
    f[x] = 1
    f[r] += f[r - 1]
    program = compile(f)
    program(sizes=(8,), n=2, first=1)
    monkeypatch.setattr(Compiled, "__init__", lambda *_: pytest.fail("compiled again"))
    np.testing.assert_array_equal(program(sizes=(8,), n=5, first=1), [1, 2, 3, 4, 5, 6, 1, 1])
    np.testing.assert_array_equal(program(sizes=(8,), n=0, first=1), np.ones(8))
    np.testing.assert_array_equal(program(sizes=(8,), n=-3, first=200), np.ones(8))
    np.testing.assert_array_equal(program(sizes=(8,), n=3, first=2), [1, 1, 2, 3, 4, 1, 1, 1])


def test_a_grid_of_sums(compile):
    """The splat of a bilateral grid: two sums at once, at a place that data decide."""
    p, g, z = photo(), hl.Func("g"), hl.Var("z")
    r = hl.RDom([(0, 8), (0, 8)])
    value = p[x * 8 + r.x, y * 8 + r.y]
    g[x, y, z] = (hl.f32(0), hl.f32(0))
    g[x, y, hl.i32(value) / 32] += (hl.f32(value), hl.f32(1))
    sums, counts = compile(g)(PHOTO, sizes=(16, 11, 8))
    tiles = PHOTO[:88, :128].reshape(11, 8, 16, 8)
    for level in range(8):
        inside = tiles // 32 == level
        np.testing.assert_array_equal(counts[level], inside.sum((1, 3)))
        np.testing.assert_array_equal(sums[level], (tiles * inside).sum((1, 3), dtype=np.float32))


def test_a_domain_larger_than_the_input(compile):
    p, f = photo(), hl.Func("f")
    r = hl.RDom([(0, 200)])
    f[y] = hl.u32(0)
    f[y] += hl.u32(p[r, y])
    with pytest.raises(CallError, match=r"input 'photo' is read at 0 to 199 in dimension 0 \(x\), but holds 0 to 129"):
        compile(f)(PHOTO, sizes=(90,))


def test_random_numbers_and_remaining_coordinates(compile):
    """A number for each point of the domain, the same ones on every back end."""
    p, f, g = photo(), hl.Func("f"), hl.Func("g")
    rest = hl.Var("_")
    r = hl.RDom([(0, 50)])
    f[x, rest] = hl.u32(p[x, rest])
    f[3, rest] = hl.random_uint(8) & hl.u32(255)
    g[x] = hl.u32(0)
    g[hl.random_uint(5) % hl.u32(4)] += hl.u32(1) + f[3, r] * hl.u32(0)
    found, counts = compile([f, g])(PHOTO, sizes={"f": (130, 90), "g": (4,)})
    again, same = hl.Pipeline([f, g]).compile("reference")(PHOTO, sizes={"f": (130, 90), "g": (4,)})
    np.testing.assert_array_equal(found, again)
    np.testing.assert_array_equal(counts, same)
    assert counts.sum() == 50
    assert counts.min() > 3
    assert len(set(found[:, 3].tolist())) > 40


def test_the_channel_of_most_light(compile):
    """Of equal channels the first, as NumPy has it; the number of channels is that of the call."""
    p, best = hl.ImageParam(hl.UInt(8), 3, name="photo", layout="planar"), hl.Func("best")
    r = hl.RDom([(0, p.channels())])
    best[x, y] = hl.argmax(r, p[x, y, r.x])[0]
    program = compile(best)
    for channels in (3, 5):
        color = RNG.integers(0, 4, (channels, 20, 50), dtype=np.uint8)
        np.testing.assert_array_equal(program(color, sizes=(50, 20)), color.argmax(axis=0))


def test_resize_by_a_factor_of_the_call(compile):
    """Bilinear, over an edge that is repeated: where it reads is computed in floats from a Param."""
    p, factor, out = photo(), hl.Param(hl.Float(32), "factor"), hl.Func("out")
    edges = hl.BoundaryConditions.repeat_edge(p)

    def place(v):
        at = (hl.f32(v) + 0.5) / factor - 0.5
        return hl.i32(hl.floor(at)), at - hl.floor(at)

    (i, u), (j, v) = place(x), place(y)
    rows = [hl.f32(edges[i, j + k]) * (1 - u) + hl.f32(edges[i + 1, j + k]) * u for k in (0, 1)]
    out[x, y] = rows[0] * (1 - v) + rows[1] * v
    program = compile(out)
    one, half = np.float32(1), np.float32(0.5)
    for by in (0.375, 1.0, 2.5):
        size = (int(130 * by), int(90 * by))
        at = [(np.arange(n, dtype=np.float32) + half) / np.float32(by) - half for n in size]
        (low_x, low_y), (part_x, part_y) = zip(*((np.floor(a).astype(int), a - np.floor(a)) for a in at), strict=True)
        columns = [np.clip(low_x + k, 0, 129) for k in (0, 1)]
        lines = [PHOTO[np.clip(low_y + k, 0, 89)].astype(np.float32) for k in (0, 1)]
        first, second = (line[:, columns[0]] * (one - part_x) + line[:, columns[1]] * part_x for line in lines)
        expected = first * (one - part_y)[:, None] + second * part_y[:, None]
        np.testing.assert_array_equal(program(PHOTO, factor=by, sizes=size), expected)
