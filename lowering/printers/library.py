"""Helper functions that C and CUDA have in common; the printers of each add theirs to `COMMON`."""

from __future__ import annotations

from tilefuse.lowering.printers.c_types import SIGNED, UNSIGNED
from tilefuse.lowering.printers.helper import Helper
from tilefuse.lowering.printers.narrow_floats import NARROW_FLOATS


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


COMMON: dict[str, Helper] = _integers() | _nan_propagating() | NARROW_FLOATS
