"""Random pipelines as programs: their passes, their calls, their expected results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from random_case import RandomPipeline, is_interleaved
from xdsl.passes import ModulePass

from tilefuse.dialects.img.ops import InputOp
from tilefuse.evaluator import evaluate
from tilefuse.passes.pipeline import standard_passes
from tilefuse.passes.tile import Tile
from tilefuse.runtime.program import Program

Shape = Literal["auto", "block_tile", "warp_tile", "warp_exchange"]
"""An execution model for all groups; warp_exchange: warp tiles whose rows go from warp to warp."""


def passes(target: str, *, shape: Shape = "auto", algorithm: str = "both") -> list[ModulePass]:
    """Return the standard passes for `target`, with one execution model for all groups."""
    forced: dict[str, object] = {"shape": shape}
    if shape in ("warp_tile", "warp_exchange"):
        forced = {"shape": "warp_tile", "more": f"exchange = {int(shape == 'warp_exchange')}"}
    return [replace(p, **forced) if isinstance(p, Tile) else p for p in standard_passes(target, algorithm=algorithm)]


def pieces(target: str, tile: Tile) -> list[ModulePass]:
    """Return the standard passes for `target`, with all groups tiled by hand."""
    return [tile if isinstance(p, Tile) else p for p in standard_passes(target)]


def warp_tiles(vector: int, warps: int, *, width: int = 0, algorithm: str = "all", **more: int) -> list[ModulePass]:
    """Return the standard passes for an H200, with all groups in warp tiles; `more`: `rows`, `exchange`, ..."""
    numbers = ", ".join(f"{name} = {int(number)}" for name, number in more.items())
    tile = Tile("h200", shape="warp_tile", sizes=(width, 0), threads=(32, warps), vector=vector, more=numbers)
    return [tile if isinstance(p, Tile) else p for p in passes("h200", algorithm=algorithm)]


def evaluated(case: RandomPipeline) -> dict[str, np.ndarray]:
    """Return the evaluator's result for each output, with axes in reverse order of the dimensions."""
    return evaluate(case.module, case.grids, case.params, case.output_boxes, case.mins)


def call(program: Program, case: RandomPipeline) -> dict[str, np.ndarray]:
    """Return the program's outputs for the arrays of `case`, as planar views like `evaluated`."""
    found = program(**case.inputs, **case.params, sizes=case.sizes, mins=case.mins)
    arrays: Sequence[np.ndarray] = found if isinstance(found, tuple) else (found,)
    inputs = [op for op in case.pipeline.body.block.ops if isinstance(op, InputOp)]
    pictures = [op for op in inputs if op.func.type.rank.data == 3]
    # Outputs with channels lie like the first input that has channels.
    interleaved = bool(pictures) and is_interleaved(pictures[0])
    names = [name for name, _ in case.pipeline.return_op.outputs]
    return {
        name: array.transpose(2, 0, 1) if interleaved and array.ndim == 3 else array
        for name, array in zip(names, arrays, strict=True)
    }


def assert_equal(
    found: dict[str, np.ndarray],
    expected: dict[str, np.ndarray],
    where: str,
    tolerance: dict[str, float] | None = None,
) -> None:
    """Bit for bit (NaN equals NaN); with `tolerance`, f32 outputs within it, absolutely."""
    assert found.keys() == expected.keys(), where
    for name, wanted in expected.items():
        got, what = found[name], f"{where}, output '{name}'"
        assert got.dtype == wanted.dtype, what
        allowed = tolerance[name] if tolerance is not None else 0.0
        if allowed and got.dtype == np.float32:
            np.testing.assert_allclose(got, wanted, rtol=0, atol=allowed, err_msg=what)
        else:
            np.testing.assert_array_equal(got, wanted, err_msg=what)
