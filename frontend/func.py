"""Func: a function that is also a pipeline of one output, to be run and inspected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilefuse.frontend.compilable import Compilable
from tilefuse.frontend.function import Function
from tilefuse.frontend.inspection import Inspection
from tilefuse.frontend.pipeline import Pipeline
from tilefuse.frontend.target import Target


class Func(Function, Inspection):
    """A stage of a pipeline: `f = Func("f"); f[x, y] = g[x - 1, y] + g[x + 1, y]`.

    It is defined by an Expr, or by a tuple of Exprs for several values at each point. What is assigned afterwards is an
    update, at any position and over an RDom: `f[r.x] += 1`, `f[im[r.x, r.y]] = 0`. `Func(image)` has the values of an
    image, `Func(expr)` those of an Expr of `_0`, `_1`, ... `Func(types, dimensions, "f")` is defined by
    nothing else.
    """

    def __init__(self, *given: Any, name: str | None = None):
        self._pipeline: Pipeline | None = None
        super().__init__(*given, name=name)

    def realize(self, sizes: Any = None, target: str | Target = "auto", **options: Any) -> Any:
        """Compile and run: return the values on [0, sizes) as a Buffer (a tuple of Buffers for several values).

        `sizes`: extents, x first; without it, as many points as the inputs allow. Or a Buffer for each value, which is
        written over its box. Buffers, and the arrays and values that were `set`, are the inputs.
        """
        return self._own_pipeline().realize(sizes, target, **options)

    def compile_to_callable(self, arguments: Sequence[Any], target: str | Target = "auto") -> Any:
        """Compile to a function of these ImageParams and Params, in this order, and a Buffer per output."""
        return self._own_pipeline().compile_to_callable(arguments, target)

    def compile_jit(self, target: str | Target = "auto") -> None:
        """Compile now for a later `realize` on this target."""
        self._own_pipeline().compile_jit(target)

    def infer_input_bounds(self, sizes: Any, target: str | Target = "auto") -> None:
        """Set every ImageParam without array to zeros of the size that outputs of these sizes (or Buffers) need."""
        self._own_pipeline().infer_input_bounds(sizes)

    def _inspected(self) -> Compilable:
        return self._own_pipeline()

    def _own_pipeline(self) -> Pipeline:
        if self._pipeline is None:
            self._pipeline = Pipeline(self)
        return self._pipeline
