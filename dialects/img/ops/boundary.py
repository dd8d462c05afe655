"""A function continued outside a box."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.attrs import BoundaryKind, BoundaryKindAttr
from tilefuse.dialects.img.ops.sources import InputOp
from tilefuse.dialects.img.types import FuncType

_INDEX = IndexType()


@irdl_op_definition
class BoundaryOp(IRDLOperation):
    """`img.boundary repeat_edge %in dims [0, 1] : !img.func<3xf32>`: a function continued outside a box.

    Inside the box the result equals the source; outside, the kind decides. The box is that of the source,
    which is then an input, or is given as `in [%min, ...] by [%extent, ...]`, one pair per dimension of
    `dims`. Dimensions not in `dims` are not continued. `constant_exterior` takes a `value`.
    """

    name = "img.boundary"

    source = operand_def(FuncType)
    mins = var_operand_def(IndexType)
    extents = var_operand_def(IndexType)
    exterior = opt_operand_def()
    kind = prop_def(BoundaryKindAttr)
    dims = prop_def(DenseArrayBase)
    func = result_def(FuncType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    def __init__(
        self,
        kind: BoundaryKind,
        source: SSAValue,
        dims: Sequence[int] | None = None,
        mins: Sequence[SSAValue] = (),
        extents: Sequence[SSAValue] = (),
        exterior: SSAValue | None = None,
    ):
        if dims is None:
            assert isinstance(source.type, FuncType)
            dims = range(source.type.rank.data)
        super().__init__(
            operands=[source, list(mins), list(extents), exterior],
            properties={
                "kind": BoundaryKindAttr(kind),
                "dims": DenseArrayBase.from_list(i64, list(dims)),
            },
            result_types=[source.type],
        )
        self.func.name_hint = source.name_hint

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The dimensions that are continued."""
        return tuple(int(d) for d in self.dims.get_values())

    @classmethod
    def parse(cls, parser: Parser) -> BoundaryOp:
        kind = parser.parse_str_enum(BoundaryKind)
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("dims")
        dims = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        mins: list[SSAValue] = []
        extents: list[SSAValue] = []
        exterior = None

        def index_operand() -> SSAValue:
            return parser.resolve_operand(parser.parse_unresolved_operand(), _INDEX)

        if parser.parse_optional_keyword("in"):
            mins = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, index_operand)
            parser.parse_keyword("by")
            extents = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, index_operand)
        if parser.parse_optional_keyword("value"):
            exterior = parser.parse_unresolved_operand()
        attrs = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        pos = parser.pos
        type = parser.parse_type()
        if not isinstance(type, FuncType):
            parser.raise_error("expected an img.func type", pos)
        op = cls(
            kind,
            parser.resolve_operand(source, type),
            dims,
            mins,
            extents,
            None if exterior is None else parser.resolve_operand(exterior, type.storage),
        )
        op.attributes |= attrs
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data.value} ")
        printer.print_ssa_value(self.source)
        printer.print_string(f" dims [{', '.join(map(str, self.dimensions))}]")
        if self.mins:
            printer.print_string(" in ")
            with printer.in_square_brackets():
                printer.print_list(self.mins, printer.print_ssa_value)
            printer.print_string(" by ")
            with printer.in_square_brackets():
                printer.print_list(self.extents, printer.print_ssa_value)
        if self.exterior is not None:
            printer.print_string(" value ")
            printer.print_ssa_value(self.exterior)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.func.type)

    def verify_(self) -> None:
        type = self.source.type
        assert isinstance(type, FuncType)
        dims = self.dimensions
        if self.func.type != type:
            raise VerifyException(f"img.boundary of {type} gives {self.func.type}")
        if len(set(dims)) != len(dims) or any(not 0 <= d < type.rank.data for d in dims):
            raise VerifyException(f"img.boundary: dims {list(dims)} are not distinct dimensions of {type}")
        if len(self.mins) != len(self.extents) or (self.mins and len(self.mins) != len(dims)):
            raise VerifyException(
                f"img.boundary: {len(self.mins)} mins and {len(self.extents)} extents for {len(dims)} dims"
            )
        if not self.mins and not isinstance(self.source.owner, InputOp):
            raise VerifyException(
                "img.boundary: only an input has a box of its own; give the box with 'in [...] by [...]'"
            )
        needs_value = self.kind.data == BoundaryKind.ConstantExterior
        if needs_value != (self.exterior is not None):
            raise VerifyException("img.boundary: constant_exterior needs 'value', the other kinds take none")
        if self.exterior is not None and self.exterior.type != type.storage:
            raise VerifyException(f"img.boundary: the exterior of {type} is {type.storage}, not {self.exterior.type}")
