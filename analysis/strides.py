"""Memory strides that kernels are specialised to."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StridedLayoutAttr
from xdsl.ir import SSAValue

from tilefuse.dialects.img.ops import InputOp, ReturnOp
from tilefuse.dialects.img.types import FuncType


def static_strides(value: SSAValue) -> list[int | None]:
    """Return the strides of a function in memory, in elements, x first; None where only the call knows."""
    type = value.type
    assert isinstance(type, FuncType)
    layout = value.owner.layout if isinstance(value.owner, InputOp) else _output_layout(value)
    if layout is None:
        return [1] + [None] * (type.rank.data - 1) if type.rank.data else []
    return [s.data if isinstance(s, IntAttr) else None for s in layout.strides.data]


def rows_are_contiguous(value: SSAValue) -> bool:
    """Whether points adjacent in x are adjacent in memory, as far as is known before the call."""
    return static_strides(value)[:1] == [1]


def _output_layout(value: SSAValue) -> StridedLayoutAttr | None:
    for use in value.uses:
        if isinstance(use.operation, ReturnOp):
            layouts = use.operation.attributes.get("output_layouts")
            if isinstance(layouts, ArrayAttr):
                layout = layouts.data[use.index]
                return layout if isinstance(layout, StridedLayoutAttr) else None
    return None
