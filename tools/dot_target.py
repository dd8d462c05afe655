"""`-t dot`: print the stages of each pipeline, and their kernels, as a graph that Graphviz draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from tilefuse.analysis.dot import dot, dot_of_kernels
from tilefuse.analysis.graph import kernel_graph, launch_order, stage_graph
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import PipelineOp


@dataclass(frozen=True)
class DotTarget(Target):
    """Print pipelines at level 1, 2 or 3 in the DOT language, one `digraph` each.

    `kernels`: draw a node per kernel instead of one per stage, and only the edges that do not follow from others.
    """

    name = "dot"

    kernels: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the graphs to `output`; PipelineError for a module without a pipeline."""
        pipelines = [op for op in module.body.block.ops if isinstance(op, PipelineOp)]
        if not pipelines:
            raise PipelineError("no pipeline to draw: the module has no img.pipeline", module)
        for pipeline in pipelines:
            graph = stage_graph(pipeline)
            output.write(dot_of_kernels(launch_order(kernel_graph(graph))) if self.kernels else dot(graph))
