"""Buffers as `realize` gives and takes them, as in Halide: indexed x first, arrays with the axes in reverse."""

import numpy as np
import pytest

import tilefuse
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.runtime.cpu import c_compiler

halide = pytest.importorskip("halide")

TARGETS = ["reference", "cpu"]


def ramp(hl):
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("ramp")
    f[x, y] = x + 10 * y
    return f


def state(buffer):
    dims = [buffer.dim(d) for d in range(buffer.dimensions())]
    return [(d.min(), d.extent(), d.stride(), d.max()) for d in dims], np.array(buffer).tolist(), str(buffer.type())


@pytest.mark.parametrize("target", TARGETS)
def test_new_buffers(target):
    ours, theirs = ramp(tilefuse).realize([4, 3], target), ramp(halide).realize([4, 3])
    assert state(ours) == state(theirs)
    for made in (ours, theirs):
        assert made[3, 2] == 23
        assert type(made[3, 2]) is int
        assert np.asarray(made).shape == (3, 4)
        made[3, 2] = 5
        assert np.asarray(made)[2, 3] == 5


def test_several_values_come_as_a_tuple():
    for hl in (tilefuse, halide):
        x, f = hl.Var("x"), hl.Func("f")
        f[x] = (x, hl.f32(x) / 2)
        found = f.realize([3])
        assert type(found) is tuple
        assert [list(b) for b in found] == [[0, 1, 2], [0, 0.5, 1]]


def test_iteration_and_points_outside():
    for hl in (tilefuse, halide):
        line, picture = hl.Buffer(hl.Int(32), [3]), hl.Buffer(hl.Int(16), [4, 6])
        line.fill(7)
        assert list(line) == [7, 7, 7]
        few = "Incorrect number of dimensions" if hl is halide else "has 2 dimensions"
        with pytest.raises(ValueError, match=few):
            list(picture)
        with pytest.raises(ValueError, match=few):
            picture[1]
        for point, words in (((-1, 2), "index -1 is out of bounds for axis 0 with min=0, extent=4"),
                             ((1, 6), "index 6 is out of bounds for axis 1 with min=0, extent=6")):  # fmt: skip
            with pytest.raises(IndexError, match=words):
                picture[point]
            with pytest.raises(IndexError, match=words):
                picture[point] = 1


