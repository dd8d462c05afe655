"""The example pipelines of calibration, whose text is part of the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import tilefuse
from tilefuse.analysis.model import PipelineModel, extract
from tilefuse.dialects.img.elements import ELEMENTS, array_dtype
from tilefuse.dialects.img.ops import GroupOp, InputOp, PipelineOp
from tilefuse.dialects.parsing import parse_module
from tilefuse.execution.facts import GroupFacts
from tilefuse.passes.pipeline import run_passes, standard_passes
from tilefuse.passes.tile import Tile
from tilefuse.runtime.call.binding import Signature
from tilefuse.runtime.call.guess import likely_specs
from tilefuse.runtime.compile.specialize import find_pipeline, give_outputs_stages, specialize

PIPELINES = {
    "blur_f32": "blur_f32.mlir",
    "blur_u16": "blur_u16.mlir",
    "blur_u8": "blur_u8.mlir",
    "binomial": "binomial.mlir",
    "unsharp": "unsharp.mlir",
    "harris": "harris.mlir",
    "canny": "canny.mlir",
    "box_x4": "stencil9.mlir",
}
"""Examples that become one kernel: the time of several together says little of each."""
QUICK = ("blur_f32", "blur_u16", "binomial", "harris", "box_x4")

CHANNELS = 3


@dataclass(frozen=True)
class Subject:
    """A pipeline of PIPELINES, and its pictures."""

    name: str

    def module(self) -> ModuleOp:
        """Return the algorithm."""
        path = Path(tilefuse.__file__).parent / "examples" / PIPELINES[self.name]
        return parse_module(path.read_text(), path.name)

    def pictures(self, width: int, height: int, seed: int) -> list[np.ndarray]:
        """Return one random array per input."""
        random = np.random.default_rng(seed)
        made = []
        for op in [op for op in find_pipeline(self.module()).body.block.ops if isinstance(op, InputOp)]:
            shape = (height, width) if op.func.type.rank.data == 2 else (CHANNELS, height, width)
            dtype = array_dtype(ELEMENTS[op.func.type.element].dtype)
            if dtype.kind == "f":
                made.append(random.random(shape, np.float32).astype(dtype, copy=False))
            else:
                made.append(random.integers(0, np.iinfo(dtype).max, shape, dtype))
        return made

    def differs(self, got: np.ndarray, expected: np.ndarray) -> str | None:
        """Explain why another schedule's result is wrong, or None; floats are compared with a tolerance."""
        if got.dtype.kind != "f":
            wrong = int(np.count_nonzero(got != expected))
            return f"{wrong} of {got.size} pixels differ" if wrong else None
        off = np.abs(got - expected) > 1e-4 * (np.abs(expected) + np.abs(expected).max())
        wrong = int(np.count_nonzero(off))
        return f"{wrong} of {got.size} pixels differ" if wrong > 1e-4 * got.size else None


@dataclass
class GroupedPipeline:
    """A one-kernel pipeline, as the schedule search sees it."""

    model: PipelineModel
    members: Sequence[int]
    output: int

    def facts(self, extent: Sequence[int]) -> GroupFacts:
        """Return the facts of the group for a picture size, x first."""
        return GroupFacts(self.model, self.members, self.output, extent)


def grouped(module: ModuleOp, target: str) -> GroupedPipeline | None:
    """Return the pipeline after `group-stages`, for usual array layouts; None if it has several kernels."""
    pipeline = find_pipeline(module)
    give_outputs_stages(pipeline)
    specs = likely_specs(pipeline, Signature(pipeline))
    passes = standard_passes(target)
    before = passes[: next(i for i, p in enumerate(passes) if isinstance(p, Tile))]
    done = run_passes(specialize(module, *specs) if specs else module, before)
    (found,) = [op for op in done.body.block.ops if isinstance(op, PipelineOp)]
    groups = [op for op in found.body.block.ops if isinstance(op, GroupOp)]
    if len(groups) != 1:
        return None
    model = extract(found)
    members = [model.node_of[s.funcs[0]] for s in groups[0].stages]
    return GroupedPipeline(model, members, model.node_of[groups[0].anchor.funcs[0]])
