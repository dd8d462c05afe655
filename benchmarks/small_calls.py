"""Calls for small pictures on a CPU, beside the least time that their arithmetic takes on one core: see README.md.

    OMP_NUM_THREADS=1 python benchmarks/small_calls.py --size 64x64 --out small.json [--only canny]

`floor` counts each function at the points that the picture needs, once: `execution/facts.py` says the points, the cost
model's counters the instructions, and the machine's row how many vectors a core computes in a nanosecond.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from apps import is_picture, photograph
from cpu import conditions

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]

CALLS = 3000
"""Calls of an example, at most, of which the least counts."""


def floor(module: Any, extent: tuple[int, ...]) -> float:
    """Return the least microseconds of one core for a picture's arithmetic, inlined as the compiler does, or not."""
    from tilefuse.analysis.machine import machine
    from tilefuse.passes.group_stages import GroupStages
    from tilefuse.passes.inline_stages import InlineStages
    from tilefuse.passes.pipeline import run_passes, standard_passes

    passes = standard_passes("cpu", extent=extent)
    names = [p.name for p in passes]
    kept = [p for p in passes[: names.index("tile")] if p.name not in ("inline-columns", "inline-windows")]
    alone = [replace(p, algorithm="none") if isinstance(p, GroupStages) else p for p in kept]
    on = machine("cpu")
    ways = (alone, [p for p in alone if not isinstance(p, InlineStages)])
    least = min(_instructions(run_passes(module, way), extent) for way in ways)
    return least / (on.instructions_per_us / on.cores)


def _instructions(module: Any, extent: tuple[int, ...]) -> float:
    """Count the instructions of vector lanes of 4 bytes of all functions, each at its needed points once.

    A point that is scattered takes a vector's time for its load, its sum and its store.
    """
    from tilefuse.analysis.machine import machine
    from tilefuse.analysis.model import extract
    from tilefuse.analysis.updates import Axis, UpdateFacts
    from tilefuse.dialects.img.ops import PipelineOp, StageOp, UpdateOp
    from tilefuse.execution.facts import GroupFacts

    (pipeline,) = (op for op in module.body.block.ops if isinstance(op, PipelineOp))
    model, total = extract(pipeline, extent), 0.0
    for node in model.nodes:
        if node.needed is None:
            continue
        if isinstance(node.op, StageOp):
            total += math.prod(node.needed) * _of_a_point(node, model.nodes)
        elif isinstance(node.op, UpdateOp):
            work = GroupFacts(model, [node.id], node.id, extent).update_work
            if Axis.Scatter in UpdateFacts(node.op).axes:
                total += 3 * math.prod(work.pure) * work.steps * machine("cpu").vector_bytes / 4
            else:
                total += work.instructions
    return total


def _of_a_point(node: Any, nodes: Sequence[Any]) -> float:
    """Count the lanes of 4 bytes of a stage's point: narrower numbers take a part of one."""
    from xdsl.dialects.builtin import IndexType

    from tilefuse.analysis.instructions import instruction_cost
    from tilefuse.dialects.img.types import element_bytes

    def width(type: Any) -> float:
        return 1.0 if isinstance(type, IndexType) else element_bytes(type) / 4

    inner = [op for op in node.op.body.block.ops if op.results and op.name != "img.read"]
    loads = sum(len(set(offsets)) * nodes[p].bytes / nodes[p].values / 4 for p, offsets in node.offsets.items())
    return sum(instruction_cost(op) * width(op.results[0].type) for op in inner) + node.bytes / 4 + loads


def least(call: Callable[[], Any], seconds: float) -> float:
    """Return the least microseconds of a call."""
    end, found = time.perf_counter() + seconds, math.inf
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        now = time.perf_counter()
        found = min(found, now - start)
        if now > end:
            break
    return found * 1e6


def measured(example: Any, size: tuple[int, int], seconds: float) -> dict[str, float]:
    """Measure an example at a size."""
    inputs = [
        np.ascontiguousarray(np.moveaxis(a, -1, 0)) if is_picture(a) else a
        for a in example.inputs(photograph(*size, 0))
    ]
    box = example.box(inputs[0].shape)
    program = example.pipeline().compile("cpu", extent=size)
    out = program(*inputs, **box)
    mins = {"mins": box["mins"]} if "mins" in box else {}
    program(*inputs, **mins, out=out)
    us = least(lambda: program(*inputs, **mins, out=out), seconds)
    lowest = floor(example.pipeline().to_module(example.name), tuple(reversed(out.shape)))
    return {"us": round(us, 1), "floor": round(lowest, 2), "ratio": round(us / lowest, 1)}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure all examples."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", default="64x64", help="columns x rows of the photograph")
    parser.add_argument("--only", action="append", help="an example; may be repeated")
    parser.add_argument("--seconds", type=float, default=1.0, help="of calls of each example")
    parser.add_argument("--out", type=Path, help="JSON to write")
    options = parser.parse_args(argv)
    from _all import EXAMPLES

    from tilefuse.runtime.errors import CallError

    width, height = map(int, options.size.split("x"))
    results: dict[str, Any] = {"size": options.size, **conditions(), "examples": {}}
    for name in options.only or EXAMPLES:
        found: dict[str, Any]
        try:
            found = measured(EXAMPLES[name], (width, height), options.seconds)
        except CallError as error:  # of a picture that is too small for it
            found = {"refused": str(error)}
        results["examples"][name] = found
        print(name, found, flush=True)
        if options.out is not None:
            options.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
