"""What can be compiled and run: a Pipeline, and one that was saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from tilefuse.collector import collector_off
from tilefuse.dialects.img.ops import PipelineOp
from tilefuse.frontend.infer import infer_input_bounds
from tilefuse.frontend.inputs import Image, Param
from tilefuse.frontend.inspection import Inspection
from tilefuse.frontend.realize import realize
from tilefuse.frontend.target import Target, target_name
from tilefuse.frontend.types import Type

if TYPE_CHECKING:
    import networkx as nx


class Runnable(Inspection):
    """Inputs, outputs, and the IR from the ones to the others."""

    def __init__(self) -> None:
        self._programs: dict[Any, Any] = {}

    def inputs(self) -> tuple[list[Image[Any]], list[Param]]:
        """The images and Params that it needs, each in the order they were made in."""
        raise NotImplementedError

    def output_types(self) -> dict[str, tuple[Type, int]]:
        """The type and number of dimensions of each value that it computes, by name."""
        raise NotImplementedError

    def to_module(self, name: str | None = None, *, layouts: Mapping[str, str] | None = None) -> ModuleOp:
        """The algorithm as IR of level 1; `layouts`: how the arrays of images are read that do not say it, by name."""
        raise NotImplementedError

    def graph(self) -> nx.DiGraph:
        """Build the graph of inputs and stages, as written: see `tilefuse.analysis.graph.stage_graph`."""
        # Late: networkx takes longer to import than all of the language.
        from tilefuse.analysis.graph import stage_graph

        (pipeline,) = self.to_module().body.block.ops
        assert isinstance(pipeline, PipelineOp)
        return stage_graph(pipeline)

    @collector_off()
    def compile(self, target: str | Target = "auto", *, name: str | None = None, **options: Any) -> Any:
        """Compile for `cuda`, `cpu`, `reference` or `auto`; gives a program that is called with arrays.

        The program takes inputs by position, in the order in which the ImageParams and Buffers were made, or
        by name, and Params by name. `name`: of the pipeline, which begins the names of its kernels; else that
        of the first output. `options` are those of `tilefuse.runtime.program.compile_pipeline`.
        """
        return self._compiled(self.to_module(name), target, options)

    def _compiled(self, module: ModuleOp, target: str | Target, options: Mapping[str, Any]) -> Any:
        from tilefuse.runtime.program import compile_pipeline

        return compile_pipeline(module, target=target_name(target), **options)

    def compile_jit(self, target: str | Target = "auto") -> None:
        """Compile now what a later `realize` for the same target would."""
        self.program(target_name(target), {})

    def infer_input_bounds(self, sizes: Any, target: str | Target = "auto") -> None:
        """Set every ImageParam that has no array to zeros, as large as outputs of these sizes (or Buffers) need it."""
        infer_input_bounds(self, sizes)

    def _inspected(self) -> Runnable:
        return self

    def realize(self, sizes: Any = None, target: str | Target = "auto", **options: Any) -> Any:
        """Compile, and run on the arrays of Buffers and on what was `set`: a Buffer, or a tuple of Buffers.

        `sizes`: extents of every output from 0, x first; without it, as many points as the inputs allow. Or a Buffer,
        or one for each value of the outputs, which are written, each over its own box; then there is no result.
        """
        return realize(self, sizes, target, options)

    def program(self, target: Any, options: dict[str, Any], layouts: Mapping[str, str] | None = None) -> Any:
        """The program for a target, kept from an earlier `realize` of the same; `layouts`: of images, by name."""
        # By text: bounds that are set after a run make another program.
        module = self.to_module(layouts=layouts)
        key = (str(module), target, repr(sorted(options.items())))
        if key not in self._programs:
            self._programs[key] = self._compiled(module, target, options)
        return self._programs[key]
