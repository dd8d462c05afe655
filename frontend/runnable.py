"""Runnable objects: a Pipeline, or a saved one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilefuse.dialects.img.ops import PipelineOp
from tilefuse.frontend.callable import Callable
from tilefuse.frontend.compilable import Compilable
from tilefuse.frontend.infer import infer_input_bounds
from tilefuse.frontend.inspection import Inspection
from tilefuse.frontend.realize import realize
from tilefuse.frontend.target import Target

if TYPE_CHECKING:
    import networkx as nx


class Runnable(Compilable, Inspection):
    """Base of everything that can be compiled, run, and inspected."""

    def graph(self) -> nx.DiGraph:
        """Return the graph of inputs and stages, as written: see `tilefuse.analysis.graph.stage_graph`."""
        # Late: networkx takes longer to import than all of the language.
        from tilefuse.analysis.graph import stage_graph

        (pipeline,) = self.to_module().body.block.ops
        assert isinstance(pipeline, PipelineOp)
        return stage_graph(pipeline)

    def compile_to_callable(self, arguments: Sequence[Any], target: str | Target = "auto") -> Callable:
        """Compile to a function of these ImageParams and Params, in this order, and a Buffer per output."""
        return Callable(self, arguments, target)

    def infer_input_bounds(self, sizes: Any, target: str | Target = "auto") -> None:
        """Set every ImageParam without array to zeros of the size that outputs of these sizes (or Buffers) need."""
        infer_input_bounds(self, sizes)

    def _inspected(self) -> Compilable:
        return self

    def realize(self, sizes: Any = None, target: str | Target = "auto", **options: Any) -> Any:
        """Compile, and run on the arrays of Buffers and on `set` inputs; return a Buffer, or a tuple of Buffers.

        `sizes`: extents of every output from 0, x first; without it, as many points as the inputs allow. Or a Buffer,
        or one for each value of the outputs, which are written, each over its own box; then there is no result.
        """
        return realize(self, sizes, target, options)
