"""Helper functions that C and CUDA share; each printer adds its own to `COMMON`."""

from __future__ import annotations

import re

from tilefuse.dialects.img.integer_operations import INTEGER_OPERATIONS, Reading
from tilefuse.lowering.printers.c_types import SIGNED, UNSIGNED
from tilefuse.lowering.printers.helper import Helper
from tilefuse.lowering.printers.narrow_floats import NARROW_FLOAT_HELPERS


def _integers() -> dict[str, Helper]:
    """Return the helpers of integer operations, for every type in the operation's signedness."""
    of_reading = {
        Reading.SIGNED: {"idx": "idx", **{f"s{w}": t for w, t in SIGNED.items()}},
        Reading.UNSIGNED: {"uidx": "uidx", **{f"u{w}": t for w, t in UNSIGNED.items() if w > 1}},
    }
    found: dict[str, Helper] = {}
    for row in INTEGER_OPERATIONS:
        if not row.body:
            continue
        names = "ab"[: len(row.op.get_irdl_definition().operands)]  # type: ignore[attr-defined]
        for short, t in of_reading[row.reading].items():
            wide = {"64": UNSIGNED[64], "dx": "uidx"}.get(short[-2:], UNSIGNED[32])
            body = re.sub(r"\bU\b", wide, re.sub(r"\bT\b", t, row.body))
            parameters = ", ".join(f"{t} {name}" for name in names)
            found[f"{row.c}_{short}"] = Helper(f"{t} {row.c}_{short}({parameters}) {{ return {body}; }}")
    return found


def _nan_propagating() -> dict[str, Helper]:
    """Return minimum and maximum, which give NaN if an operand is NaN; minnum and maxnum prefer the number."""
    return {
        f"{name}imum_{short}": Helper(
            f"{t} {name}imum_{short}({t} a, {t} b) {{ return a != a ? a : b != b ? b : {name}num_{short}(a, b); }}",
            (f"{name}num_{short}",),
        )
        for name in ("min", "max")
        for short, t in (("f32", "float"), ("f64", "double"))
    }


COMMON: dict[str, Helper] = _integers() | _nan_propagating() | NARROW_FLOAT_HELPERS
