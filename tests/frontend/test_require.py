"""What a call must fulfil: `require`, requirements of a Pipeline, and ranges of Params, as in Halide."""

import pickle
import shutil

import numpy as np
import pytest
from emulated_cuda import emulate

import tilefuse
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.runtime.errors import CallError

halide = pytest.importorskip("halide")

TARGETS = ["reference", "cpu"]
PIXELS = np.arange(20, dtype=np.uint8).reshape(4, 5)


def refused(program, *arrays, shape, dtype=np.uint8, **named):
    """The text of the CallError of a call, which writes nothing."""
    out = np.full(shape, 77, dtype)
    with pytest.raises(CallError) as raised:
        program(*arrays, out=out, **named)
    assert (out == 77).all()
    return str(raised.value)


def on_pixels(hl, image):
    """Neighbours of pixels that are less than 18."""
    x, y = hl.Var("x"), hl.Var("y")
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = hl.require(image[x, y] < 18, image[x, y] + 1)
    g[x, y] = f[x, y] + f[x + 1, y]
    return g


@pytest.mark.parametrize("target", TARGETS)
def test_on_points_as_halide(target):
    theirs = on_pixels(halide, halide.Buffer(PIXELS))
    ours = on_pixels(tilefuse, tilefuse.Buffer(PIXELS))
    np.testing.assert_array_equal(ours.realize([4, 3], target), np.asarray(theirs.realize([4, 3])))
    for hl, g in ((tilefuse, ours), (halide, theirs)):
        with pytest.raises(hl.HalideError, match=r"Requirement Failed: \(false\)"):
            g.realize([4, 4], target) if hl is tilefuse else g.realize([4, 4])


def messages():
    x, y, image = tilefuse.Var("x"), tilefuse.Var("y"), tilefuse.ImageParam(tilefuse.UInt(8), 2, "image")
    k, f = tilefuse.Param(tilefuse.Int(32), "k", 3), tilefuse.Func("f")
    value = tilefuse.require(
        image[x, y] < 200, image[x, y], "pixel", image[x, y], "at", x, y, "100%", tilefuse.f32(2.5)
    )
    f[x, y] = value * tilefuse.u8(tilefuse.require(k > 2, k, "k is", k))
    return f


def check_messages(target):
    program = tilefuse.Pipeline(messages()).compile(target)
    for again in (program, pickle.loads(pickle.dumps(program))):
        np.testing.assert_array_equal(again(PIXELS, k=4), PIXELS * np.uint8(4))
        bright = PIXELS.copy()
        bright[2, 3], bright[3, 1] = 201, 255
        text = refused(again, bright, shape=(4, 5))
        assert f"{__file__}:" in text
        assert text.endswith("error: Requirement Failed: (false) pixel 201 at 3 2 100% 2.500000")
        assert refused(again, PIXELS, k=-7, shape=(4, 5)).endswith("Requirement Failed: (false) k is -7")
        # nothing of what is wrong is asked for
        np.testing.assert_array_equal(again(bright, sizes=(5, 2)), PIXELS[:2] * np.uint8(3))


@pytest.mark.parametrize("target", TARGETS)
def test_messages(target):
    check_messages(target)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_messages_on_emulated_gpu(monkeypatch, tmp_path):
    emulate(monkeypatch, tmp_path)
    check_messages("cpu")


@pytest.mark.gpu
def test_messages_on_a_gpu():
    import cupy

    program = tilefuse.Pipeline(messages()).compile("cuda")
    np.testing.assert_array_equal(cupy.asnumpy(program(cupy.asarray(PIXELS), k=4)), PIXELS * np.uint8(4))
    bright = PIXELS.copy()
    bright[2, 3] = 201
    out = cupy.full((4, 5), 77, np.uint8)
    with pytest.raises(CallError, match=r"Requirement Failed: \(false\) pixel 201 at 3 2 100% 2.500000"):
        program(cupy.asarray(bright), out=out)
    assert (out == 77).all()
    with pytest.raises(CallError, match=r"Requirement Failed: \(false\) k is 1"):
        program(cupy.asarray(PIXELS), k=1)


@pytest.mark.parametrize("target", TARGETS)
def test_in_updates(target):
    """Where the update goes: over its domain, where the predicate holds, and at the coordinates that are needed."""
    x, f, most = tilefuse.Var("x"), tilefuse.Func("f"), tilefuse.Param(tilefuse.Int(32), "most")
    r = tilefuse.RDom([(0, 6)])
    r.where(r.x != 5)
    f[x] = 0
    f[x] += tilefuse.require(r.x * x <= most, r.x, r.x, "of", x)
    program = tilefuse.Pipeline(f).compile(target)
    np.testing.assert_array_equal(program(sizes=(4,), most=12), [10] * 4)
    assert refused(program, most=11, shape=(4,), dtype=np.int32).endswith("(false) 4 of 3")
    np.testing.assert_array_equal(program(sizes=(3,), most=11), [10] * 3)


def test_an_update_over_no_points_asks_for_nothing():
    n, f = tilefuse.Param(tilefuse.Int(32), "n"), tilefuse.Func("f")
    r = tilefuse.RDom([(0, n)])
    f[()] = 0
    f[()] += tilefuse.require(r.x < 2, r.x)
    program = tilefuse.Pipeline(f).compile("cpu")
    assert program(n=0) == 0
    assert program(n=2) == 1
    refused(program, n=3, shape=(), dtype=np.int32)


