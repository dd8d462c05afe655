"""Conversion helpers of floats below 32 bits, which kernels compute in `float`, for C and CUDA.

For each such float `x` of the table of element types there are `x_to_f32` and `f32_to_x` (from and to its bits),
`round_x` and `round_x_f64` (a float or double rounded to it, in a float), and where a float does not hold all integers
that it reaches `u64_to_x` and `s64_to_x`. Those of f16 that hardware or compilers have are each language's own.
"""

from __future__ import annotations

from tilefuse.dialects.img.elements import FLOATS
from tilefuse.lowering.printers.helper import Helper

_BITS = ("bitcast_f32_u32", "bitcast_u32_f32")

_BF16 = {
    "bf16_to_f32": Helper(
        "float bf16_to_f32(unsigned short a) { return bitcast_u32_f32((unsigned int)a << 16); }", _BITS[1:]
    ),
    # Round to nearest even on the bits; a NaN stays one.
    "f32_to_bf16": Helper(
        "unsigned short f32_to_bf16(float a) {\n"
        "  unsigned int bits = bitcast_f32_u32(a);\n"
        "  unsigned int nearest = bits + 0x7fffu + ((bits >> 16) & 1u);\n"
        "  return (unsigned short)((a == a ? nearest : bits | 0x400000u) >> 16);\n"
        "}",
        _BITS[:1],
    ),
    # Rounding twice is right if the first rounding is to odd.
    "round_bf16_f64": Helper(
        "float round_bf16_f64(double a) {\n"
        "  float f = (float)a;\n"
        "  unsigned int bits = bitcast_f32_u32(f);\n"
        "  if (f == f && (double)f != a && (bits & 1u) == 0u) {\n"
        "    const int up = a < 0 ? (double)f > a : (double)f < a;\n"
        "    f = bitcast_u32_f32(up ? bits + 1u : bits - 1u);\n"
        "  }\n"
        "  return round_bf16(f);\n"
        "}",
        (*_BITS, "round_bf16"),
    ),
    # What a double cannot hold is rounded to odd first.
    "u64_to_bf16": Helper(
        "float u64_to_bf16(unsigned long long a) {\n"
        "  const unsigned long long odd = (a & ~0xfffull) | (a & 0xfffull ? 0x1000ull : 0ull);\n"
        "  return round_bf16_f64((double)(a >> 53 ? odd : a));\n"
        "}",
        ("round_bf16_f64",),
    ),
    "s64_to_bf16": Helper(
        "float s64_to_bf16(long long a) {\n"
        "  const float size = u64_to_bf16(a < 0 ? 0 - (unsigned long long)a : (unsigned long long)a);\n"
        "  return a < 0 ? -size : size;\n"
        "}",
        ("u64_to_bf16",),
    ),
}


def _rounding(x: str) -> Helper:
    return Helper(f"float round_{x}(float a) {{ return {x}_to_f32(f32_to_{x}(a)); }}", (f"{x}_to_f32", f"f32_to_{x}"))


NARROW_FLOAT_HELPERS: dict[str, Helper] = {
    **_BF16,
    **{f"round_{row.name}": _rounding(row.name) for row in FLOATS.values() if row.is_narrow_float},
}
