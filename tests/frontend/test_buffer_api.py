"""What scripts do with Buffers: the same operations on ours and on the halide wheel's."""

import numpy as np
import pytest

import tilefuse
from tilefuse.dialects.diagnostics import PipelineError

halide = pytest.importorskip("halide")

ARRAY = np.arange(60, dtype=np.int32).reshape(3, 4, 5)


def fresh(hl):
    given = ARRAY.copy()
    return hl.Buffer(given)


def state(buffer):
    """Mins, extents and all values, x first."""
    dims = [buffer.dim(d) for d in range(buffer.dimensions())]
    return [d.min() for d in dims], [d.extent() for d in dims], np.asarray(buffer).tolist()


CHANGES = {
    "set_min": lambda b: b.set_min([-3, 7, 1]),
    "set_min of one": lambda b: b.set_min([4]),
    "translate": lambda b: (b.translate(1, 5), b.translate([1, 1, 1])),
    "crop": lambda b: b.crop(0, 1, 3),
    "crop all": lambda b: b.crop([(1, 2), (0, 3), (2, 1)]),
    "crop of moved": lambda b: (b.set_min([10, 20, 30]), b.crop(1, 21, 2)),
    "slice": lambda b: b.slice(1, 2),
    "slice at the min": lambda b: (b.set_min([3, 4, 5]), b.slice(2)),
    "embed": lambda b: b.embed(1, 6),
    "add_dimension": lambda b: b.add_dimension(),
    "transpose": lambda b: b.transpose(0, 2),
    "transpose all": lambda b: (b.set_min([1, 2, 3]), b.transpose([2, 0, 1])),
    "fill": lambda b: b.fill(7),
    "assign": lambda b: (b.set_min([1, 1, 1]), b.__setitem__((3, 2, 1), 99)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes(name):
    found = []
    for hl in (tilefuse, halide):
        buffer = fresh(hl)
        CHANGES[name](buffer)
        found.append(state(buffer))
    assert found[0] == found[1]


VIEWS = {
    "cropped": lambda b: b.cropped(1, 1, 2),
    "sliced": lambda b: b.sliced(0, 3),
    "embedded": lambda b: b.embedded(0, 2),
    "transposed": lambda b: b.transposed(0, 1),
    "translated": lambda b: b.translated(0, 4),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory(name):
    found = []
    for hl in (tilefuse, halide):
        buffer = fresh(hl)
        view = VIEWS[name](buffer)
        before = state(buffer)[:2]
        view.fill(-1)
        assert state(buffer)[:2] == before
        found.append((state(view), state(buffer)))
    assert found[0] == found[1]


def test_values_and_questions():
    for hl in (tilefuse, halide):
        buffer = fresh(hl)
        buffer.set_min([1, 0, 0])
        assert buffer[2, 1, 0] == 6
        assert type(buffer[2, 1, 0]) is int
        assert (buffer.number_of_elements(), buffer.size_in_bytes()) == (60, 240)
        assert buffer.contains([5, 3, 2])
        assert not buffer.contains([0, 0, 0])
        assert not buffer.all_equal(3)
        copied = buffer.copy()
        copied.fill(3)
        assert copied.all_equal(3)
        assert buffer[1, 0, 0] == 0
        assert state(copied)[:2] == state(buffer)[:2]
        part = fresh(hl)
        part.set_min([4, 2, 1])
        part.copy_from(copied)
        assert (part[4, 2, 1], part[5, 3, 2], part[6, 2, 1]) == (3, 3, 2)
        points = []
        copied.cropped([(1, 2), (0, 1), (1, 2)]).for_each_element(lambda p, points=points: points.append(list(p)))
        assert points == [[1, 0, 1], [2, 0, 1], [1, 0, 2], [2, 0, 2]]


def test_made_buffers():
    for hl in (tilefuse, halide):
        scalar = hl.Buffer.make_scalar(hl.Float(32))
        scalar[()] = 2.5
        assert (scalar[()], scalar.dimensions()) == (2.5, 0)
        rgb = hl.Buffer.make_interleaved(hl.UInt(8), 4, 3, 2)
        rgb.fill(0)
        assert np.asarray(rgb).shape == (2, 3, 4)
        assert np.asarray(rgb).strides == (1, 8, 2)
        ordered = hl.Buffer(hl.UInt(16), [4, 3], [1, 0])
        assert np.asarray(ordered).strides == (2, 6)
        like = hl.Buffer.make_with_shape_of(rgb)
        assert [like.dim(d).extent() for d in range(3)] == [4, 3, 2]


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_realize_into_buffers_that_begin_anywhere(target):
    found = []
    for hl in (tilefuse, halide):
        x, y = hl.Var("x"), hl.Var("y")
        f = hl.Func("f")
        f[x, y] = x * 10 + y
        out = hl.Buffer(hl.Int(32), [5, 3])
        out.set_min([100, -7])
        given = {"target": target} if hl is tilefuse else {}
        assert f.realize(out, **given) is None
        found.append((state(out), out[102, -6]))
        g = hl.Func("g")
        g[x, y] = (x, hl.f32(y)) if hl is tilefuse else hl.Tuple((x, hl.f32(y)))
        first, second = hl.Buffer(hl.Int(32), [2, 2]), hl.Buffer(hl.Float(32), [2, 2])
        for b in (first, second):
            b.set_min([3, 4])
        g.realize([first, second], **given)
        found[-1] += (state(first), state(second))
    assert found[0] == found[1]
    assert found[0][1] == 1014


@pytest.mark.parametrize("layout", ["planar", "interleaved"])
def test_a_buffer_that_begins_elsewhere_as_input_and_output(layout):
    x, y, c = tilefuse.vars("x y c")
    picture = np.arange(72, dtype=np.uint8).reshape((3, 4, 6) if layout == "planar" else (4, 6, 3))
    image = tilefuse.Buffer(picture, layout=layout)
    image.set_min([10, 20, 0])
    f = tilefuse.Func("f")
    f[x, y, c] = image[x + 1, y, c] + tilefuse.u8(1)
    out = tilefuse.Buffer(tilefuse.UInt(8), [5, 4, 3])
    out.set_min([10, 20, 0])
    f.realize(out, target="cpu")
    planar = picture if layout == "planar" else picture.transpose(2, 0, 1)
    np.testing.assert_array_equal(np.asarray(out), planar[..., 1:] + 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("b[9, 0, 0]", r"Buffer '\w+': index 9 is out of bounds for axis 0 with min=0, extent=5"),
        ("b[0, 0]", r"Buffer '\w+' has 3 dimensions, but is read at 2 coordinates"),
        ("b.__setitem__((x, 0, 0), 1)", r"is assigned at integers"),
        ("b.fill(2.5)", r"is of type int32, which 2.5 is not"),
        ("b.fill('a')", r"a value of Buffer '\w+' is a number, not 'a'"),
        ("b.crop(0, 3, 4)", r"has the points 0 to 4 in dimension 0; a crop to 3 to 6 does not lie in it"),
        ("b.slice(3, 0)", r"has 3 dimensions; there is no dim\(3\)"),
        ("b.slice(0, 5)", r"has the points 0 to 4 in dimension 0, not 5"),
        ("b.transpose([0, 0, 1])", r"has 3 dimensions, which \[0, 0, 1\] is no order of"),
        ("b.set_min([1, 2, 3, 4])", r"has 3 dimensions, but set_min is given 4 numbers"),
        ("f.realize(b)", r"realize of 'f' writes a Buffer of int32 with 1 dimensions; this one has 3 of int32"),
        ("f.realize([c, c])", r"realize writes 1 values \(f\), but 2 Buffers are given"),
        ("hl.Buffer(hl.UInt(8), [3, 4], [0, 0])", r"storage_order\): \[0, 0\] is no order of 2 dimensions"),
    ],
)
def test_errors(text, message):
    x, f = tilefuse.Var("x"), tilefuse.Func("f")
    f[x] = x
    names = {"hl": tilefuse, "b": fresh(tilefuse), "x": x, "f": f, "c": tilefuse.Buffer(tilefuse.Int(32), [3])}
    with pytest.raises(PipelineError, match=message):
        eval(text, names)
