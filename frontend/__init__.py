"""Halide's vocabulary in Python; builds the img dialect."""

if __name__ != "tilefuse.frontend":
    raise ImportError("import this package as tilefuse.frontend")

from typing import Any

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.diagnostics import TilefuseError as HalideError
from tilefuse.frontend import bits, fixed_point, functions, inspection, printing, random, schedule, target
from tilefuse.frontend.bits import *  # noqa: F403
from tilefuse.frontend.boundary import BoundaryConditions
from tilefuse.frontend.buffer import Buffer
from tilefuse.frontend.expr import Expr, PrecisionWarning
from tilefuse.frontend.fixed_point import *  # noqa: F403
from tilefuse.frontend.func import Func
from tilefuse.frontend.functions import *  # noqa: F403
from tilefuse.frontend.inputs import ImageParam, OutputImageParam, Param
from tilefuse.frontend.inspection import *  # noqa: F403
from tilefuse.frontend.ir import compile
from tilefuse.frontend.pipeline import Pipeline
from tilefuse.frontend.printing import *  # noqa: F403
from tilefuse.frontend.random import *  # noqa: F403
from tilefuse.frontend.rdom import Range, RDom, RVar
from tilefuse.frontend.reduction import argmax, argmin, maximum, minimum, product, sum
from tilefuse.frontend.require import require
from tilefuse.frontend.saved import deserialize_parameters, deserialize_pipeline, serialize_pipeline
from tilefuse.frontend.schedule import *  # noqa: F403
from tilefuse.frontend.sources import FuncTupleElementRef, Tuple
from tilefuse.frontend.strict import strict_float
from tilefuse.frontend.target import *  # noqa: F403
from tilefuse.frontend.types import BFloat, Bool, Float, Handle, Int, Type, TypeCode, UInt
from tilefuse.frontend.update import UpdateWarning, undef
from tilefuse.frontend.var import Var


def vars(names: str) -> tuple[Var, ...]:
    """Make Vars from their names: `x, y = vars("x y")`."""
    return tuple(Var(name) for name in names.split())


def evaluate(value: Any) -> Any:
    """Evaluate an Expr without coordinates to a number, or a Tuple to several; Params have their `set` values."""
    func = Func("value")
    func[()] = value
    found = func.realize([], target="reference")
    return tuple(v[()] for v in found) if isinstance(found, tuple) else found[()]


evaluate_may_gpu = evaluate


def lambda_func(*args: Any) -> Func:
    """Define an anonymous Func: `lambda_func(x, y, expr)`."""
    func = Func()
    func[args[:-1]] = args[-1]
    return func


_ = Var("_")
"""All remaining coordinates: `f[x, _] = g[x, _] + 1`."""
_0, _1, _2, _3, _4, _5, _6, _7, _8, _9 = (Var.implicit(i) for i in range(10))


def funcs(names: str) -> tuple[Func, ...]:
    """Make Funcs from their names: `f, g = funcs("f g")`."""
    return tuple(Func(name) for name in names.split())


_IMPLICIT = ["_", *(f"_{i}" for i in range(10))]

# The names of functions are those of Halide, so some hide Python's own: `from tilefuse import *` would too.
__all__ = [
    "BFloat", "Bool", "BoundaryConditions", "Buffer", "Expr", "Float", "Func", "FuncTupleElementRef", "HalideError",
    "Handle", "ImageParam", "Int", "OutputImageParam", "Param", "Pipeline", "PipelineError", "PrecisionWarning",
    "RDom", "RVar", "Range", "Tuple", "Type", "TypeCode", "UInt", "UpdateWarning", "Var", "argmax", "argmin",
    "compile", "deserialize_parameters", "deserialize_pipeline", "evaluate", "evaluate_may_gpu", "funcs",
    "lambda_func", "maximum", "minimum", "product", "require", "serialize_pipeline", "strict_float", "sum",
    "undef", "vars",
    *_IMPLICIT, *bits.__all__, *fixed_point.__all__, *functions.__all__, *inspection.__all__, *printing.__all__,
    *random.__all__, *schedule.__all__, *target.__all__,
]  # fmt: skip
