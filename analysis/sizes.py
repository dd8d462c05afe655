"""The sizes that bounds are computed from: the numbers of a call, or symbols for the numbers of any call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

from tilefuse.dialects.img.attrs import Box as Box
from tilefuse.dialects.img.ops import InputOp, ParamOp
from tilefuse.dialects.img.symbolic import Role, SizeValue, symbol

AnySpan = tuple[SizeValue, SizeValue]
"""(first, last) coordinate, both inside; as numbers or as expressions."""


class Sizes(Protocol):
    """Values of `img.min`, `img.extent` and `img.param`: numbers of a call, or symbols of every call."""

    def interval(self, op: InputOp, dim: int) -> tuple[SizeValue, SizeValue]:
        """(min, extent) of a dimension of an input."""

    def param(self, op: ParamOp) -> SizeValue | None:
        """An integer parameter, as its element type has it; None if it is not known."""

    def real(self, op: ParamOp) -> float | None:
        """A parameter that is a float; None if it is not known."""


class CallSizes:
    """The numbers of one call."""

    def __init__(self, boxes: Mapping[str, Box], params: Mapping[str, int | float]):
        self._boxes, self._params = boxes, params

    def interval(self, op: InputOp, dim: int) -> tuple[int, int]:
        """(min, extent) of a dimension of an input."""
        return self._boxes[op.sym_name.data][dim]

    def param(self, op: ParamOp) -> int | None:
        """An integer parameter; None if the call gives none."""
        value = self._params.get(op.sym_name.data)
        return None if value is None else int(value)

    def real(self, op: ParamOp) -> float | None:
        """A parameter that is a float; None if the call gives none, or no number."""
        value = self._params.get(op.sym_name.data)
        return None if value is None or not math.isfinite(value) else float(value)


class AnySizes:
    """Symbols: the numbers of every call. A dimension of an input with declared `bounds` is a number."""

    def interval(self, op: InputOp, dim: int) -> tuple[SizeValue, SizeValue]:
        """(min, extent) of a dimension of an input."""
        name, declared = op.sym_name.data, op.bounds.data[dim] if op.bounds is not None else None
        if declared is not None:
            return declared
        return symbol(Role.Input, name, dim), symbol(Role.Input, name, dim, extent=True)

    def param(self, op: ParamOp) -> SizeValue:
        """A parameter."""
        return symbol(Role.Param, op.sym_name.data)

    def real(self, op: ParamOp) -> None:
        """No symbol stands for a float."""
