"""The types of expressions are those of the halide wheel, and where it raises an error we do."""

import itertools
import warnings

import pytest

import tilefuse

halide = pytest.importorskip("halide")

TYPES = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64", "f16", "bool"]


def environment(hl):
    x, y = hl.Var("x"), hl.Var("y")
    values = {
        name: hl.cast(getattr(hl, {"u": "UInt", "i": "Int", "f": "Float"}[name[0]])(int(name[1:])), x)
        for name in TYPES
        if name != "bool"
    }
    return {"hl": hl, "x": x, "y": y, "bool_": x > 1, **values}


def type_of(hl, text):
    """The type of the expression `text`, or "error"."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(eval(text, environment(hl)).type())
        except (halide.HalideError, tilefuse.PipelineError):
            return "error"


def agree(text):
    ours, theirs = type_of(tilefuse, text), type_of(halide, text)
    assert ours == theirs, f"{text} is {ours}; in Halide {theirs}"
    return ours


@pytest.mark.parametrize("op", ["+", "*", "/", "%", "<", "&", "<<"])
def test_every_pair_of_types(op):
    found = set()
    names = [n for n in TYPES if n != "bool"] + ["bool_"]
    if op == "&":
        # Halide takes float & integer as bits and says nothing; that is an error here.
        names = [n for n in names if n[0] != "f"]
    if op == "<<":
        names = [n for n in names if n[0] not in "fb"]
    for a, b in itertools.product(names, repeat=2):
        found.add(agree(f"{a} {op} {b}"))
    assert len(found) > 1 or op == "<"


@pytest.mark.parametrize(
    "text",
    """u8 + 1; u8 + 300; u8 - (-1); 300 + u8; 5 - u8; f32 + 1; u8 + 1.5; 1.5 + x; f16 * 0.1
    f64 + 0.1; i32 + 2**40
    u8 + 2**40; u8 + True; x + True; u8 == 300; u8 == -1; u8 < 255; bool_ + 1; x / 2; x // 2
    u8 // 2; f32 // 2
    2.5 // u8; f32 % 2; x % 2.5; 2**x; x**2; f32**2; u8**2; u8 << 1; u8 << 300; i32 << -1; 1 << u8; u32 >> i8
    i16 << u32; u8 & 3; 3 & u8; u8 & 300; u8 & i16; u8 | hl.Expr(3); bool_ & u8; bool_ ^ bool_
    ~u8; ~bool_; ~f32
    -u8; -bool_; -x; hl.Expr(3); hl.Expr(3.5); hl.Expr(True); hl.Expr(2**31); hl.Expr(-2**31)
    hl.u8(300); hl.u8(True); hl.cast(hl.Bool(), x); hl.f64(0.1); hl.u8(x) + hl.Expr(3); x - hl.Expr(True)
    hl.min(u8, 1); hl.min(1, u8); hl.min(x, 1.5); hl.min(u8, 1, x); hl.max(1, 2); hl.max(1.5, 2)
    hl.abs(i8); hl.abs(x); hl.abs(3); hl.abs(-3.5); hl.abs(u8); hl.absd(u8, i8); hl.absd(i8, i8)
    hl.absd(f32, i8)
    hl.absd(u8, 1); hl.pow(x, 2); hl.pow(x, -2); hl.pow(f32, 2.0); hl.pow(f64, f32); hl.pow(f16, 2.5)
    hl.pow(u8, hl.u8(2)); hl.fast_pow(x, 2); hl.fast_pow(f64, 2.5); hl.atan2(x, y); hl.atan2(f64, 1.0)
    hl.select(bool_, u8, 7); hl.select(bool_, 1, 2.5); hl.select(bool_, 1, 2); hl.select(x, 1, 2)
    hl.select(True, 1, 2); hl.select(bool_, f32, 1); hl.select(bool_, f64, 2.5); hl.select(bool_, u8, u16)
    hl.select(bool_, u8, x > 2, 1, 5); hl.select(bool_, u8, x > 2, u16, 5)
    hl.select(bool_, hl.u8(1), hl.i16(2))
    hl.clamp(u8, 0, 300); hl.clamp(x, 0, u8); hl.clamp(f32, 0, 1); hl.clamp(u8, i16, 3)
    hl.clamp(f16, 0.5, 1.0)
    hl.clamp(x, 0.0, 1.0); hl.clamp(x, -1, u32); hl.clamp(u8, hl.u8(3), True)
    hl.lerp(u8, u8, f32); hl.lerp(u8, u8, u8); hl.lerp(f32, 1, 0.5); hl.lerp(0.0, f64, f32)
    hl.lerp(0, 255, f32)
    hl.lerp(u8, u8, 2.0); hl.lerp(u8, u8, i8); hl.lerp(f32, f32, u8)
    hl.mux(x, [u8, u8]); hl.mux(x, [1, 2.5]); hl.likely(x); hl.u8_sat(f32); hl.i8_sat(u8); hl.u64_sat(f32)
    hl.saturating_cast(hl.UInt(8), bool_); hl.saturating_cast(hl.Float(16), f32)
    hl.saturating_cast(hl.Int(8), 300)
    hl.reinterpret(hl.UInt(32), f32); hl.fract(x); hl.hypot(x, y); hl.is_nan(f32); hl.is_nan(x)
    hl.logical_not(bool_); hl.logical_not(x); hl.UInt(8).max(); hl.Int(16).min()
    """.strip()
    .replace("\n", ";")
    .split(";"),
)
def test_expression(text):
    agree(text.strip())


FUNCTIONS = """sqrt exp log sin cos tan tanh asin acos atan sinh cosh asinh acosh atanh erf floor
ceil round trunc
fast_exp fast_log fast_inverse fast_inverse_sqrt"""


@pytest.mark.parametrize("name", FUNCTIONS.split())
def test_functions_of_floats(name):
    for argument in ("x", "u8", "f16", "f32", "f64", "2"):
        if name == "erf" and argument != "f32":
            continue
        agree(f"hl.{name}({argument})")


def test_a_constant_of_a_cast_wraps():
    assert tilefuse.u8(300).data == 44
    assert tilefuse.i8(200).data == -56
    assert tilefuse.f64(0.1).data == 0.1
    assert tilefuse.Expr(0.1).data != 0.1


def test_types_describe_themselves():
    u8 = tilefuse.UInt(8)
    assert u8 == tilefuse.UInt(8) != tilefuse.Int(8)
    assert (u8.bits(), u8.is_uint(), u8.is_float(), str(tilefuse.Bool())) == (8, True, False, "bool")
    assert tilefuse.Float(32).can_represent(tilefuse.UInt(16))
    assert not tilefuse.Float(32).can_represent(tilefuse.Int(32))
    with pytest.raises(tilefuse.PipelineError, match=r"there is no UInt\(7\); widths are 8, 16, 32, 64"):
        tilefuse.UInt(7)
