"""Stages: pure functions of a grid point, and the operations of their bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects.builtin import (
    AffineMapAttr,
    IndexType,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsTerminator,
    Pure,
    is_side_effect_free,
)
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.attrs import BoxAttr, PlaceAttr
from tilefuse.dialects.img.elements import ELEMENTS
from tilefuse.dialects.img.index_map import parse_indices, print_indices, verify_index_map
from tilefuse.dialects.img.ops.boundary import BoundaryOp
from tilefuse.dialects.img.ops.parents import in_definition, in_pipeline_or_group, in_stage_or_group
from tilefuse.dialects.img.ops.sources import InputOp, ParamOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.dialects.naming import value_name

_INDEX = IndexType()

BY_PLANES = "by_planes"
"""On a stage: dimensions after x and y are tiled plane by plane, if they are small, too."""
SHARES_ROWS = "shares_rows"
"""Attribute of a stage whose rows have values in common, which a loop over several of them computes once: what another
stage computed before it was made part of this one."""


def computes_values_only(op: Operation) -> bool:
    """Whether `op` is straight-line code without side effects."""
    # xDSL 0.74 forgets to declare some arith ops pure (extsi, divui, ...), hence the names.
    return not op.regions and (op.dialect_name() in ("arith", "img", "math") or is_side_effect_free(op))


@irdl_op_definition
class StageOp(IRDLOperation):
    """A pure function, by its value at one point.

    ```
    %blur_x = img.stage "blur_x" (%x, %y) -> f32 {
      %a = img.read %in[%x - 1, %y] : !img.func<2xf32>
      ...
      img.yield %r : f32
    }
    ```
    The region's arguments are the coordinates, x first, of type index. Several element types make a
    tuple-valued Func: one result each. `bounds` fixes (min, extent) of dimensions at compile time
    (Halide's `Func.bound`); `place` is the schedule of a stage inside a group.
    """

    name = "img.stage"

    sym_name = prop_def(StringAttr)
    bounds = opt_prop_def(BoxAttr)
    place = opt_prop_def(PlaceAttr)
    body = region_def("single_block")
    funcs = var_result_def(FuncType)

    traits = lazy_traits_def(lambda: (Pure(), in_pipeline_or_group()))

    def __init__(
        self,
        name: str,
        elements: Sequence[Attribute],
        body: Region,
        bounds: BoxAttr | None = None,
        place: PlaceAttr | None = None,
    ):
        rank = len(body.block.args)
        super().__init__(
            properties={"sym_name": StringAttr(name), "bounds": bounds, "place": place},
            result_types=[[FuncType(rank, e) for e in elements]],
            regions=[body],
        )
        for func in self.funcs:
            func.name_hint = value_name(name)

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.body.block.args)

    @property
    def yield_op(self) -> YieldOp:
        """The terminator, whose operands are the values at the point."""
        op = self.body.block.last_op
        assert isinstance(op, YieldOp)
        return op

    @classmethod
    def parse(cls, parser: Parser) -> StageOp:
        name = parser.parse_str_literal()
        pos = parser.pos
        args = _parse_coordinates(parser)
        parser.parse_punctuation("->")
        elements = _parse_elements(parser)
        for element in elements:
            if element not in ELEMENTS:
                parser.raise_error(f"{element} is not a pixel type", pos)
        bounds = place = None
        if parser.parse_optional_keyword("bounds"):
            bounds = parse_attribute_of(parser, BoxAttr)
        if parser.parse_optional_keyword("place"):
            place = parse_attribute_of(parser, PlaceAttr)
        attrs = parser.parse_optional_attr_dict_with_keyword(("sym_name", "bounds", "place"))
        op = cls(name, elements, parser.parse_region(args), bounds, place)
        if attrs is not None:
            op.attributes |= attrs.data
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.sym_name)
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_ssa_value)
        printer.print_string(" -> ")
        elements = [f.type.element for f in self.funcs]
        if len(elements) == 1:
            printer.print_attribute(elements[0])
        else:
            with printer.in_parens():
                printer.print_list(elements, printer.print_attribute)
        if self.bounds is not None:
            printer.print_string(" bounds ")
            printer.print_attribute(self.bounds)
        if self.place is not None:
            printer.print_string(" place ")
            printer.print_attribute(self.place)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    def verify_(self) -> None:
        name = self.sym_name.data
        args = self.body.block.args
        if any(arg.type != _INDEX for arg in args):
            raise VerifyException(f"stage '{name}': coordinates must be of type index")
        if not self.funcs:
            raise VerifyException(f"stage '{name}' has no value")
        if not isinstance(self.body.block.last_op, YieldOp):
            raise VerifyException(f"stage '{name}' must end in img.yield")
        expected = [f.type.storage for f in self.funcs]
        given = [v.type for v in self.yield_op.values]
        if expected != given:
            raise VerifyException(
                f"stage '{name}' yields ({', '.join(map(str, given))}) "
                f"but its type says ({', '.join(map(str, expected))})"
            )
        for f in self.funcs:
            if f.type.rank.data != len(args):
                raise VerifyException(
                    f"stage '{name}' has {len(args)} coordinates but a result of rank {f.type.rank.data}"
                )
        if self.bounds is not None and len(self.bounds.data) != len(args):
            raise VerifyException(f"stage '{name}': bounds name {len(self.bounds.data)} dimensions of {len(args)}")
        for op in self.body.walk():
            if op is not self and isinstance(op, StageOp | BoundaryOp | InputOp | ParamOp):
                raise VerifyException(f"stage '{name}': {op.name} is not allowed in a stage")
            if not computes_values_only(op):
                raise VerifyException(f"stage '{name}': {op.name} has side effects; a stage must be a pure function")


_Attr = TypeVar("_Attr", bound=Attribute)


def parse_attribute_of(parser: Parser, kind: type[_Attr]) -> _Attr:
    """Parse an attribute of one kind."""
    pos = parser.pos
    attribute = parser.parse_attribute()
    if not isinstance(attribute, kind):
        parser.raise_error(f"expected #{kind.name}, not {attribute}", pos)
    return attribute


def _parse_coordinates(parser: Parser) -> list[Parser.Argument]:
    unresolved = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
    )
    return [arg.resolve(_INDEX) for arg in unresolved]


def _parse_elements(parser: Parser) -> list[Attribute]:
    many = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if many is None else list(many)


@irdl_op_definition
class ReadOp(IRDLOperation):
    """`img.read %f[%x - 1, 2 * %y + 1] : !img.func<2xf32>`: the value of a function at a point.

    An index is an affine expression (also floordiv and mod by a constant) over index values: the
    coordinates of the stage, or values computed from data (then bounds come from the value's range).
    """

    name = "img.read"

    source = operand_def(FuncType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    value = result_def()

    traits = traits_def(Pure(), in_definition())

    def __init__(self, source: SSAValue, indices: Sequence[SSAValue], map: AffineMap):
        assert isinstance(source.type, FuncType)
        super().__init__(
            operands=[source, list(indices)],
            properties={"map": AffineMapAttr(map)},
            result_types=[source.type.storage],
        )

    @classmethod
    def parse(cls, parser: Parser) -> ReadOp:
        source = parser.parse_unresolved_operand()
        map, indices = parse_indices(parser)
        attrs = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        pos = parser.pos
        type = parser.parse_type()
        if not isinstance(type, FuncType):
            parser.raise_error("expected an img.func type", pos)
        op = cls(parser.resolve_operand(source, type), indices, map)
        op.attributes |= attrs
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        print_indices(printer, self.map.data, self.indices)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)

    def verify_(self) -> None:
        type = self.source.type
        assert isinstance(type, FuncType)
        map = self.map.data
        verify_index_map(self.name, map, len(self.indices))
        if len(map.results) != type.rank.data:
            raise VerifyException(
                f"img.read: {len(map.results)} indices into {type}, which has {type.rank.data} dimensions"
            )
        if self.value.type != type.storage:
            raise VerifyException(f"img.read of {type} gives {type.storage}, not {self.value.type}")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """`img.yield %v : f32` ends a stage with its values; in a group, with the functions that leave it."""

    name = "img.yield"

    values = var_operand_def()

    traits = lazy_traits_def(lambda: (IsTerminator(), Pure(), in_stage_or_group()))
    assembly_format = "$values `:` type($values) attr-dict"

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[list(values)])
