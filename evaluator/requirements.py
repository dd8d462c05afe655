"""Conditions that a call must fulfil, once their values are known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.ir import SSAValue

from tilefuse.dialects.img.ops import RequireOp
from tilefuse.evaluator.carriers import carried_signed
from tilefuse.evaluator.errors import EvaluationError


def check_holds(op: RequireOp, values: Mapping[SSAValue, np.ndarray]) -> None:
    """Raise EvaluationError at the first point, x fastest, where a condition fails."""
    holds, *numbers = np.broadcast_arrays(*(values[v] for v in (op.condition, *op.numbers)))
    if holds.all():
        return
    at = np.unravel_index(int(np.argmin(holds)), holds.shape)
    raise EvaluationError(op.refusal([_number(array[at]) for array in numbers]), op)


def _number(value: np.ndarray) -> int | float:
    number = np.asarray(value)
    found: int | float = (number if number.dtype.kind == "f" else carried_signed(number)).item()
    return found
