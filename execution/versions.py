"""Versions of a tile body: calls of one function with flags that are constants, so that each has a text of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, SymbolRefAttr, i64
from xdsl.ir import SSAValue

from tilefuse.lowering.emit import Emitter, Num


class Versions:
    """The calls of a tile function for one tile, of which one runs."""

    def __init__(
        self,
        e: Emitter,
        name: str,
        arguments: Sequence[SSAValue],
        origin: Sequence[Num],
        shared: Sequence[SSAValue],
        last: Callable[[int], Num],
    ):
        """`arguments`: the kernel's; `shared`: the plan's; `last`: the last tile's origin in a dimension."""
        self.e, self._name, self._arguments, self._shared, self.last = e, name, arguments, shared, last
        self.origin = origin
        self.yes, self.no = e.true(), e.false()

    def call(
        self,
        border: SSAValue,
        flags: Sequence[SSAValue] = (),
        origin: Sequence[Num] | None = None,
        *,
        no_cse: bool = False,
    ) -> None:
        """Call the version for these flags: `KernelPlan.flags` behind `border`; `origin`: if it is moved."""
        places = self.origin if origin is None else origin
        operands = [*self._arguments, *(self.e.value(o) for o in places), border, *flags, *self._shared]
        version = func.CallOp(SymbolRefAttr(self._name), operands, [])
        if no_cse:
            # without it the compiler computes before the branch what versions have in common: it takes up to
            # half as many registers again
            version.attributes["kernel.no_cse"] = IntegerAttr(len(self._arguments), i64)
        self.e.effect(version)
