"""What expressions compute is what the halide wheel computes: the evaluator against Halide on the CPU."""

import re
import warnings

import numpy as np
import pytest

import tilefuse
from tilefuse.dialects.verification import verify
from tilefuse.evaluator import evaluate

halide = pytest.importorskip("halide")

WIDTH, HEIGHT = 67, 31


def _arrays():
    rng = np.random.default_rng(7)
    found = {}
    for name in "u8 i8 u16 i16 u32 i32 u64 i64".split():
        # longlong is the 64-bit integer whose buffers Halide takes.
        dtype = np.dtype({"u64": "Q", "i64": "q"}.get(name, f"{name[0]}{int(name[1:]) // 8}"))
        info = np.iinfo(dtype)
        array = rng.integers(info.min, info.max, (HEIGHT, WIDTH), dtype=dtype, endpoint=True).view(dtype)
        array.flat[:4] = [0, info.max, info.min, 1]
        found[name] = array
    found["f32"] = rng.uniform(-300, 300, (HEIGHT, WIDTH)).astype("f4")
    found["f64"] = rng.uniform(-300, 300, (HEIGHT, WIDTH))
    found["unit"] = rng.uniform(0, 1, (HEIGHT, WIDTH)).astype("f4")
    return found


ARRAYS = _arrays()


def define(hl, text):
    """A Func called "out" of the expression `text`, in which `u8` is an image of that type at (x, y)."""
    x, y = hl.Var("x"), hl.Var("y")
    names = {"hl": hl, "x": x, "y": y}
    for name, array in ARRAYS.items():
        if re.search(rf"(?<!\.)\b{name}\b", text):
            names[name] = hl.Buffer(array, name)[x, y]
    out = hl.Func("out")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out[x, y] = eval(text, names)
    return out


def both(text):
    """(what Halide computes, what we compute)."""
    theirs = np.asarray(define(halide, text).realize([WIDTH, HEIGHT]))
    module = tilefuse.Pipeline(define(tilefuse, text)).to_module()
    verify(module)
    inputs = {name: array for name, array in ARRAYS.items() if f'img.input "{name}"' in str(module)}
    ours = evaluate(module, inputs, output_boxes={"out": [(0, WIDTH), (0, HEIGHT)]})["out"]
    return theirs, ours


EXACT = """
u8 + u8; u8 * 3 - i8; i32 / 7; i32 // i8; i32 % i8; i32 % -3; u32 / u8; u16 - i16; i16 * i16; u64 / 3; i64 % 7
u8 << 3; i16 >> 2; i32 >> hl.u32(u8 % 31); hl.i32(i16) << hl.i32(i8 % 5 - 2); u8 & u16; ~i8; u8 ^ 255; -u8
i8 < u8; u32 < i32; hl.abs(i8); hl.abs(i32); hl.absd(u8, i8); hl.absd(i16, i16 / 3)
hl.u8(f32 / 2 + 150); hl.i16(f32); hl.u32(f32 + 300); hl.i64(f32); hl.u64(unit * 1e6)
hl.u8_sat(f32); hl.i8_sat(i32); hl.u16_sat(i64); hl.i32_sat(f64 * 1e9); hl.u8_sat(i8); hl.i8_sat(u8)
hl.cast(hl.Bool(), i8); hl.u8(i8 > 3) + 1; hl.f32(u32); hl.f32(i64); hl.saturating_cast(hl.Float(32), f64)
f32 % 7; f32 // 3.5; hl.floor(f32) + hl.ceil(f32); hl.round(f32); hl.round(hl.floor(f32) / 2); hl.trunc(f32)
hl.sqrt(hl.abs(f32)); f32**3; i32**3; -f32; hl.fract(f32); hl.f64(x) + 0.1; hl.is_nan(hl.log(f32))
hl.select(f32 > 0, u8, 7); hl.select(i8 > 3, 1, i8 < -5, 2, 3); hl.clamp(i16, -100, 100); hl.min(u8, i8, x)
hl.max(f32, 0); hl.mux(x % 4, [u8, hl.u8(u16), hl.u8(1)]); hl.reinterpret(hl.UInt(32), f32)
hl.lerp(u8, hl.u8(u16), unit); hl.lerp(u8, hl.u8(u16), u8); hl.lerp(u8, hl.u8(u16), u16)
hl.lerp(u8, hl.u8(u16), u32); hl.lerp(u16, hl.u16(i16), u8); hl.lerp(u16, hl.u16(i16), unit)
hl.lerp(i8, hl.i8(u16), unit); hl.lerp(i16, hl.i16(u16), u8); hl.lerp(u32, hl.u32(i32), unit)
x * y + 1; hl.f32(x) / y; (x - 20) / 3 + (x - 20) % 3; (i8 > 0) & (u8 < 100) | ~(u16 > 9)
(i8 > 0) ^ (u8 < 100); (i8 > 0) < (u8 < 100); (i8 > 0) + (u8 < 100)
hl.cast(hl.Float(16), f32) * 2 + hl.cast(hl.Float(16), unit)
"""

