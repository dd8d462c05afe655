"""The body of an update whose operands are in shared memory."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilefuse.dialects.img.ops import ReadOp
from tilefuse.execution.operands import Operand
from tilefuse.execution.staging import Staging
from tilefuse.lowering.emit import Num
from tilefuse.lowering.shared_body import SharedBody
from tilefuse.lowering.update_body import UpdateFunction


@dataclass(frozen=True)
class Offset:
    """Offset of a point along a coordinate from its tile's or slice's first: a number and a constant."""

    number: Num = 0
    constant: int = 0
    multiple: int = 1
    """Divisor of the number."""


class StagedBody(SharedBody):
    """Values at the points of a straight piece of code; operands are loaded once, by vectors where aligned."""

    def __init__(self, function: UpdateFunction, staging: Staging, buffer: Num):
        super().__init__(function)
        self.staging, self.buffer = staging, buffer
        self.offsets: Mapping[SSAValue, Offset] = {}
        """Offset in each buffer of the point that is computed next."""

    def _read(
        self, op: ReadOp, values: Mapping[SSAValue, SSAValue | None], where: Mapping[SSAValue, Num]
    ) -> SSAValue | None:
        return self.load(op) if op in self.staging.of else super()._read(op, values, where)

    def load(self, name: Hashable) -> SSAValue:
        """Load the value of a read, or of a function at its written place, at the point."""
        number = self.staging.of[name]
        operand, array = self.staging.operands[number], self.staging.arrays[number]
        numbers, constants, multiple = self._place(operand, name)
        width = operand.width if multiple % operand.width == 0 and operand.extents[0] > 1 else 1
        first = constants[0] // width * width
        key = (number, width, first, *constants[1:])
        if key not in self._made:
            starts = [self.e.add(n, c) for n, c in zip(numbers, (first, *constants[1:]), strict=True)]
            index = [self.buffer, *reversed(starts)]
            self._made[key] = tuple(self.e.load_vector(array, index, width))
        return self._made[key][constants[0] - first]

    def _place(self, operand: Operand, name: Hashable) -> tuple[list[Num], list[int], int]:
        """Return a read's offsets, x first, and a divisor of the offset along x (0: any number divides it)."""
        e, numbers, constants, multiple = self.e, [], [], 0
        for d, (axis, constant) in enumerate(zip(operand.axes, operand.constants[name], strict=True)):
            number: Num = 0
            constant -= axis.low
            for v, n in axis.terms.items():
                offset = self.offsets.get(v, Offset())
                number = e.add(number, e.mul(offset.number, n))
                constant += n * offset.constant + (-n * (operand.sizes.get(v, 1) - 1) if n < 0 else 0)
                if d == 0 and not isinstance(offset.number, int):
                    multiple = math.gcd(multiple, n * offset.multiple)
            numbers.append(number)
            constants.append(constant)
        return numbers, constants, multiple