def test_axes_and_strides():
    array = np.arange(12, dtype=np.int32).reshape(3, 4)
    picture = np.ndarray((7, 13, 3), np.uint8, strides=(3, 21, 1))
    found = []
    for hl in (tilefuse, halide):
        forth, back = hl.Buffer(array, "b", True), hl.Buffer(array, "b", False)
        assert (forth[3, 1], back[1, 3], forth.name()) == (7, 7, "b")
        buffers = [
            forth,
            back,
            forth.reverse_axes(),
            hl.Buffer.make_interleaved(hl.UInt(8), 7, 13, 3),
            hl.Buffer(picture),
        ]
        buffers.append(hl.Buffer(type=hl.UInt(8), sizes=[7, 5, 3], storage_order=[2, 0, 1]))
        found.append([state(b)[0] for b in buffers])
        assert np.array(forth.reverse_axes()).shape == (4, 3)
        shared = np.array(forth, copy=False)
        forth[0, 0] = 99
        assert shared[0, 0] == 99
        array[0, 0] = 0
    assert found[0] == found[1]
    with pytest.raises(ValueError, match="are a copy"):
        np.array(tilefuse.Buffer(array), dtype=np.float32, copy=False)


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_param_has_the_box_of_its_buffer(target):
    found = []
    for hl in (tilefuse, halide):
        image, x, y, f = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Var("x"), hl.Var("y"), hl.Func("f")
        f[x, y] = image[x + 10, y - 3] + image.left()
        given = hl.Buffer(np.arange(20, dtype=np.uint8).reshape(4, 5))
        given.set_min([10, -3])
        image.set(given)
        assert image.get().dim(0).min() == 10
        found.append(np.array(f.realize([5, 4], target) if hl is tilefuse else f.realize([5, 4])).tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("layout", ["planar", "interleaved"])
def test_pictures_that_are_set_lie_as_their_buffers_do(layout):
    """An array [h, w, 3] can be read two ways; of a Buffer it is known which."""
    x, y, c, f = *tilefuse.vars("x y c"), tilefuse.Func("f")
    image = tilefuse.ImageParam(tilefuse.UInt(8), 3, "image")
    f[x, y, c] = image[x, y, c] + 1
    array = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    image.set(tilefuse.Buffer(array, layout=layout))
    sizes = [5, 4, 3] if layout == "interleaved" else [3, 5, 4]
    result = f.realize(sizes, "cpu")
    np.testing.assert_array_equal(result, array + 1)
    assert result[1, 2, 0] == image.get()[1, 2, 0] + 1
    np.testing.assert_array_equal(f.realize(target="reference"), array + 1)


def test_without_sizes_a_result_begins_where_it_is_known():
    x, f, image = tilefuse.Var("x"), tilefuse.Func("f"), tilefuse.Buffer(np.arange(5, dtype=np.int32))
    f[x] = image[x - 2] + image[x]
    result = f.realize(target="cpu")
    assert (result.dim(0).min(), result.dim(0).max()) == (2, 4)
    assert result[4] == 2 + 4


INFERRED = {
    "shifted": lambda hl, i, x, y: i[x - 1, y] + i[x + 1, y + 2],
    "clamped": lambda hl, i, x, y: i[hl.clamp(x, 0, i.width() - 1), y],
    "repeat_edge": lambda hl, i, x, y: hl.BoundaryConditions.repeat_edge(i)[x, y],
    "scaled": lambda hl, i, x, y: i[x / 2, y * 2],
    "one column": lambda hl, i, x, y: i[3, y],
}


@pytest.mark.parametrize("name", INFERRED)
@pytest.mark.parametrize("into", ["sizes", "buffer", "query"])
def test_bounds_of_inputs_are_inferred(name, into):
    found = []
    for hl in (tilefuse, halide):
        image, x, y, f = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Var("x"), hl.Var("y"), hl.Func("f")
        f[x, y] = INFERRED[name](hl, image, x, y)
        wanted = [5, 4]
        if into != "sizes":
            wanted = (hl.Buffer.make_bounds_query if into == "query" else hl.Buffer)(hl.UInt(8), [5, 4])
            wanted.set_min([10, 20])
        f.infer_input_bounds(wanted)
        found.append(state(image.get())[0])
    assert found[0] == found[1] or (into != "sizes" and name in ("clamped", "repeat_edge"))


def test_what_a_bounds_query_is_not():
    query = tilefuse.Buffer.make_bounds_query(tilefuse.Int(32), [1000000, 1000000])
    assert query.is_bounds_query()
    assert query.dim(1).extent() == 1000000
    for use in (lambda: query[0, 0], lambda: ramp(tilefuse).realize(query), lambda: tilefuse.Buffer()[0]):
        with pytest.raises(PipelineError, match=r"bounds query|is undefined|read at 1 coordinates"):
            use()


def test_devices_of_buffers():
    made = ramp(tilefuse).realize([4, 3])
    made.copy_to_host()
    made.set_host_dirty()
    assert (made.copy_to_device(), made.has_device_allocation(), made.device_dirty()) == (0, False, False)


@pytest.mark.gpu
def test_buffers_on_a_gpu():
    f, image = tilefuse.Func("f"), tilefuse.ImageParam(tilefuse.UInt(8), 2, "image")
    x, y = tilefuse.vars("x y")
    f[x, y] = image[x, y] + 1
    array = np.arange(20, dtype=np.uint8).reshape(4, 5)
    image.set(tilefuse.Buffer(array))
    np.testing.assert_array_equal(f.realize([5, 4], "cuda"), array + 1)
    np.testing.assert_array_equal(f.realize(target="cuda"), array + 1)
    out = tilefuse.Buffer(tilefuse.UInt(8), [3, 2])
    out.set_min([1, 1])
    f.realize(out, "cuda")
    np.testing.assert_array_equal(out, array[1:3, 1:4] + 1)


def test_realize_compiles_for_its_call_alone(monkeypatch):
    f, sources = ramp(tilefuse), []
    build = c_compiler.load_library
    monkeypatch.setattr(
        c_compiler, "load_library", lambda source, **named: sources.append(source) or build(source, **named)
    )
    assert f.realize([4, 3], "cpu")[3, 2] == 23
    assert len(set(sources)) == 1
    program = tilefuse.Pipeline(ramp(tilefuse)).program("cpu", {}, ahead=False)
    assert "void" in program.source()


def test_looking_at_what_was_found(tmp_path, capsys):
    f = ramp(tilefuse)
    f.print_loop_nest("cpu")
    assert 'img.group "ramp"' in capsys.readouterr().out
    f.compile_to_lowered_stmt(tmp_path / "a.txt", [], target="cpu")
    assert "func.func @ramp" in (tmp_path / "a.txt").read_text()
    f.compile_to_lowered_stmt(tmp_path / "a.html", [], tilefuse.StmtOutputFormat.HTML, "cpu")
    text = (tmp_path / "a.html").read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert "func.func @ramp" in text
    f.compile_to_c(tmp_path / "a.c", [], "named")
    assert "void named_ramp" in (tmp_path / "a.c").read_text()


def test_saved_pipelines(tmp_path):
    for hl in (tilefuse, halide):
        x, y, f, g = hl.Var("x"), hl.Var("y"), hl.Func("f"), hl.Func("g")
        p, image = hl.Param(hl.Int(32), "p", 3), hl.ImageParam(hl.UInt(8), 2, "image")
        f[x, y] = image[x, y] + p
        g[x, y] = x - y
        pipeline, path = hl.Pipeline([f, g]), tmp_path / hl.__name__
        params = hl.serialize_pipeline(pipeline, path, get_params=True)
        assert set(params) >= {"p", "image"}
        assert hl.deserialize_parameters(path)["p"].type() == hl.Int(32)
        mine = hl.ImageParam(hl.UInt(8), 2, "image")
        mine.set(hl.Buffer(np.arange(20, dtype=np.uint8).reshape(4, 5)))
        other = hl.Param(hl.Int(32), "p", 100)
        again = hl.deserialize_pipeline(path.read_bytes(), {"image": mine.parameter(), "p": other.parameter()})
        first, second = again.realize([3, 2])
        assert np.asarray(first).tolist() == [[100, 101, 102], [105, 106, 107]]
        assert np.asarray(second).tolist() == [[0, 1, 2], [-1, 0, 1]]
    with pytest.raises(PipelineError, match="the pipeline has no ImageParam or Param 'q'; there are image, p"):
        tilefuse.deserialize_pipeline(tmp_path / "tilefuse", {"q": 1})
    x, f = tilefuse.Var("x"), tilefuse.Func("f")
    f[x] = tilefuse.Buffer(np.arange(3))[x]
    with pytest.raises(PipelineError, match="a pipeline that reads Buffers cannot be saved"):
        tilefuse.serialize_pipeline(tilefuse.Pipeline(f))


@pytest.mark.parametrize("target", TARGETS)
def test_callables(target):
    for hl in (tilefuse, halide):
        x, y, f = hl.Var("x"), hl.Var("y"), hl.Func(f"called_{target}")
        image, k, q = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Param(hl.Int(16), "k", 42), hl.Param(hl.Float(32), "q")
        f[x, y] = image[x, y + 1] + hl.u8(k / q)
        c = f.compile_to_callable([image, k, q], target) if hl is tilefuse else f.compile_to_callable([image, k, q])
        given = hl.Buffer(np.arange(20, dtype=np.uint8).reshape(4, 5))
        out = hl.Buffer(hl.UInt(8), [5, 3])
        c(given, 42, 1.0, out)
        assert np.array(out).tolist() == (np.arange(5, 20).reshape(3, 5) + 42).tolist()
        c(given, q=2.0, **{f.name(): out}, k=22)
        assert np.array(out).tolist() == (np.arange(5, 20).reshape(3, 5) + 11).tolist()
        asked, wanted = (hl.Buffer.make_bounds_query(hl.UInt(8), size) for size in ([1, 1], [20, 10]))
        c(asked, 42, 1.0, wanted)
        assert [(d.min(), d.extent()) for d in (asked.dim(0), asked.dim(1))] == [(0, 20), (1, 10)]
        for call, message in (
            (lambda c=c: c(given, 1, 1.0, 4, out), r"Expected at most 4 positional arguments, but saw 5\."),
            (lambda c=c: c(given), r"Expected exactly 4 positional arguments, but saw 1\."),
            (lambda c=c: c("happy", 1, 1.0, out), "is not an instance of"),
            (lambda c=c: c(given, 1, 1.0, "bogus"), "is not an instance of"),
            (lambda c=c: c(given, 1, 1.0, funk=out), r"Unknown argument 'funk' specified via keyword\."),
            (
                lambda c=c, f=f: c(k=1, q=1.0, **{f.name(): out}),
                "Argument image was not specified by either pos",
            ),
            (lambda c=c: c(given, 1, image=given, q=1.0), r"Argument image specified multiple times\."),
        ):
            with pytest.raises(hl.HalideError, match=message):
                call()