# Relative bounds: Halide's own exp, log, ... are polynomials, and its fast ones are rough.
CLOSE = {
    "f32 * 2.5 + 1": 2e-7,
    "hl.f64(u8) / 3": 3e-16,
    "hl.exp(f32 / 100)": 1e-6,
    "hl.log(unit + 1)": 1e-6,
    "hl.pow(unit + 1, 2.5)": 1e-6,
    "hl.sin(unit) + hl.cos(unit)": 1e-6,
    "hl.tan(unit)": 1e-6,
    "hl.atan(f32)": 1e-6,
    "hl.atan2(f32, unit)": 1e-6,
    "hl.tanh(unit)": 1e-6,
    "hl.lerp(unit, unit + 1, unit)": 1e-6,
    "hl.lerp(unit, unit + 1, u8)": 1e-6,
    "hl.fast_pow(unit, 2.2)": 1e-5,
    "hl.fast_exp(unit)": 1e-5,
    "hl.fast_log(unit + 2)": 1e-5,
    "hl.fast_inverse_sqrt(unit + 1)": 1e-3,
    "hl.hypot(f32, unit)": 1e-6,
}


@pytest.mark.parametrize("text", [t.strip() for t in EXACT.strip().replace("\n", ";").split(";")])
def test_equal(text):
    theirs, ours = both(text)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("text", CLOSE)
def test_close(text):
    theirs, ours = both(text)
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=CLOSE[text])


BOUNDARIES = ["repeat_edge", "mirror_image", "mirror_interior", "repeat_image", "constant_exterior"]


@pytest.mark.parametrize("kind", BOUNDARIES)
@pytest.mark.parametrize("box", ["own", "part", "one dimension"])
def test_boundary_conditions(kind, box):
    array = np.arange(20, dtype=np.int32).reshape(4, 5)

    def define(hl, image, unbounded):
        x, y = hl.Var("x"), hl.Var("y")
        bounds = {
            "own": [],
            "part": [[(1, 3), (0, image.dim(1).extent() - 1)]],
            "one dimension": [[(0, image.width()), unbounded]],
        }[box]
        args = [7] if kind == "constant_exterior" else []
        continued = getattr(hl.BoundaryConditions, kind)(image, *args, *bounds)
        out = hl.Func("out")
        rows = (y % 4) if box == "one dimension" else y - 3
        out[x, y] = continued[x - 4, rows]
        return out

    theirs_image = halide.Buffer(array)
    undefined = (halide.Expr(), halide.Expr())
    theirs = np.asarray(define(halide, theirs_image, undefined).realize([13, 10]))
    module = tilefuse.Pipeline(define(tilefuse, tilefuse.Buffer(array, "b"), None)).to_module()
    verify(module)
    ours = evaluate(module, {"b": array}, output_boxes={"out": [(0, 13), (0, 10)]})["out"]
    np.testing.assert_array_equal(ours, theirs)


def test_reductions_in_halides_order():
    array = ARRAYS["f32"]

    def define(hl):
        x, y = hl.Var("x"), hl.Var("y")
        continued = hl.BoundaryConditions.repeat_edge(hl.Buffer(array, "f32"))
        r = hl.RDom([(-1, 3), (-2, 4)])
        out = hl.Func("out")
        out[x, y] = (
            hl.sum(continued[x + r.x, y + r.y])
            + hl.maximum(r, continued[x + r.x, y] * r.y)
            + hl.minimum(continued[x + r.x, y + r.y])
            + hl.product(hl.f32(r.x * 2 + r.y) + 0.5)
        )
        return out

    theirs = np.asarray(define(halide).realize([WIDTH, HEIGHT]))
    module = tilefuse.Pipeline(define(tilefuse)).to_module()
    verify(module)
    ours = evaluate(module, {"f32": array}, output_boxes={"out": [(0, WIDTH), (0, HEIGHT)]})["out"]
    np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-3)


def test_sums_of_bytes_wrap():
    array = ARRAYS["u8"]

    def define(hl):
        x, y = hl.Var("x"), hl.Var("y")
        r = hl.RDom([(0, 5)])
        out = hl.Func("out")
        out[x, y] = hl.sum(hl.Buffer(array, "u8")[x + r, y])
        return out

    theirs = np.asarray(define(halide).realize([WIDTH - 4, HEIGHT]))
    ours = evaluate(
        tilefuse.Pipeline(define(tilefuse)).to_module(),
        {"u8": array},
        output_boxes={"out": [(0, WIDTH - 4), (0, HEIGHT)]},
    )["out"]
    np.testing.assert_array_equal(ours, theirs)
