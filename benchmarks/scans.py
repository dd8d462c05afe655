"""Running sums on the GPU, by each schedule that the search may choose: device time beside the bytes moved, as JSON.

python benchmarks/scans.py --output scans.json [--sizes large] [--only "rows f32"]

The chosen schedule is timed first. Constants of `execution/scan/features.py` are set by these times.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import Any

import device
import numpy as np
from beside_hand import beside, run
from xdsl.parser import Parser
from xdsl.passes import ModulePass

import tilefuse as hl
from tilefuse.analysis.recurrence import Recurrence, recurrence
from tilefuse.analysis.updates import UpdateFacts
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.passes.pipeline import new_context, standard_passes
from tilefuse.passes.tile import Tile

SIZES = {"small": (1536, 2560), "large": (8192, 8192)}
LINE = {"small": 1 << 22, "large": 1 << 26}
TYPES = {
    "f32": (hl.Float(32), np.float32), "i32": (hl.Int(32), np.int32), "u8": (hl.UInt(8), np.uint8),
    "f64": (hl.Float(64), np.float64), "u16": (hl.UInt(16), np.uint16),
}  # fmt: skip
CASES = {
    f"{shape}{way} {types}": (shape, *(types.split(" to ") * 2)[:2])
    for shape in ("rows", "columns", "line")
    for way in ("", " in place")
    for types in ("f32", "i32", "u8 to i32", "f64", "u16")
}
"""Line direction, type of the input, type of the sums; sums in place are copied first."""
ALONG_ROWS = (
    "rows = 256, chunk = 16", "rows = 256, chunk = 8", "rows = 512, chunk = 16", "rows = 1024, chunk = 8",
    "rows = 256, chunk = 32", "rows = 128, chunk = 16",
    "slice = 32, unroll = 16, buffers = 4, rows = 4",
    "slice = 64, unroll = 32, buffers = 4, rows = 4",
)  # fmt: skip
ACROSS = (
    "rows = 8, chunk = 16", "rows = 16, chunk = 8", "rows = 8, chunk = 8", "rows = 16, chunk = 16",
    "rows = 32, chunk = 8", "rows = 8, chunk = 32", "rows = 4, chunk = 16",
    "slice = 64, unroll = 32, buffers = 4, rows = 4",
    "slice = 32, unroll = 16, buffers = 4, rows = 4",
)  # fmt: skip
x, y = hl.vars("x y")


@dataclass(frozen=True)
class Given(ModulePass):
    """Gives the running sum a schedule."""

    name = "given"
    text: str = ""

    def apply(self, ctx: Any, op: Any) -> None:
        for group in (g for g in op.walk() if isinstance(g, GroupOp)):
            if group.update is not None and isinstance(recurrence(UpdateFacts(group.update)), Recurrence):
                group.schedule = Parser(new_context(), self.text).parse_attribute()


def _pipeline(name: str) -> hl.Pipeline:
    """Return the pipeline of inclusive running sums; the summed function is not updated in place."""
    shape, read, summed = CASES[name]
    p, f = hl.ImageParam(TYPES[read][0], 1 if shape == "line" else 2, "p"), hl.Func("f")
    along = p.height() if shape == "columns" else p.width()
    r = hl.RDom([(1, along - 1)]).x

    def at(v: Any) -> Any:
        return {"line": (v,), "rows": (v, y), "columns": (x, v)}[shape]

    def term(v: Any) -> Any:
        return hl.cast(TYPES[summed][0], p[at(v)])

    point = (x,) if shape == "line" else (x, y)
    if "in place" in name:
        f[point] = hl.cast(TYPES[summed][0], p[point])
        f[at(r)] += f[at(r - 1)]
        return hl.Pipeline(f)
    f[point] = hl.undef(TYPES[summed][0])
    f[at(0)] = term(0)
    f[at(r)] = f[at(r - 1)] + term(r)
    return hl.Pipeline(f)


def _size(name: str, size: str) -> tuple[int, ...]:
    return (LINE[size],) if name.startswith("line") else SIZES[size]


def _compiled(name: str, size: str, schedule: str | None) -> Any:
    if schedule is None:
        return _pipeline(name).compile("cuda", extent=_size(name, size))
    chip = "h200" if "H200" in device.facts()["gpu"] else "h100"
    lines = {"line": "", "rows": "1", "columns": "32"}[CASES[name][0]]
    if "chunk" not in schedule and lines:
        lines = "32"
    given = Given(f"#schedule.scan<threads = [{lines}], {schedule}>")
    passes = [p for q in standard_passes(chip) for p in ((given, q) if isinstance(q, Tile) else (q,))]
    return _pipeline(name).compile("cuda", passes=passes, extent=_size(name, size))


def _choices(name: str) -> list[str | None]:
    shape = CASES[name][0]
    if shape == "line":
        return [None, *(s for s in ALONG_ROWS if "chunk" in s)]
    return [None, *(ALONG_ROWS if shape == "rows" else ACROSS)]


def _picture(name: str, size: str) -> np.ndarray:
    rng, dtype = np.random.default_rng(1), TYPES[CASES[name][1]][1]
    return rng.integers(0, 4, _size(name, size)[::-1]).astype(dtype)


def prepare(name: str, size: str) -> None:
    """Compile all that is timed of a case."""
    import cupy

    picture = cupy.asarray(_picture(name, "small"))
    for schedule in _choices(name):
        with contextlib.suppress(Exception):  # it comes again where it is timed
            _compiled(name, size, schedule)(picture)


def measure(name: str, size: str, repeat: int) -> dict[str, Any]:
    """Time one case by all schedules; its time is the chosen one's."""
    import cupy

    sets = device.L2_SETS if size == "small" else 2
    picture = _picture(name, size)
    axis = 0 if name.startswith("columns") else picture.ndim - 1
    dtype = TYPES[CASES[name][2]][1]
    given = [cupy.asarray(picture) for _ in range(sets)]
    exact = np.float64 if np.dtype(dtype).kind == "f" else dtype
    wanted = cupy.cumsum(given[0], axis, dtype=exact).astype(np.float64)
    found: dict[str, Any] = {}
    times: dict[str, Any] = {}
    for schedule in _choices(name):
        key = schedule or "chosen"
        try:
            program = _compiled(name, size, schedule)
            outputs = [program(a) for a in given]
            error = float(cupy.max(cupy.abs(outputs[0] - wanted)) / cupy.max(wanted))
            calls = [lambda a=a, o=o, p=program: p(a, out=o) for a, o in zip(given, outputs, strict=True)]
            us = device.cupy_graph_us(calls * (3 if size == "small" else 1), repeat)
            times[key] = {"us": us, "error": error}
            if schedule is None:
                found = beside(us, picture.nbytes + outputs[0].nbytes, None)
                found["schedule"] = re.findall("#schedule.scan<[^>]*>", program.ir("tile"))
            del outputs
        except Exception as failure:  # of one schedule
            times[key] = {"failure": repr(failure)[:300]}
    return found | {"schedules": times}


if __name__ == "__main__":
    run(__doc__, CASES, SIZES, measure, prepare)
