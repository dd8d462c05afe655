"""Terms of an update's points, between the loop that computes them and the loop that writes them."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tilefuse.dialects.img.types import storage_type
from tilefuse.lowering.emit import PRIVATE, Num
from tilefuse.lowering.update_body import UpdateBody, UpdateFunction


class KeptTerms:
    """Arrays of a thread, one per function whose term is not a constant."""

    def __init__(self, function: UpdateFunction, count: int):
        """Allocate `count` elements per array."""
        self.function = function
        self.arrays: list[SSAValue | None] = [
            None if isinstance(term.owner, arith.ConstantOp)
            else function.e.alloca([count], storage_type(function.element(number)), PRIVATE, "terms")
            for number, term in enumerate(function.terms)
        ]  # fmt: skip

    def store(self, body: UpdateBody, at: Num, point: int = 0) -> None:
        """Store the terms of a point of a body."""
        for term, array in zip(body.terms(point), self.arrays, strict=True):
            if array is not None:
                self.function.e.store(term, array, [at])

    def load(self, where: Mapping[SSAValue, Num], at: Num) -> list[SSAValue]:
        """Load the terms of a point; `where`: its coordinates."""
        body = UpdateBody(self.function, where)
        return [
            body.value(term) if array is None else self.function.e.load(array, [at])
            for term, array in zip(self.function.terms, self.arrays, strict=True)
        ]