@pytest.mark.parametrize("target", TARGETS)
def test_of_a_pipeline_as_halide(target):
    for hl in (tilefuse, halide):
        k, x, f = hl.Param(hl.Int(32), "k"), hl.Var("x"), hl.Func("f")
        f[x] = x + k
        pipeline = hl.Pipeline([f])
        pipeline.add_requirement(k != 0)
        pipeline.add_requirement(k > 0, "less than nothing:", k)
        run = (lambda p=pipeline: p.realize([3], target)) if hl is tilefuse else (lambda p=pipeline: p.realize([3]))
        k.set(4)
        np.testing.assert_array_equal(np.asarray(run()), [4, 5, 6])
        k.set(0)
        with pytest.raises(hl.HalideError, match=r"Requirement Failed: \(false\)"):
            run()
        k.set(-2)
        with pytest.raises(hl.HalideError, match=r"Requirement Failed: \(false\) less than nothing: -2"):
            run()


@pytest.mark.parametrize("target", TARGETS)
def test_ranges_of_params_as_halide(target):
    for hl in (tilefuse, halide):
        k, x, f = hl.Param(hl.Int(32), "k"), hl.Var("x"), hl.Func("f")
        assert not k.min_value().defined()
        k.set_range(0, 5)
        k.set_min_value(1)
        f[x] = x + k
        for value, words in ((0, "is 0 but must be at least 1"), (6, "is 6 but must be at most 5")):
            k.set(value)
            with pytest.raises(hl.HalideError, match=words):
                f.realize([3], target) if hl is tilefuse else f.realize([3])
        k.set(5)
        np.testing.assert_array_equal(np.asarray(f.realize([3])), [5, 6, 7])
        assert [str(e) for e in (k.min_value(), k.max_value())] == [f"<halide.Expr of type int32: {n}>" for n in (1, 5)]


def test_on_sizes():
    image, x, f = tilefuse.ImageParam(tilefuse.UInt(8), 1, "image"), tilefuse.Var("x"), tilefuse.Func("f")
    f[x] = image[x]
    pipeline = tilefuse.Pipeline(f)
    pipeline.add_requirement(image.width() % 4 == 0, "width", image.width())
    program = pipeline.compile("cpu")
    np.testing.assert_array_equal(program(PIXELS[0, :4]), PIXELS[0, :4])
    assert refused(program, PIXELS[0], shape=(5,)).endswith("(false) width 5")


@pytest.mark.parametrize("target", TARGETS)
def test_promises_of_images_as_halide(target):
    for hl in (tilefuse, halide):
        x, f = hl.Var("x"), hl.Func("f")
        image, n = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Param(hl.Int(32), "n", 5)
        image.dim(0).set_bounds(0, n)
        image.dim(1).set_min(0).set_extent(image.dim(0).extent() - 1)
        f[x] = image[x, 2]
        realize = (lambda f=f: f.realize([3], target)) if hl is tilefuse else (lambda f=f: f.realize([3]))
        image.set(hl.Buffer(PIXELS))
        assert list(realize()) == [10, 11, 12]
        n.set(4)
        with pytest.raises(hl.HalideError, match="image"):
            realize()
        n.set(5)
        image.set(hl.Buffer(PIXELS[:3]))
        with pytest.raises(hl.HalideError, match="image"):
            realize()
    with pytest.raises(CallError, match=r"dim\(1\).extent\(\) of 'image' is 3 but must be 4"):
        realize_ours(PIXELS[:3], target)


def realize_ours(array, target):
    x, f, image = tilefuse.Var("x"), tilefuse.Func("f"), tilefuse.ImageParam(tilefuse.UInt(8), 2, "image")
    image.dim(1).set_extent(4)
    f[x] = image[x, 0]
    image.set(array)
    f.realize([3], target)


def own_values():
    x, f = tilefuse.Var("x"), tilefuse.Func("f")
    r = tilefuse.RDom([(1, 3)])
    f[x] = 0
    f[r] = f[r - 1] + tilefuse.require(f[r - 1] < 3, 1)
    tilefuse.Pipeline(f).to_module()


def of_values():
    x, f = tilefuse.Var("x"), tilefuse.Func("f")
    f[x] = x
    pipeline = tilefuse.Pipeline(f)
    pipeline.add_requirement(f[3] > 0)
    pipeline.to_module()


def of_another_image():
    x, f = tilefuse.Var("x"), tilefuse.Func("f")
    f[x] = x
    pipeline = tilefuse.Pipeline(f)
    pipeline.add_requirement(tilefuse.ImageParam(tilefuse.UInt(8), 1, "p").width() > 0)
    pipeline.to_module()


def no_condition():
    tilefuse.require(tilefuse.Var("x"), 1)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (own_values, "require in an update of Func 'f' depends on the Func itself"),
        (of_values, "a requirement of a Pipeline is one on Params and sizes of images, not on values"),
        (of_another_image, "a requirement asks for the size of 'p', which the pipeline does not read"),
        (no_condition, "a requirement is a bool, not int32: x"),
    ],
)
def test_mistakes(mistake, message):
    with pytest.raises(PipelineError) as raised:
        mistake()
    assert message in str(raised.value)
    assert str(raised.value).startswith(f"{__file__}:")
