"""Pipeline: Funcs to compute together, as a module of the img dialect or compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from tilefuse.collector import collector_off
from tilefuse.dialects.img.axes import INTERLEAVED, axis_order, planar
from tilefuse.dialects.img.ops import PipelineOp
from tilefuse.frontend.buffer import Buffer
from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import Expr
from tilefuse.frontend.func import Func
from tilefuse.frontend.inputs import Image, ImageParam
from tilefuse.frontend.schedule import ScheduleCall, warn_of
from tilefuse.frontend.target import Target, target_name
from tilefuse.frontend.walk import describe

if TYPE_CHECKING:
    import networkx as nx


class Pipeline:
    """A Func, or a list of Funcs, that one call computes."""

    def __init__(self, outputs: Any):
        funcs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
        if not funcs:
            fail("a Pipeline has at least one output")
        for func in funcs:
            if not isinstance(func, Func):
                fail(f"the output of a Pipeline is a Func, not {func!r}")
        self._outputs: tuple[Func, ...] = tuple(funcs)
        self._programs: dict[Any, Any] = {}

    def outputs(self) -> list[Func]:
        """The Funcs that it computes."""
        return list(self._outputs)

    @collector_off()
    def to_module(self, name: str | None = None) -> ModuleOp:
        """The algorithm as IR of level 1: an `img.pipeline` called `name`, else as the first output is.

        PipelineError for a Func that is not defined, or two inputs of one name.
        """
        # Late: to write a pipeline nothing is needed of what builds IR.
        from tilefuse.frontend.build import build_module

        return build_module(self._outputs, name)

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
        from tilefuse.runtime.program import compile_pipeline

        program = compile_pipeline(self.to_module(name), target=target_name(target), **options)
        warn_of(self._schedule_calls())
        return program

    def compile_jit(self, target: str | Target = "auto") -> None:
        """Compile now what a later `realize` for the same target would."""
        self._program(target_name(target), {})

    def get_func(self, index: int) -> Func:
        """The Func at this place of those that it needs, producers first, as in Halide."""
        from tilefuse.frontend.build import reachable

        return [s for s in reachable(self._outputs) if isinstance(s, Func)][index]

    def _schedule_calls(self) -> list[ScheduleCall]:
        from tilefuse.frontend.build import reachable

        return [c for s in reachable(self._outputs) if isinstance(s, Func | ImageParam) for c in s.schedule_calls]

    def realize(self, sizes: Any = None, target: str | Target = "auto", **options: Any) -> Any:
        """Compile, and run on the arrays of Buffers and on what was `set`: an array, or a tuple of arrays.

        `sizes`: extents of every output from 0, x first; without it, as many points as the inputs allow. Or a Buffer,
        or one for each value of the outputs, which are written, each over its own box; then there is no result.
        """
        from tilefuse.frontend.build import inputs_of, reachable

        images, params = inputs_of(reachable(self._outputs))
        given: dict[str, Any] = {}
        for image in images:
            if image.array is None:
                name = image.name()
                fail(f"ImageParam '{name}' has no array: call {name}.set(array) before realize")
            given[image.name()] = image.array
        for param in params:
            value = param.get()
            if value is None:
                fail(f"Param '{param.name()}' has no value: call set(value) first, or give a default")
            given[param.name()] = value
        target = target_name(target)
        if sizes is None:
            return self._program(target, options)(**given)
        names = [name for name, _ in self._output_names()]
        buffers = _buffers(sizes, names)
        if buffers is not None:
            self._write(buffers, images, given, self._program(target, options))
            return None
        size = _checked_sizes(sizes, target)
        mins = {name: (0,) * len(size) for name in names}
        return self._program(target, options)(**given, sizes={n: size for n in names}, mins=mins)

    def _write(self, buffers: dict[str, Buffer], images: list[Image[Any]], given: dict[str, Any], program: Any) -> None:
        """Run `program` on what is given, into Buffers."""
        for (name, func), buffer in zip(self._output_names(), buffers.values(), strict=True):
            type = func.types()[int(name.rpartition(".")[2]) if func.outputs() > 1 else 0]
            if (buffer.type(), buffer.dimensions()) != (type, func.dimensions()):
                fail(
                    f"realize of '{name}' writes a Buffer of {type} with {func.dimensions()} dimensions; this one has "
                    f"{buffer.dimensions()} of {buffer.type()}"
                )
        # Pictures of three dimensions are written as the first one that is read lies.
        first = next((i for i in images if i.rank() == 3), None)
        channels = first.bounds[2] if first is not None else None
        order = first and axis_order(first.layout, tuple(first.array.shape), channels[1] if channels else None)
        interleaved = order == INTERLEAVED
        out, mins = {}, {}
        for name, buffer in buffers.items():
            axes = INTERLEAVED if interleaved and buffer.dimensions() == 3 else planar(buffer.dimensions())
            out[name], mins[name] = buffer.x_first().transpose(axes), tuple(buffer.mins())
        program(**given, out=out, mins=mins)

    def _output_names(self) -> list[tuple[str, Func]]:
        return [
            (f.name() if f.outputs() == 1 else f"{f.name()}.{i}", f) for f in self._outputs for i in range(f.outputs())
        ]

    def _program(self, target: Any, options: dict[str, Any]) -> Any:
        # By text: bounds that are set after a run make another program.
        key = (str(self.to_module()), target, repr(sorted(options.items())))
        if key not in self._programs:
            self._programs[key] = self.compile(target, **options)
        return self._programs[key]


def _buffers(sizes: Any, names: list[str]) -> dict[str, Buffer] | None:
    """The Buffers that `realize` is to write, by the names of the outputs; None if these are sizes."""
    found = list(sizes) if isinstance(sizes, list | tuple) else [sizes]
    if not found or not all(isinstance(b, Buffer) for b in found):
        return None
    if len(found) != len(names):
        fail(f"realize writes {len(names)} values ({', '.join(names)}), but {len(found)} Buffers are given")
    return dict(zip(names, found, strict=True))


def _checked_sizes(sizes: Any, target: Any) -> tuple[Any, ...]:
    """`sizes` as a tuple, x first; PipelineError for what Halide's `realize` takes and this one does not."""
    if not isinstance(target, str):
        fail("realize takes the sizes as one list, x first: realize([width, height])")
    size = tuple(sizes) if isinstance(sizes, list | tuple) else (sizes,)
    for extent in size:
        if isinstance(extent, Expr):
            fail(
                f"realize takes numbers as sizes, and {describe(extent)} is an Expr; take them from the "
                "shape of the array, or leave the sizes out"
            )
    return size
