"""Small helper functions that printed text calls; a module prints those that it uses, and no others.

A `Helper` is the text of a function without its qualifiers, and the helpers it calls itself. The C and CUDA
printers add theirs to `COMMON`.
"""

from __future__ import annotations

from typing import NamedTuple

from tilefuse.lowering.printers.c_types import SIGNED, UNSIGNED


class Helper(NamedTuple):
    """The text of a helper function, and the names of the helpers in it."""

    text: str
    needs: tuple[str, ...] = ()
    alias: str = ""
    """A built-in function to call in its place; then there is no text."""
    rare: bool = False
    """Called so seldom that its text should stand once, out of the way."""


def alias(function: str) -> Helper:
    """A helper that the language has already."""
    return Helper("", (), function)


def _integers() -> dict[str, Helper]:
    types = {f"s{w}": t for w, t in SIGNED.items()} | {f"u{w}": t for w, t in UNSIGNED.items() if w > 1}
    types |= {"idx": "idx", "uidx": "uidx"}
    found: dict[str, Helper] = {}
    for short, t in types.items():
        found[f"min_{short}"] = Helper(f"{t} min_{short}({t} a, {t} b) {{ return a < b ? a : b; }}")
        found[f"max_{short}"] = Helper(f"{t} max_{short}({t} a, {t} b) {{ return a > b ? a : b; }}")
        if short[0] == "u":
            found[f"ceildiv_{short}"] = Helper(f"{t} ceildiv_{short}({t} a, {t} b) {{ return a / b + (a % b != 0); }}")
            continue
        found[f"floordiv_{short}"] = Helper(
            f"{t} floordiv_{short}({t} a, {t} b) {{ return a / b - ((a % b != 0) & ((a < 0) != (b < 0))); }}"
        )
        found[f"ceildiv_{short}"] = Helper(
            f"{t} ceildiv_{short}({t} a, {t} b) {{ return a / b + ((a % b != 0) & ((a < 0) == (b < 0))); }}"
        )
        wide = {"s64": UNSIGNED[64], "idx": "uidx"}.get(short, UNSIGNED[32])
        found[f"abs_{short}"] = Helper(f"{t} abs_{short}({t} a) {{ return a < 0 ? ({t})(0 - ({wide})a) : a; }}")
    return found


def _nan_propagating() -> dict[str, Helper]:
    """minimum and maximum: NaN if one is NaN; minnum and maxnum (in each language) prefer the number."""
    return {
        f"{name}imum_{short}": Helper(
            f"{t} {name}imum_{short}({t} a, {t} b) {{ return a != a ? a : b != b ? b : {name}num_{short}(a, b); }}",
            (f"{name}num_{short}",),
        )
        for name in ("min", "max")
        for short, t in (("f32", "float"), ("f64", "double"))
    }


def _bfloat16() -> dict[str, Helper]:
    bits = ("bitcast_f32_u32", "bitcast_u32_f32")
    return {
        "bf16_to_f32": Helper(
            "float bf16_to_f32(unsigned short a) { return bitcast_u32_f32((unsigned int)a << 16); }", bits[1:]
        ),
        # Round to nearest even on the bits; a NaN stays one.
        "f32_to_bf16": Helper(
            "unsigned short f32_to_bf16(float a) {\n"
            "  unsigned int bits = bitcast_f32_u32(a);\n"
            "  unsigned int nearest = bits + 0x7fffu + ((bits >> 16) & 1u);\n"
            "  return (unsigned short)((a == a ? nearest : bits | 0x400000u) >> 16);\n"
            "}",
            bits[:1],
        ),
        "round_bf16": Helper(
            "float round_bf16(float a) { return bf16_to_f32(f32_to_bf16(a)); }",
            ("bf16_to_f32", "f32_to_bf16"),
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
            (*bits, "round_bf16"),
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
        "round_f16": Helper(
            "float round_f16(float a) { return f16_to_f32(f32_to_f16(a)); }", ("f16_to_f32", "f32_to_f16")
        ),
    }


COMMON: dict[str, Helper] = _integers() | _nan_propagating() | _bfloat16()
