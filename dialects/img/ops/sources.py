"""Operations for the inputs of a pipeline: pictures, scalars, and the sizes of the pictures."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    I64,
    IndexType,
    IntegerAttr,
    StridedLayoutAttr,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import (
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.attrs import BoxAttr
from tilefuse.dialects.img.elements import ELEMENTS
from tilefuse.dialects.img.ops.parents import in_pipeline
from tilefuse.dialects.img.types import FuncType, storage_type
from tilefuse.dialects.naming import value_name

_INDEX = IndexType()


@irdl_op_definition
class InputOp(IRDLOperation):
    """`%in = img.input "photo" : !img.func<3xf32>`: a picture given by the caller.

    `bounds` fixes (min, extent) of some dimensions at compile time; `layout` the strides, in elements,
    x first, that are known then. Without it x has stride 1 and the others are known at the call.
    `estimate` says for which (min, extent) of some dimensions schedules are chosen; pictures may have others.
    """

    name = "img.input"

    sym_name = prop_def(StringAttr)
    bounds = opt_prop_def(BoxAttr)
    layout = opt_prop_def(StridedLayoutAttr)
    estimate = opt_prop_def(BoxAttr)
    func = result_def(FuncType)

    # not Pure: an input that nothing reads still belongs to the call
    traits = lazy_traits_def(lambda: (in_pipeline(),))
    assembly_format = (
        "$sym_name (`bounds` qualified($bounds)^)? (`layout` qualified($layout)^)? "
        "(`estimate` qualified($estimate)^)? attr-dict `:` type($func)"
    )

    def __init__(
        self,
        name: str,
        type: FuncType,
        bounds: BoxAttr | None = None,
        layout: StridedLayoutAttr | None = None,
        estimate: BoxAttr | None = None,
    ):
        super().__init__(
            properties={"sym_name": StringAttr(name), "bounds": bounds, "layout": layout, "estimate": estimate},
            result_types=[type],
        )
        self.func.name_hint = value_name(name)

    def verify_(self) -> None:
        rank = self.func.type.rank.data
        for what, box in (("bounds name", self.bounds), ("estimate names", self.estimate)):
            if box is not None and len(box.data) != rank:
                raise VerifyException(f"input '{self.sym_name.data}': {what} {len(box.data)} dimensions of {rank}")
        if self.layout is not None and len(self.layout.strides) != rank:
            raise VerifyException(
                f"input '{self.sym_name.data}': layout names {len(self.layout.strides)} strides of {rank}"
            )


@irdl_op_definition
class ParamOp(IRDLOperation):
    """`%k = img.param "k" of ui8 : i8`: a scalar given at each call. `of` carries the signedness."""

    name = "img.param"

    sym_name = prop_def(StringAttr)
    element = prop_def()
    value = result_def()

    # not Pure: an input that nothing reads still belongs to the call
    traits = lazy_traits_def(lambda: (in_pipeline(),))
    assembly_format = "$sym_name `of` $element attr-dict `:` type($value)"

    def __init__(self, name: str, element: Attribute):
        super().__init__(
            properties={"sym_name": StringAttr(name), "element": element},
            result_types=[storage_type(element)],
        )
        self.value.name_hint = value_name(name)

    def verify_(self) -> None:
        if self.element not in ELEMENTS:
            raise VerifyException(f"param '{self.sym_name.data}': {self.element} is not a pixel type")
        if self.value.type != storage_type(self.element):
            raise VerifyException(
                f"param '{self.sym_name.data}' of {self.element} gives {storage_type(self.element)}, "
                f"not {self.value.type}"
            )


class _BoxQueryOp(IRDLOperation):
    """Common part of `img.min` and `img.extent`."""

    input = operand_def(FuncType)
    dim = prop_def(IntegerAttr[I64])
    value = result_def(IndexType)

    traits = traits_def(Pure())
    assembly_format = "$dim `of` $input attr-dict `:` type($input)"

    def __init__(self, input: SSAValue, dim: int):
        super().__init__(operands=[input], properties={"dim": IntegerAttr(dim, i64)}, result_types=[_INDEX])

    def verify_(self) -> None:
        if not isinstance(self.input.owner, InputOp):
            raise VerifyException(f"{self.name} needs an input; a stage has no box")
        assert isinstance(self.input.type, FuncType)
        if not 0 <= self.dim.value.data < self.input.type.rank.data:
            raise VerifyException(f"{self.name}: no dimension {self.dim.value.data} in {self.input.type}")


@irdl_op_definition
class MinOp(_BoxQueryOp):
    """`img.min 0 of %in : !img.func<2xf32>`: the first coordinate of an input's box, known at the call."""

    name = "img.min"


@irdl_op_definition
class ExtentOp(_BoxQueryOp):
    """`img.extent 0 of %in : !img.func<2xf32>`: the extent of an input's box, known at the call."""

    name = "img.extent"
