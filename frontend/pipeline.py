"""Pipeline: Funcs to compute together, as a module of the img dialect or compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from tilefuse.collector import collector_off
from tilefuse.dialects.img.ops import PipelineOp
from tilefuse.frontend.errors import fail
from tilefuse.frontend.func import Func
from tilefuse.frontend.infer import infer_input_bounds
from tilefuse.frontend.inputs import Image, ImageParam, Param
from tilefuse.frontend.inspection import Inspection
from tilefuse.frontend.realize import realize
from tilefuse.frontend.require import Requirement, requirement
from tilefuse.frontend.schedule import ScheduleCall, warn_of
from tilefuse.frontend.target import Target, target_name

if TYPE_CHECKING:
    import networkx as nx


class Pipeline(Inspection):
    """A Func, or a list of Funcs, that one call computes."""

    def __init__(self, outputs: Any = None):
        self._outputs: tuple[Func, ...] = ()
        self._programs: dict[Any, Any] = {}
        self._requirements: list[Requirement] = []
        if outputs is None:  # undefined
            return
        funcs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
        if not funcs:
            fail("a Pipeline has at least one output")
        for func in funcs:
            if not isinstance(func, Func):
                fail(f"the output of a Pipeline is a Func, not {func!r}")
        self._outputs = tuple(funcs)

    def defined(self) -> bool:
        """Whether it has outputs: `Pipeline()` has none."""
        return bool(self._outputs)

    def __repr__(self) -> str:
        names = [f.name() for f in self._outputs]
        return f"<halide.Pipeline {names}>" if names else "<halide.Pipeline Pipeline()>"

    def outputs(self) -> list[Func]:
        """The Funcs that it computes."""
        return list(self._outputs)

    @collector_off()
    def to_module(self, name: str | None = None, *, layouts: Mapping[str, str] | None = None) -> ModuleOp:
        """The algorithm as IR of level 1: an `img.pipeline` called `name`, else as the first output is.

        `layouts`: how the arrays of images are read that do not say it themselves, by name.
        PipelineError for a Func that is not defined, or two inputs of one name.
        """
        if not self._outputs:
            fail("Pipeline() is undefined: it has no outputs")
        # Late: to write a pipeline nothing is needed of what builds IR.
        from tilefuse.frontend.build import build_module

        return build_module(self._outputs, name, layouts or {}, self._requirements)

    def add_requirement(self, condition: Any, *message: Any) -> None:
        """Refuse calls whose Params and sizes do not fulfil `condition`; the message is numbers, Exprs and texts."""
        self._requirements.append(requirement(condition, message))

    def inputs(self) -> tuple[list[Image[Any]], list[Param]]:
        """The images and Params that it needs, each in the order they were made in."""
        from tilefuse.frontend.build import inputs_of, reachable

        return inputs_of(reachable(self._outputs), [e for made in self._requirements for e in made.exprs()])

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

        program = compile_pipeline(module, target=target_name(target), **options)
        warn_of(self._schedule_calls())
        return program

    def compile_jit(self, target: str | Target = "auto") -> None:
        """Compile now what a later `realize` for the same target would."""
        self.program(target_name(target), {})

    def infer_input_bounds(self, sizes: Any, target: str | Target = "auto") -> None:
        """Set every ImageParam that has no array to zeros, as large as outputs of these sizes (or Buffers) need it."""
        infer_input_bounds(self, sizes)

    def _inspected(self) -> Pipeline:
        return self

    def get_func(self, index: int) -> Func:
        """The Func at this place of those that it needs, producers first, as in Halide."""
        from tilefuse.frontend.build import reachable

        return [s for s in reachable(self._outputs) if isinstance(s, Func)][index]

    def _schedule_calls(self) -> list[ScheduleCall]:
        from tilefuse.frontend.build import reachable

        return [c for s in reachable(self._outputs) if isinstance(s, Func | ImageParam) for c in s.schedule_calls]

    def realize(self, sizes: Any = None, target: str | Target = "auto", **options: Any) -> Any:
        """Compile, and run on the arrays of Buffers and on what was `set`: a Buffer, or a tuple of Buffers.

        `sizes`: extents of every output from 0, x first; without it, as many points as the inputs allow. Or a Buffer,
        or one for each value of the outputs, which are written, each over its own box; then there is no result.
        """
        return realize(self, sizes, target, options)

    def output_names(self) -> list[tuple[str, Func]]:
        """The name of each value that it computes, and of which Func it is."""
        return [
            (f.name() if f.outputs() == 1 else f"{f.name()}.{i}", f) for f in self._outputs for i in range(f.outputs())
        ]

    def program(self, target: Any, options: dict[str, Any], layouts: Mapping[str, str] | None = None) -> Any:
        """The program for a target, kept from an earlier `realize` of the same; `layouts`: of images, by name."""
        # By text: bounds that are set after a run make another program.
        module = self.to_module(layouts=layouts)
        key = (str(module), target, repr(sorted(options.items())))
        if key not in self._programs:
            self._programs[key] = self._compiled(module, target, options)
        return self._programs[key]
