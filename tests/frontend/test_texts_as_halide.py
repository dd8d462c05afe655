"""What objects are printed as, what is undefined, and messages: as with the halide wheel, for scripts look at them."""

import re

import pytest

import tilefuse
from tilefuse.dialects.diagnostics import PipelineError

halide = pytest.importorskip("halide")


def buffer(hl):
    made = hl.Buffer(hl.Int(16), [5, 3])
    made.set_min([2, -1])
    return made


TEXTS = {
    "type": lambda hl: [repr(hl.Int(32)), str(hl.UInt(8)), repr(hl.Float(32, 4)), str(hl.Int(16, 8)), repr(hl.Type())],
    "var": lambda hl: [repr(hl.Var("x")), str(hl.Var("x"))],
    "expr": lambda hl: [repr(hl.Expr(3)), str(hl.Var("x") + 1), repr(hl.Expr()), hl.Expr().defined()],
    "buffer": lambda hl: [repr(buffer(hl)), str(hl.Buffer()), hl.Buffer().defined(), buffer(hl).defined()],
    "param": lambda hl: repr(hl.Param(hl.Int(32), "p")),
    "image": lambda hl: [repr(hl.ImageParam(hl.UInt(16), 2, "im")), str(hl.ImageParam()), str(hl.OutputImageParam())],
    # a name that the process has used before gets a number: f$2
    "func": lambda hl: re.sub(r"\$\d+", "", repr(hl.Func("f"))),
    "pipeline": lambda hl: [str(hl.Pipeline()), repr(hl.Pipeline(hl.lambda_func(hl.Var("x"), 1)))[:17]],
    "rdom": lambda hl: [str(hl.RDom()), hl.RDom().defined(), hl.RDom([(0, 3)]).defined()],
    "tuple": lambda hl: repr(hl.Tuple((hl.Expr(1), hl.Expr(2)))),
    "target": lambda hl: [repr(hl.Target()), str(hl.Target("x86-64-linux-cuda-avx2"))],
}


@pytest.mark.parametrize("what", TEXTS)
def test_texts(what):
    assert TEXTS[what](tilefuse) == TEXTS[what](halide)


def test_types_of_vectors():
    for hl in (tilefuse, halide):
        wide = hl.Int(32).with_lanes(8)
        assert (wide, wide.lanes(), wide.is_vector(), wide.is_scalar()) == (hl.Int(32, 8), 8, True, False)
        assert wide != hl.Int(32)
        assert wide.element_of() == hl.Int(32)
        assert wide.with_bits(16) == hl.Int(16, 8)
        assert wide.with_code(hl.TypeCode.UInt) == hl.UInt(32, 8)
        assert (hl.Type().bits(), hl.Type().lanes()) == (0, 0)
        assert hl.Handle().same_handle_type(hl.Handle())


def test_targets_by_text():
    texts = ["host", "x86-64-linux-cuda", "x86-23", "x86-0", "", "opencl-host", "0-arch_unknown-os_unknown-sse41",
             "arch_unknown-0-os_unknown", "x86-64-linux-avx512_skylake", "x86-64-linux-foo", "cuda",
             "arm-32-android-c_plus_plus_name_mangling"]  # fmt: skip
    for text in texts:
        assert tilefuse.Target.validate_target_string(text) == halide.Target.validate_target_string(text), text
    for text in ("x86-23", "x86-64-linux-foo", "arch_unknown-0-os_unknown"):
        for hl in (tilefuse, halide):
            with pytest.raises(hl.HalideError, match=f"Did not understand Halide target {text}"):
                hl.Target(text)


def test_features_and_devices_of_targets():
    names = {f for f in dir(halide.TargetFeature) if f[0] != "_"} - {"name", "value"}
    assert names == set(tilefuse.TargetFeature.__members__)
    for features in ([], ["AVX"], ["AVX2"], ["AVX512"], ["AVX512_Skylake"], ["SSE41", "CUDA"], ["OpenCL"], ["Metal"]):
        found = []
        for hl in (tilefuse, halide):
            made = hl.Target(
                hl.TargetOS.Linux, hl.TargetArch.X86, 64, [getattr(hl.TargetFeature, name) for name in features]
            )
            sizes = [made.natural_vector_size(t) for t in (hl.UInt(8), hl.Int(16), hl.Float(32), hl.Float(64))]
            devices = [made.supports_device_api(getattr(hl.DeviceAPI, d)) for d in ("CUDA", "Metal", "Host", "OpenCL")]
            types = [made.supports_type(t) for t in (hl.Float(64), hl.Float(32), hl.UInt(8))]
            limits = [made.has_large_buffers(), made.maximum_buffer_size(), made.has_gpu_feature(), made.to_string()]
            found.append([sizes, devices, types, limits])
        assert found[0] == found[1]
    for device in ("CUDA", "Metal", "OpenCL", "Vulkan", "Host", "Hexagon"):
        texts = [str(hl.target_feature_for_device_api(getattr(hl.DeviceAPI, device))) for hl in (tilefuse, halide)]
        assert texts[0] == texts[1]
    for hl in (tilefuse, halide):
        with pytest.raises(TypeError, match="incompatible constructor arguments"):
            hl.Target(hl.TargetOS.Linux, hl.TargetArch.X86, 64, ["CUDA"])


