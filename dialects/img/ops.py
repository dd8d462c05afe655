"""Operations of the img dialect.

A pipeline is a graph of functions over the integer grid. `img.input` and `img.stage` make functions,
`img.boundary` continues one outside its box, `img.read` takes a value of one at a point, and `img.return`
names the outputs. `img.group` gathers the stages that one kernel computes, and carries its schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from xdsl.dialects.builtin import (
    I64,
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    StridedLayoutAttr,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_operand_def,
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
    HasCanonicalizationPatternsTrait,
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    SymbolOpInterface,
    is_side_effect_free,
)
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.attrs import BoundaryKind, BoundaryKindAttr, BoxAttr, PlaceAttr, ScheduleAttr
from tilefuse.dialects.img.index_map import parse_indices, print_indices
from tilefuse.dialects.img.types import FuncType, is_element_type, storage_type

_INDEX = IndexType()
_DIVISIONS = (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.CeilDiv, AffineBinaryOpKind.Mod)


def _computes_values_only(op: Operation) -> bool:
    """Whether `op` is straight-line code without side effects."""
    # xDSL 0.74 forgets to declare some arith ops pure (extsi, divui, ...), hence the names.
    return not op.regions and (op.dialect_name() in ("arith", "img", "math") or is_side_effect_free(op))


class _CanonicalizeDivision(HasCanonicalizationPatternsTrait):
    @classmethod
    def get_canonicalization_patterns(cls):  # type: ignore[no-untyped-def]
        from tilefuse.passes.canonicalization.division import DIVISION_PATTERNS

        return DIVISION_PATTERNS


@irdl_op_definition
class PipelineOp(IRDLOperation):
    """`img.pipeline @blur { ... img.return ... }`: one pipeline, inputs to outputs."""

    name = "img.pipeline"

    sym_name = prop_def(StringAttr)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(self, name: str, body: Region):
        super().__init__(properties={"sym_name": StringAttr(name)}, regions=[body])

    @property
    def return_op(self) -> ReturnOp:
        """The terminator, which names the outputs."""
        op = self.body.block.last_op
        assert isinstance(op, ReturnOp)
        return op

    @classmethod
    def parse(cls, parser: Parser) -> PipelineOp:
        name = parser.parse_symbol_name()
        attrs = parser.parse_optional_attr_dict_with_keyword(("sym_name",))
        op = cls(name.data, parser.parse_region())
        if attrs is not None:
            op.attributes |= attrs.data
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)

    def verify_(self) -> None:
        if not isinstance(self.body.block.last_op, ReturnOp):
            raise VerifyException("a pipeline must end in img.return, which names its outputs")
        names: set[str] = set()
        for op in self.body.walk():
            if isinstance(op, InputOp | ParamOp | StageOp):
                if op.sym_name.data in names:
                    raise VerifyException(f"two stages, inputs or params are called '{op.sym_name.data}'")
                names.add(op.sym_name.data)
        # A group's name becomes that of its kernel, so it is unique too, but may be that of its output stage.
        groups: set[str] = set()
        for op in self.body.block.ops:
            if isinstance(op, GroupOp):
                if op.sym_name.data in groups:
                    raise VerifyException(f"two groups are called '{op.sym_name.data}'")
                groups.add(op.sym_name.data)
            elif not isinstance(op, StageOp) and not _computes_values_only(op):
                raise VerifyException(
                    f"{op.name} cannot stand in a pipeline: it does more than compute values"
                )


@irdl_op_definition
class InputOp(IRDLOperation):
    """`%in = img.input "photo" : !img.func<3xf32>`: a picture given by the caller.

    `bounds` fixes (min, extent) of some dimensions at compile time; `layout` the strides, in elements,
    x first, that are known then. Without it x has stride 1 and the others are known at the call.
    """

    name = "img.input"

    sym_name = prop_def(StringAttr)
    bounds = opt_prop_def(BoxAttr)
    layout = opt_prop_def(StridedLayoutAttr)
    func = result_def(FuncType)

    # not Pure: an input that nothing reads still belongs to the call
    traits = traits_def(HasParent(PipelineOp))
    assembly_format = (
        "$sym_name (`bounds` qualified($bounds)^)? (`layout` qualified($layout)^)? attr-dict `:` type($func)"
    )

    def __init__(
        self,
        name: str,
        type: FuncType,
        bounds: BoxAttr | None = None,
        layout: StridedLayoutAttr | None = None,
    ):
        super().__init__(
            properties={"sym_name": StringAttr(name), "bounds": bounds, "layout": layout},
            result_types=[type],
        )
        self.func.name_hint = name if SSAValue.is_valid_name(name) else None

    def verify_(self) -> None:
        rank = self.func.type.rank.data
        if self.bounds is not None and len(self.bounds.data) != rank:
            raise VerifyException(
                f"input '{self.sym_name.data}': bounds name {len(self.bounds.data)} dimensions of {rank}"
            )
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
    traits = traits_def(HasParent(PipelineOp))
    assembly_format = "$sym_name `of` $element attr-dict `:` type($value)"

    def __init__(self, name: str, element: Attribute):
        super().__init__(
            properties={"sym_name": StringAttr(name), "element": element},
            result_types=[storage_type(element)],
        )
        self.value.name_hint = name if SSAValue.is_valid_name(name) else None

    def verify_(self) -> None:
        if not is_element_type(self.element):
            raise VerifyException(f"param '{self.sym_name.data}': {self.element} is no pixel type")
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
            raise VerifyException(f"{self.name} asks for the box of an input; a stage has none")
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
            raise VerifyException(
                f"img.boundary: the exterior of {type} is {type.storage}, not {self.exterior.type}"
            )


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

    traits = lazy_traits_def(lambda: (Pure(), HasParent(PipelineOp, GroupOp)))

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
            func.name_hint = name if SSAValue.is_valid_name(name) else None

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
            if not is_element_type(element):
                parser.raise_error(f"{element} is no pixel type", pos)
        bounds = place = None
        if parser.parse_optional_keyword("bounds"):
            bounds = _parse_attribute_of(parser, BoxAttr)
        if parser.parse_optional_keyword("place"):
            place = _parse_attribute_of(parser, PlaceAttr)
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
            raise VerifyException(f"stage '{name}': coordinates are of type index")
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
            raise VerifyException(
                f"stage '{name}': bounds name {len(self.bounds.data)} dimensions of {len(args)}"
            )
        for op in self.body.walk():
            if op is not self and isinstance(op, StageOp | BoundaryOp | InputOp | ParamOp):
                raise VerifyException(f"stage '{name}': {op.name} cannot stand inside a stage")
            if not _computes_values_only(op):
                raise VerifyException(
                    f"stage '{name}': {op.name} does more than compute a value; a stage is a pure function"
                )


_Attr = TypeVar("_Attr", bound=Attribute)


def _parse_attribute_of(parser: Parser, kind: type[_Attr]) -> _Attr:
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

    traits = lazy_traits_def(lambda: (Pure(), HasParent(StageOp)))

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
        if map.num_symbols or map.num_dims != len(self.indices):
            raise VerifyException(f"img.read: the map takes {map.num_dims} values, {len(self.indices)} given")
        if len(map.results) != type.rank.data:
            raise VerifyException(
                f"img.read: {len(map.results)} indices into {type}, which has {type.rank.data} dimensions"
            )
        if not all(e.is_pure_affine() for e in map.results):
            raise VerifyException("img.read: indices multiply, divide and take mod by constants only")
        for e in (sub for result in map.results for sub in result.dfs()):
            if isinstance(e, AffineBinaryOpExpr) and e.kind in _DIVISIONS and e.rhs.value <= 0:  # type: ignore[attr-defined]
                raise VerifyException(f"img.read: {e.kind.get_token()} by {e.rhs}; it must be positive")
        if self.value.type != type.storage:
            raise VerifyException(f"img.read of {type} gives {type.storage}, not {self.value.type}")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """`img.yield %v : f32` ends a stage with its values; in a group, with the functions that leave it."""

    name = "img.yield"

    values = var_operand_def()

    traits = lazy_traits_def(lambda: (IsTerminator(), Pure(), HasParent(StageOp, GroupOp)))
    assembly_format = "$values `:` type($values) attr-dict"

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[list(values)])


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """`img.return "out" = %f : !img.func<2xf32>` ends a pipeline and names its outputs."""

    name = "img.return"

    funcs = var_operand_def(FuncType)
    names = prop_def(ArrayAttr[StringAttr])

    traits = traits_def(IsTerminator(), Pure(), HasParent(PipelineOp))

    def __init__(self, outputs: Sequence[tuple[str, SSAValue]]):
        super().__init__(
            operands=[[v for _, v in outputs]],
            properties={"names": ArrayAttr([StringAttr(n) for n, _ in outputs])},
        )

    @property
    def outputs(self) -> list[tuple[str, SSAValue]]:
        """(name, function) of each output."""
        return [(n.data, f) for n, f in zip(self.names, self.funcs, strict=True)]

    @classmethod
    def parse(cls, parser: Parser) -> ReturnOp:
        def output() -> tuple[str, SSAValue]:
            name = parser.parse_str_literal()
            parser.parse_punctuation("=")
            func = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            return name, parser.resolve_operand(func, parser.parse_type())

        outputs = parser.parse_comma_separated_list(parser.Delimiter.NONE, output)
        op = cls(outputs)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        def output(pair: tuple[str, SSAValue]) -> None:
            printer.print_string_literal(pair[0])
            printer.print_string(" = ")
            printer.print_ssa_value(pair[1])
            printer.print_string(" : ")
            printer.print_attribute(pair[1].type)

        printer.print_string(" ")
        printer.print_list(self.outputs, output)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        names = [n.data for n in self.names]
        if not names:
            raise VerifyException("img.return: a pipeline has at least one output")
        if len(names) != len(self.funcs) or len(set(names)) != len(names):
            raise VerifyException("img.return: each output has one name of its own")


@irdl_op_definition
class GroupOp(IRDLOperation):
    """The stages that one kernel computes, and how.

    ```
    %blur_y = img.group "blur_y" schedule #img.schedule<block_tile, tile = [128, 16], threads = [32, 8]> {
      %blur_x = img.stage "blur_x" (%x, %y) -> f32 place #img.place<block, shared> { ... }
      %blur_y = img.stage "blur_y" (%x, %y) -> f32 { ... }
      img.yield %blur_y : !img.func<2xf32>
    } : !img.func<2xf32>
    ```
    The yielded functions are results of one stage, the group's output; the others stay inside.
    """

    name = "img.group"

    sym_name = prop_def(StringAttr)
    schedule = opt_prop_def(ScheduleAttr)
    body = region_def("single_block")
    funcs = var_result_def(FuncType)

    traits = traits_def(Pure(), HasParent(PipelineOp))

    def __init__(
        self, name: str, types: Sequence[Attribute], body: Region, schedule: ScheduleAttr | None = None
    ):
        super().__init__(
            properties={"sym_name": StringAttr(name), "schedule": schedule},
            result_types=[list(types)],
            regions=[body],
        )
        for func in self.funcs:
            func.name_hint = name if SSAValue.is_valid_name(name) else None

    @property
    def yield_op(self) -> YieldOp:
        """The terminator."""
        op = self.body.block.last_op
        assert isinstance(op, YieldOp)
        return op

    @property
    def output_stage(self) -> StageOp:
        """The stage whose values leave the group."""
        op = self.yield_op.values[0].owner
        assert isinstance(op, StageOp)
        return op

    @property
    def stages(self) -> list[StageOp]:
        """All stages, producers first."""
        return [op for op in self.body.block.ops if isinstance(op, StageOp)]

    @classmethod
    def parse(cls, parser: Parser) -> GroupOp:
        name = parser.parse_str_literal()
        schedule = None
        if parser.parse_optional_keyword("schedule"):
            schedule = _parse_attribute_of(parser, ScheduleAttr)
        attrs = parser.parse_optional_attr_dict_with_keyword(("sym_name", "schedule"))
        body = parser.parse_region()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        op = cls(name, types, body, schedule)
        if attrs is not None:
            op.attributes |= attrs.data
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.sym_name)
        if self.schedule is not None:
            printer.print_string(" schedule ")
            printer.print_attribute(self.schedule)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_string(" : ")
        printer.print_list(self.result_types, printer.print_attribute)

    def verify_(self) -> None:
        name = self.sym_name.data
        if not isinstance(self.body.block.last_op, YieldOp):
            raise VerifyException(f"group '{name}' must end in img.yield")
        values = self.yield_op.values
        if [v.type for v in values] != list(self.result_types) or not values:
            raise VerifyException(f"group '{name}': the types of img.yield and of the group differ")
        owners = {v.owner for v in values}
        if len(owners) != 1 or not all(isinstance(o, StageOp) and o.parent_op() is self for o in owners):
            raise VerifyException(f"group '{name}': one stage of the group gives all its results")
        for op in self.body.block.ops:
            if not isinstance(op, StageOp | BoundaryOp | YieldOp):
                raise VerifyException(f"group '{name}': {op.name} cannot stand in a group")
        rank = self.output_stage.rank
        if self.schedule is not None and len(self.schedule.tile_sizes) != rank:
            raise VerifyException(
                f"group '{name}': the schedule tiles {len(self.schedule.tile_sizes)} dimensions, "
                f"stage '{self.output_stage.sym_name.data}' has {rank}"
            )


class _DivisionOp(IRDLOperation):
    """Common part of `img.div` and `img.mod`."""

    T: ClassVar = VarConstraint("T", base(IntegerType))

    lhs = operand_def(T)
    rhs = operand_def(T)
    signed = opt_prop_def(UnitAttr)
    result = result_def(T)

    traits = traits_def(Pure(), _CanonicalizeDivision())
    assembly_format = "(`signed` $signed^)? $lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, signed: bool):
        super().__init__(
            operands=[lhs, rhs],
            properties={"signed": UnitAttr() if signed else None},
            result_types=[lhs.type],
        )


@irdl_op_definition
class DivOp(_DivisionOp):
    """Halide's integer division: `a == a / b * b + a % b` with `0 <= a % b < |b|`; by zero it gives 0."""

    name = "img.div"


@irdl_op_definition
class ModOp(_DivisionOp):
    """Halide's integer remainder: never negative; by zero it gives 0."""

    name = "img.mod"


OPERATIONS: list[type[Operation]] = [
    BoundaryOp,
    DivOp,
    ExtentOp,
    GroupOp,
    InputOp,
    MinOp,
    ModOp,
    ParamOp,
    PipelineOp,
    ReadOp,
    ReturnOp,
    StageOp,
    YieldOp,
]
