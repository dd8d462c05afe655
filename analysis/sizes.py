"""Sizes for bounds inference: the numbers of one call, or symbols that stand for any call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

from tilefuse.dialects.img.attrs import Box as Box
from tilefuse.dialects.img.ops import InputOp, ParamOp
from tilefuse.dialects.img.symbolic import Role, SizeValue, symbol

AnySpan = tuple[SizeValue, SizeValue]
"""(first, last) coordinate, both inside; as numbers or as expressions."""

AnyInterval = tuple[SizeValue, SizeValue]
"""(min, extent), as numbers or as expressions."""


class Sizes(Protocol):
    """Values of `img.min`, `img.extent` and `img.param`: numbers of one call, or symbols for any call."""

    def interval(self, op: InputOp, dim: int) -> AnyInterval:
        """Return (min, extent) of a dimension of an input."""

    def param(self, op: ParamOp) -> SizeValue | None:
        """Return an integer parameter, wrapped to its element type; None if it is not known."""

    def real(self, op: ParamOp) -> float | None:
        """Return a float parameter; None if it is not known."""


class CallSizes:
    """The sizes of one call."""

    def __init__(self, boxes: Mapping[str, Box], params: Mapping[str, int | float]):
        self._boxes, self._params = boxes, params

    def interval(self, op: InputOp, dim: int) -> tuple[int, int]:
        """Return (min, extent) of a dimension of an input."""
        return self._boxes[op.sym_name.data][dim]

    def param(self, op: ParamOp) -> int | None:
        """Return an integer parameter; None if the call gives none."""
        value = self._params.get(op.sym_name.data)
        return None if value is None else int(value)

    def real(self, op: ParamOp) -> float | None:
        """Return a float parameter; None if the call gives none, or no number."""
        value = self._params.get(op.sym_name.data)
        return None if value is None or not math.isfinite(value) else float(value)


class AnySizes:
    """Symbolic sizes, valid for every call. A dimension of an input with declared `bounds` is a number."""

    def interval(self, op: InputOp, dim: int) -> AnyInterval:
        """Return (min, extent) of a dimension of an input."""
        name, declared = op.sym_name.data, op.bounds.data[dim] if op.bounds is not None else None
        if declared is not None:
            return declared
        return symbol(Role.Input, name, dim), symbol(Role.Input, name, dim, extent=True)

    def param(self, op: ParamOp) -> SizeValue:
        """Return the symbol of a parameter."""
        return symbol(Role.Param, op.sym_name.data)

    def real(self, op: ParamOp) -> None:
        """Return None: no symbol stands for a float."""
