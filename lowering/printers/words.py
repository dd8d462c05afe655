"""Vectors that are only moved, printed as one number: a `vector<2xi8>` that becomes a `vector<1xi16>`."""

from __future__ import annotations

from xdsl.dialects import vector
from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import Attribute, SSAValue

from tilefuse.lowering.printers.function_text import FunctionText


def word_width(p: FunctionText, value: SSAValue) -> int | None:
    """Return the bits of the number that stands for a vector; None if it is printed as a vector."""
    users = [use.operation for use in value.uses]
    if p.language.pairs or not users:
        return None
    if isinstance(value.owner, vector.BitcastOp) and (width := _of_one(value.owner.source.type)) is not None:
        return width if all(isinstance(user, vector.StoreOp) for user in users) else None
    widths = {_of_one(user.result.type) if isinstance(user, vector.BitcastOp) else None for user in users}
    return widths.pop() if isinstance(value.owner, vector.LoadOp) and len(widths) == 1 else None


def _of_one(type_: Attribute) -> int | None:
    """Return the bits of the only element of an integer vector."""
    if not isinstance(type_, VectorType) or tuple(type_.get_shape()) != (1,):
        return None
    return int(type_.element_type.width.data) if isinstance(type_.element_type, IntegerType) else None
