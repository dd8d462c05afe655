"""A pipeline with the arrays, params and sizes of one call of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr

from tilefuse.analysis.bounds import Box
from tilefuse.dialects.img.ops import InputOp, PipelineOp


@dataclass
class RandomPipeline:
    """A pipeline and one call of it."""

    module: ModuleOp
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    """As a caller passes them: axes reversed against the dimensions, or (height, width, channel)."""
    params: dict[str, int | float] = field(default_factory=dict)
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Extents of every output."""
    mins: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """First coordinates of inputs and outputs."""
    tolerance: dict[str, float] = field(default_factory=dict)
    """Absolute tolerance of an output against the evaluator's."""

    @property
    def pipeline(self) -> PipelineOp:
        """The one pipeline of the module."""
        (op,) = self.module.body.block.ops
        assert isinstance(op, PipelineOp)
        return op

    @property
    def output_boxes(self) -> dict[str, Box]:
        """(min, extent) per dimension of every output."""
        return {name: tuple(zip(self.mins[name], size, strict=True)) for name, size in self.sizes.items()}

    @property
    def grids(self) -> dict[str, np.ndarray]:
        """The inputs with axes reversed against the dimensions: interleaved ones as planar views."""
        ops = {op.sym_name.data: op for op in self.pipeline.body.block.ops if isinstance(op, InputOp)}
        return {
            name: np.moveaxis(array, 2, 0) if is_interleaved(ops[name]) else array
            for name, array in self.inputs.items()
        }

    def __repr__(self) -> str:
        shapes = {name: (a.shape, a.strides) for name, a in self.inputs.items()}
        call = f"inputs (shape, strides) {shapes}\nparams {self.params}\nsizes {self.sizes}\nmins {self.mins}"
        return f"RandomPipeline\n{self.module}\n{call}\ntolerance {self.tolerance}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        # hypothesis would print all fields, and the IR's, without end
        printer.text(repr(self))


def is_interleaved(op: InputOp) -> bool:
    """Whether the array of an input has its channels last."""
    layout = op.attributes.get("img.array_layout")
    return isinstance(layout, StringAttr) and layout.data == "interleaved"
