"""Schedules whose numbers are drawn at every power of two, for each execution model, as a person may write them.

Such a schedule is refused in one line that says where, or it is quick to lower and to compile: the code that is written
out for a thread has a budget.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from random import Random

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.dialects.parsing import parse_module
from tilefuse.lowering.printers import print_c, print_cuda
from tilefuse.passes.pipeline import lowering_passes, run_passes, standard_passes
from tilefuse.passes.tile import Tile
from tilefuse.passes.validate_occupancy import ValidateOccupancy
from tilefuse.runtime.cpu.c_compiler import _FLAGS, _OPTIONAL_FLAGS
from tilefuse.runtime.cuda.nvrtc import NvrtcNotFound, compile_report, supported_archs

LOWERED = 10.0
"""Seconds to parse, lower and print a kernel."""
COMPILED = 60.0
"""Seconds of a compiler, on a machine that does other things, too."""
TARGETS = ("h200", "zen4")

x, y, k = hl.Var("x"), hl.Var("y"), hl.Var("k")


def _stencil() -> hl.Func:
    image = hl.ImageParam(hl.Float(32), 2, "image")
    around = hl.BoundaryConditions.repeat_edge(image)
    rows, f = hl.Func("rows"), hl.Func("f")
    rows[x, y] = around[x - 1, y] + around[x, y] * 2.0 + around[x + 1, y]
    f[x, y] = rows[x, y - 1] + rows[x, y] * 2.0 + rows[x, y + 1]
    return f


def _update(shape: str) -> hl.Func:
    image, bytes_ = hl.ImageParam(hl.Float(32), 2, "image"), hl.ImageParam(hl.UInt(8), 2, "bytes")
    columns, rows = hl.RDom([(0, image.width())]), hl.RDom([(1, image.height() - 1)])
    f = hl.Func("f")
    if shape == "sums of rows":
        f[y] = 0.0
        f[y] += image[columns.x, y] * image[columns.x, y]
    elif shape == "sums of columns":
        f[x] = 0.0
        f[x] += image[x, rows.x]
    elif shape == "histogram":
        points = hl.RDom([(0, bytes_.width()), (0, bytes_.height())])
        f[k] = hl.u32(0)
        f[hl.cast(hl.Int(32), bytes_[points.x, points.y])] += hl.u32(1)
        f.bound(k, 0, 256)
    elif shape == "lines along y":
        f[x, y] = 0.0
        f[x, rows.x] = f[x, rows.x - 1] * 0.5 + image[x, rows.x]
    elif shape == "lines along x":
        f[x, y] = 0.0
        f[rows.x, y] = f[rows.x - 1, y] * 0.5 + image[rows.x, y]
    elif shape == "steps that data decide":
        f[x, y] = image[x, y]
        f[x, rows.x] = f[x, hl.clamp(hl.cast(hl.Int(32), image[x, rows.x]), 0, rows.x - 1)] + 1.0
    else:
        f[x, y] = 0.0
        f[x, y] += image[columns.x, y] * image[x, columns.x]
    return f


UPDATES = (
    "sums of rows", "sums of columns", "histogram", "lines along y", "lines along x", "steps that data decide",
    "matrix product",
)  # fmt: skip
TILES = {"h200": ("block_tile", "warp_tile"), "zen4": ("block_tile", "row_strip")}


@cache
def scheduled(shape: str, target: str) -> str:
    """A pipeline that runs in a shape of update, or by an execution model of tiles, scheduled for a target; its IR."""
    passes = standard_passes(target)
    if shape not in UPDATES:
        passes = [Tile(target=target, shape=shape) if isinstance(p, Tile) else p for p in passes]
    module = run_passes(hl.Pipeline(_update(shape) if shape in UPDATES else _stencil()).to_module(), passes)
    for group in module.walk():
        group.attributes.pop("occupancy", None)  # it stands for what was drawn as little as the schedule does
    return str(module)


def _number(rng: Random) -> int:
    """Draw a number around a power of two, small ones more often; sometimes 0 or less."""
    power = rng.choice([rng.randrange(12), rng.randrange(12), rng.randrange(64)])
    return rng.choice([0, -1]) if rng.random() < 0.06 else max(0, (1 << power) + rng.choice([0, 0, 0, 1, -1]))


def _changed(group: GroupOp, rng: Random) -> str:
    """Return the text of a group's schedule, with one or two of its numbers drawn."""
    schedule = group.schedule
    assert schedule is not None
    numbers = {key: n if isinstance(n, int) else list(n) for key, n in schedule.data}
    for key in rng.sample(list(numbers), min(len(numbers), rng.randint(1, 2))):
        number = numbers[key]
        if isinstance(number, int):
            numbers[key] = _number(rng)
        elif number and rng.random() < 0.9:
            number[rng.randrange(len(number))] = _number(rng)
        else:
            numbers[key] = [*number, _number(rng)]
    return f"#{schedule.name}<{', '.join(f'{key} = {n}' for key, n in numbers.items())}>"


def draw(seed: int) -> tuple[str, str]:
    """Return the target and the IR of a seed."""
    rng = Random(f"schedule numbers {seed}")
    target = rng.choice(TARGETS)
    text = scheduled(rng.choice([*UPDATES, *TILES[target], *TILES[target]]), target)
    group = rng.choice([op for op in parse_module(text).walk() if isinstance(op, GroupOp)])
    old = str(group.schedule)
    assert old in text
    return target, text.replace(old, _changed(group, rng), 1)


def check(seed: int) -> None:
    """Raise AssertionError where the schedule of a seed takes too long, or its error does not say where it is."""
    target, text = draw(seed)
    warps = target == "h200"
    start = time.process_time()
    try:
        passes = [ValidateOccupancy(target=target)] if seed % 2 else []
        lowered = run_passes(parse_module(text), [*passes, *lowering_passes(warps=warps)])
        code = print_cuda(lowered) if warps else print_c(lowered)
    except PipelineError as error:
        _check_error(error, text)
        return
    finally:
        assert (spent := time.process_time() - start) < LOWERED, (spent, text)
    seconds = _nvrtc(code) if warps else _gcc(code)
    assert seconds < COMPILED, (seconds, text)


def _check_error(error: PipelineError, text: str) -> None:
    assert error.position is not None, (error, text)
    assert str(error).count("\n") < 8, (error, text)


def _nvrtc(code: str) -> float:
    start = time.process_time()
    try:
        arch = "sm_90" if "sm_90" in supported_archs() else supported_archs()[-1]
        compile_report(code, arch)
    except NvrtcNotFound:
        return 0.0
    return time.process_time() - start


def _gcc(code: str) -> float:
    if shutil.which("gcc") is None:
        return 0.0
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernels.c"
        source.write_text(code + "\n")
        command = ["gcc", *_FLAGS, *_OPTIONAL_FLAGS, "-fopenmp", "-o", f"{folder}/kernels.so", str(source), "-lm"]
        start = time.perf_counter()
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=COMPILED)
        except subprocess.TimeoutExpired:
            return COMPILED
        return time.perf_counter() - start
