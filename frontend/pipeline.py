"""Pipeline: Funcs computed together, as a module of the img dialect or compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from tilefuse.collector import collector_off
from tilefuse.frontend.errors import fail
from tilefuse.frontend.function import Function
from tilefuse.frontend.inputs import Image, ImageParam, Param
from tilefuse.frontend.require import Requirement, requirement
from tilefuse.frontend.runnable import Runnable
from tilefuse.frontend.schedule import AutoschedulerParams, ScheduleCall, recorder, warn_of
from tilefuse.frontend.target import Target
from tilefuse.frontend.types import Type


class Pipeline(Runnable):
    """One or several Funcs that one call computes."""

    def __init__(self, outputs: Any = None):
        super().__init__()
        self._outputs: tuple[Function, ...] = ()
        self._requirements: list[Requirement] = []
        self._own_calls: list[ScheduleCall] = []
        if outputs is None:  # undefined
            return
        funcs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
        if not funcs:
            fail("a Pipeline has at least one output")
        for func in funcs:
            if not isinstance(func, Function):
                fail(f"the output of a Pipeline is a Func, not {func!r}")
        self._outputs = tuple(funcs)

    def defined(self) -> bool:
        """Whether it has outputs: `Pipeline()` has none."""
        return bool(self._outputs)

    def __repr__(self) -> str:
        names = [f.name() for f in self._outputs]
        return f"<halide.Pipeline {names}>" if names else "<halide.Pipeline Pipeline()>"

    def outputs(self) -> list[Function]:
        """Return the Funcs that it computes."""
        return list(self._outputs)

    @collector_off()
    def to_module(self, name: str | None = None, *, layouts: Mapping[str, str] | None = None) -> ModuleOp:
        """Build the algorithm as IR of level 1: an `img.pipeline` called `name`, or named after the first output.

        `layouts`: how the arrays of images are read that do not say it themselves, by name.
        PipelineError for a Func that is not defined, or two inputs of one name.
        """
        if not self._outputs:
            fail("Pipeline() is undefined: it has no outputs")
        # Late: to write a pipeline nothing is needed of what builds IR.
        from tilefuse.frontend.build import build_module

        return build_module(self._outputs, name, layouts or {}, self._requirements)

    def add_requirement(self, condition: Any, *message: Any) -> None:
        """Refuse calls whose Params and sizes violate `condition`; the message is made of numbers, Exprs and texts."""
        self._requirements.append(requirement(condition, message))

    def inputs(self) -> tuple[list[Image[Any]], list[Param]]:
        """Return the needed images and Params, each in order of creation."""
        from tilefuse.frontend.build import inputs_of, reachable, requirements_of_calls

        sources = reachable(self._outputs)
        requirements = requirements_of_calls(sources, self._requirements)
        return inputs_of(sources, [e for made in requirements for e in made.exprs()])

    def get_func(self, index: int) -> Function:
        """Return a Func of the pipeline by its position, producers first, as in Halide."""
        from tilefuse.frontend.build import reachable

        return [s for s in reachable(self._outputs) if isinstance(s, Function)][index]

    def apply_autoscheduler(self, target: str | Target = "auto", params: AutoschedulerParams | None = None) -> None:
        """Record a scheduling call, which is ignored: every program is scheduled when it is compiled."""
        name = self._outputs[0].name() if self._outputs else "Pipeline()"
        recorder(self, name, self._own_calls, "apply_autoscheduler")(target, params)

    def _schedule_calls(self) -> list[ScheduleCall]:
        from tilefuse.frontend.build import reachable

        return self._own_calls + [
            c for s in reachable(self._outputs) if isinstance(s, Function | ImageParam) for c in s.schedule_calls
        ]

    def _compiled(self, module: ModuleOp, target: str | Target, options: Mapping[str, Any]) -> Any:
        program = super()._compiled(module, target, options)
        warn_of(self._schedule_calls())
        return program

    def output_types(self) -> dict[str, tuple[Type, int]]:
        """Return type and number of dimensions of each computed value, by name."""
        found = {}
        for f in self._outputs:
            for i, type in enumerate(types := f.types()):
                found[f.name() if len(types) == 1 else f"{f.name()}.{i}"] = (type, f.dimensions())
        return found