def test_funcs_of_given_types():
    for hl in (tilefuse, halide):
        x, y = hl.Var("x"), hl.Var("y")
        f = hl.Func([hl.Int(32), hl.Float(64)], 3, "f")
        assert (f.defined(), f.types(), f.outputs(), f.dimensions()) == (False, [hl.Int(32), hl.Float(64)], 2, 3)
        with pytest.raises(hl.HalideError, match="it returns a Tuple"):
            f.type()
        g = hl.Func(hl.Int(32), 1, "g")
        with pytest.raises(hl.HalideError, match="to have exactly 1 dimensions, but is defined with 2 dimensions"):
            g[x, y] = hl.i32(0)
        h = hl.Func(hl.Int(32), 2, "h")
        with pytest.raises(hl.HalideError, match="only hold values of type int32 but is defined with values of type i"):
            h[x, y] = hl.i16(0)
        u = hl.Func("u")
        assert re.sub(r"\$\d+", "", u.name()) == "u"
        for question in (u.type, u.outputs, u.dimensions):
            with pytest.raises(hl.HalideError, match="it is undefined"):
                question()
    with pytest.raises(PipelineError, match="Func takes a name, or its types"):
        tilefuse.Func("f", 2)


def test_definitions_that_begin_with_an_update():
    """`f[x] = f[x] + 1` of a Func without definition, in all its forms and mistakes."""
    for hl in (tilefuse, halide):
        x, f = hl.Var("x"), hl.Func("f")
        ref = f[x]
        ref += 1
        with pytest.raises(
            TypeError, match=r"unsupported operand type\(s\) for \+=: .*UnevaluatedFuncRefExpr' and 'int'"
        ):
            ref += 1
        f[x] = ref
        with pytest.raises(hl.HalideError, match="to define an update when a pure definition already exists"):
            f[x] = ref
        with pytest.raises(hl.HalideError, match=r"reference to 'f\$\d+' to define an update at a different location"):
            hl.Func("f")[x] = ref
        assert list(f.realize([2])) == [1, 1]
        g = hl.Func("g")
        g[0] = g[0] - 3
        assert list(g.realize([2])) == [-3, 0]
        h = hl.Func("h")
        with pytest.raises(hl.HalideError, match="to define an update at a different location"):
            h[0] = h[x] + 1
        with pytest.raises(hl.HalideError, match=r"Can't call Func \"h(\$\d+)?\" because it has not yet been defined"):
            h[x] = 1 + h[x]


def test_values_that_are_like_tuples():
    class Pair:
        def __init__(self, *values):
            self.values = values

        def __len__(self):
            return 2

        def __getitem__(self, index):
            return self.values[index]

    for hl in (tilefuse, halide):
        x, f, r = hl.Var("x"), hl.Func("f"), hl.RDom([(1, 3)])
        f[x] = Pair(hl.Expr(x), hl.f32(x) / 2)
        assert type(f[x][0]) is hl.FuncTupleElementRef
        f[r.x] = Pair(f[r.x - 1][0] + 1, hl.f32(7))
        first, second = f.realize([4])
        assert (list(first), list(second)) == ([0, 1, 2, 3], [0, 7, 7, 7])
        best = hl.argmax(r, f[r.x][1])
        assert type(best) is tuple
        assert hl.evaluate((best[0], best[1])) == (1, 7.0)


def test_updates_are_looked_at():
    for hl in (tilefuse, halide):
        x, y, f, r = hl.Var("x"), hl.Var("y"), hl.Func("f"), hl.RDom([(0, 4)], "r")
        f[x, y] = 0
        f[r, y] += r * 2
        assert len(f.update_args()) == 2
        assert str(f.update_value().type()) == "int32"
        assert len(f.rvars()) == 1
        assert f.num_update_definitions() == 1
    assert repr(f_stage()) == "<halide.Stage 'f.update(0)'>"


def f_stage():
    x, f = tilefuse.Var("x"), tilefuse.Func("f")
    f[x] = 0
    f[0] = 1
    return f.update()


def test_dimensions_of_an_rdom():
    for hl in (tilefuse, halide):
        r = hl.RDom([(2, 3), (1, 4)], "r")
        assert [r[0].name(), r[1].name()] == [r.x.name(), r.y.name()]
        for index, error in ((-1, KeyError), (2, KeyError), ("x", TypeError)):
            with pytest.raises(error):
                r[index]
        assert (str(r.x.min()), str(r.y.extent())) == tuple(f"<halide.Expr of type int32: {n}>" for n in (2, 4))
    with pytest.raises(PipelineError, match="RVar 'r' is of no RDom"):
        tilefuse.RVar("r").extent()
    with pytest.raises(PipelineError, match=r"an Expr without a value, Expr\(\), stands where a value is needed"):
        tilefuse.Expr() + 1
    with pytest.raises(PipelineError, match="RVar 'inner' is of no RDom; take the dimension of one"):
        tilefuse.RVar("inner") + 1
    with pytest.raises(PipelineError, match="cast: a value cannot be of int32x8: a type there has one lane"):
        tilefuse.cast(tilefuse.Int(32, 8), 1)
