"""What scripts written for Halide say besides algorithms: schedules, targets, small names, pictures."""

import sys
import warnings

import numpy as np
import pytest

import tilefuse
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.runtime.errors import CallError

halide = pytest.importorskip("halide")


def scheduled(hl, name="f"):
    """A pipeline with schedules of many kinds."""
    x, y, xo, yo, xi, yi = (hl.Var(n) for n in "x y xo yo xi yi".split())
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    f, g = hl.Func(name), hl.Func("g")
    f[x, y] = image[x, y] + 1
    g[x, y] = f[x, y] * 2
    f.compute_at(g, xo).store_root().vectorize(x, 8)
    g.tile(x, y, xo, yo, xi, yi, 16, 8).parallel(yo).unroll(xi, 2)
    g.split(xi, xo, yo, 2, hl.TailStrategy.GuardWithIf) if hl is tilefuse else None
    image.in_().compute_root()
    image.dim(0).set_estimate(0, 64)
    g.set_estimates([(0, 64), (0, 32)])
    return image, g


def test_scheduling_calls_are_ignored_with_one_warning():
    _, g = scheduled(tilefuse)
    picture = np.arange(128, dtype=np.uint8).reshape(8, 16)
    with pytest.warns(tilefuse.ScheduleWarning) as found:
        program = tilefuse.Pipeline(g).compile(target="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = program(picture)
    np.testing.assert_array_equal(result, (picture + 1) * 2)
    assert len(found) == 1
    text = str(found[0].message)
    assert "the schedule is found automatically: 10 scheduling calls are ignored (image.in_, image.compute_root" in text
    assert "program.ir('tile')" in text
    assert found[0].filename == __file__


def test_calls_are_in_one_warning_however_often_their_func_is_compiled():
    f = tilefuse.Func("f")
    x = tilefuse.Var("x")
    f[x] = x
    f.vectorize(x, 8)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(2):
            tilefuse.Pipeline(f).compile("reference")
        assert len(found) == 1
        f.parallel(x)
        tilefuse.Pipeline(f).compile("reference")
    assert [w.category for w in found] == [tilefuse.ScheduleWarning] * 2


def test_realize_warns_once_and_programs_without_calls_do_not():
    image, g = scheduled(tilefuse)
    image.set(np.zeros((8, 16), np.uint8))
    with pytest.warns(tilefuse.ScheduleWarning) as found:
        g.realize([16, 8], target="reference")
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g.realize([16, 8], target="reference")
    x, f = tilefuse.Var("x"), tilefuse.Func("f")
    f[x] = x
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f.realize([4], target="cpu")


def test_bounds_by_sizes():
    found = []
    for hl in (halide, tilefuse):
        x, c, f, image = hl.Var("x"), hl.Var("c"), hl.Func("f"), hl.ImageParam(hl.UInt(8), 2, "image")
        f[x, c] = image[x, c] + 1
        f.bound(c, 0, image.height()).bound(x, 0, hl.Expr(4))
        image.set(hl.Buffer(np.arange(12, dtype=np.uint8).reshape(3, 4)))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found.append(np.asarray(f.realize([4, 3])).tolist())
        assert hl is halide or [w.category for w in said] == [tilefuse.ScheduleWarning]
    assert found[0] == found[1]
    g = tilefuse.Func("g")
    g[x] = x
    g.bound(x, 0, tilefuse.Expr(4))
    with pytest.raises(tilefuse.HalideError, match=r"Bounds given for g in x \(from 0 to 3\) do not cover required"):
        g.realize([5])


def test_what_is_no_scheduling_call_is_an_error():
    x, f = tilefuse.Var("x"), tilefuse.Func("f")
    f[x] = x
    with pytest.raises(AttributeError, match="a Func has no attribute 'vectorise'"):
        f.vectorise(x, 8)
    with pytest.raises(AttributeError, match="an ImageParam has no attribute 'tiles'"):
        tilefuse.ImageParam(tilefuse.UInt(8), 2).tiles()


def test_names_of_schedules():
    for kind in "TailStrategy MemoryType DeviceAPI PrefetchBoundStrategy LoopAlignStrategy Partition".split():
        theirs = {m for m in dir(getattr(halide, kind)) if m[0] != "_" and m not in ("name", "value")}
        assert {m.name for m in getattr(tilefuse, kind)} == theirs
    assert tilefuse.LoopLevel.root().where == ("root",)
    assert tilefuse.Var.outermost().name() == halide.Var.outermost().name()


def test_targets():
    for hl in (tilefuse, halide):
        host = hl.get_host_target()
        assert (host.bits, host.has_gpu_feature()) == (64 if sys.maxsize > 2**32 else 32, False)
        gpu = host.with_feature(hl.TargetFeature.CUDA)
        assert gpu.has_feature(hl.TargetFeature.CUDA)
        assert gpu.has_gpu_feature()
        assert not host.has_feature(hl.TargetFeature.CUDA)
        assert not gpu.without_feature(hl.TargetFeature.CUDA).has_gpu_feature()
        gpu.set_feature(hl.TargetFeature.Debug)
        assert gpu.features_all_of([hl.TargetFeature.CUDA, hl.TargetFeature.Debug])
        assert not gpu.features_any_of([hl.TargetFeature.OpenCL])
        parsed = hl.Target("x86-64-linux-cuda")
        assert (parsed.os, parsed.arch, parsed.bits) == (hl.TargetOS.Linux, hl.TargetArch.X86, 64)
        assert parsed.to_string() == "x86-64-linux-cuda"
        made = hl.Target(hl.TargetOS.Windows, hl.TargetArch.X86, 64, [hl.TargetFeature.CUDA])
        assert made.to_string() == "x86-64-windows-cuda"


def test_targets_where_halide_takes_them():
    x, f = tilefuse.Var("x"), tilefuse.Func("f")
    f[x] = x * 2
    host = tilefuse.get_host_target()
    f.compile_jit(host)
    assert list(f.realize([3], host)) == [0, 2, 4]
    assert list(f.realize([3], tilefuse.Target())) == [0, 2, 4]
    assert tilefuse.Pipeline(f).compile(host).target == tilefuse.Pipeline(f).compile("cpu").target
    assert (host.name(), tilefuse.Target().name(), tilefuse.Target("host-cuda").name()) == ("cpu", "auto", "cuda")
    with pytest.raises(PipelineError, match="the target x86-64-linux-opencl asks for a GPU that is not NVIDIA's"):
        tilefuse.Target("x86-64-linux-opencl").name()
    assert tilefuse.host_supports_target_device(host)


def test_halide_error_is_whatever_is_raised():
    x, f = tilefuse.Var("x"), tilefuse.Func("f")
    with pytest.raises(tilefuse.HalideError, match="is read before it is defined"):
        1 + f[x]
    image = tilefuse.ImageParam(tilefuse.UInt(8), 1, "image")
    f[x] = image[x + 5]
    with pytest.raises(tilefuse.HalideError) as raised:
        tilefuse.Pipeline(f).compile("cpu")(np.zeros(4, np.uint8), sizes=(10,))
    assert isinstance(raised.value, CallError)
    with pytest.raises(tilefuse.HalideError):
        tilefuse.Pipeline(f).compile("no such target")


def test_small_names():
    for hl in (tilefuse, halide):
        x = hl.Var("x")
        assert str((x > 3).logical_not().type()) == "bool"
        assert hl.evaluate(hl.Expr(3) * 4 + 2) == 14
        assert hl.evaluate(hl.f32(2.5)) == 2.5
        assert hl.evaluate((hl.Expr(1), hl.f32(0.5))) == (1, 0.5)
        assert str(hl.Handle()) == "handle64"
        assert hl.Handle().is_handle()
        assert hl.Type().bits() == 0
        u8 = hl.UInt(8)
        assert (u8.code(), u8.lanes(), u8.is_scalar(), u8.is_vector()) == (hl.TypeCode.UInt, 1, True, False)
        assert u8.with_code(hl.TypeCode.Int) == hl.Int(8)
        assert (u8.is_max(255), u8.is_min(0), u8.is_max(254)) == (True, True, False)
        assert hl.Type(hl.TypeCode.Float, 32, 1) == hl.Float(32)
        assert str(hl.likely_if_innermost(x).type()) == "int32"
        assert str(hl.unsafe_promise_clamped(x, 0, 7).type()) == "int32"
    with pytest.raises(PipelineError, match="uses the Var 'x', which is not one of its coordinates"):
        tilefuse.evaluate(tilefuse.Var("x") + 1)
    with pytest.raises(PipelineError, match="there is no type uint7"):
        tilefuse.Type(tilefuse.TypeCode.UInt, 7)
    with pytest.raises(PipelineError, match="ImageParam 'p' cannot be of handles"):
        tilefuse.ImageParam(tilefuse.Handle(), 2, "p")


def test_pictures(tmp_path):
    pytest.importorskip("imageio")
    from halide import imageio as theirs

    from tilefuse import imageio as ours

    rgb = np.random.default_rng(1).integers(0, 256, (3, 5, 7)).astype(np.uint8)
    for picture in (rgb, rgb[0]):
        found = []
        for imageio in (ours, theirs):
            path = tmp_path / f"{imageio.__name__}.png"
            imageio.imwrite(path, picture)
            found += [ours.imread(path), theirs.imread(path)]
        for read in found:
            np.testing.assert_array_equal(read, picture)
    assert tilefuse.imageio is ours


@pytest.mark.parametrize("number", [np.uint8(3), np.int16(3), np.int64(3), np.uint64(3), np.float64(0.5), np.bool_(1)])
def test_numbers_of_numpy_are_literals(number):
    def types(hl):
        x = hl.Var("x")
        sides = (x, hl.u8(x), hl.i64(x), hl.f32(x))
        return [str(e.type()) for side in sides for e in (side + number, number * side, hl.Expr(number))]

    assert types(tilefuse) == types(halide)


def test_an_update_that_leaves_nothing_is_warned_of(capfd):
    def define(hl):
        x, f = hl.Var("x"), hl.Func("f")
        f[x] = x
        f[x] = f[x] + 1
        f[0] = 3
        return x, f

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x, f = define(tilefuse)
    with pytest.warns(tilefuse.UpdateWarning, match="Func 'f' has a definition, and this update writes over all of it"):
        f[x] = 2 * x
    x, f = define(halide)
    assert "hides" not in capfd.readouterr().out
    f[x] = 2 * x
    assert "completely hides earlier definitions" in capfd.readouterr().out


def test_an_autoscheduler_is_a_scheduling_call():
    x, f = tilefuse.Var("x"), tilefuse.Func("f")
    f[x] = x
    pipeline = tilefuse.Pipeline(f)
    tilefuse.load_plugin("autoschedule_adams2019")
    pipeline.apply_autoscheduler(
        tilefuse.get_host_target(), tilefuse.AutoschedulerParams("Adams2019", {"parallelism": 8})
    )
    with pytest.warns(tilefuse.ScheduleWarning, match="1 scheduling call is ignored .f.apply_autoscheduler"):
        pipeline.compile(target="reference")
    domain = tilefuse.RDom([tilefuse.Range(1, 3)])
    assert domain.constant_ranges() == [(1, 3)]


def test_what_completes_names_knows_scheduling_calls():
    x, f = tilefuse.Var("x"), tilefuse.Func("f")
    f[x] = x
    f[0] = 1
    for made in (f, f.update(), tilefuse.ImageParam(tilefuse.UInt(8), 1, "image")):
        assert {"parallel", "vectorize"} <= set(dir(made))
    assert "realize" in dir(f)
    with pytest.raises(AttributeError, match=r"a Func has no compile_to_object\(\): compile_to_c writes its code"):
        f.compile_to_object
