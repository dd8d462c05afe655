"""Update definitions: a new function of an old one, written point by point over a reduction domain.

Halide's order: the points of the domain one after the other, its first dimension innermost; at each of them all
pure coordinates, in any order. A write may see what earlier points have written, never what another pure point has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IndexType, IntegerType, StringAttr, UnitAttr, i1
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.printer import Printer
from xdsl.traits import HasCanonicalizationPatternsTrait, HasParent, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.attrs import BoxAttr
from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.index_map import parse_indices, print_indices, verify_index_map
from tilefuse.dialects.img.ops.parents import in_pipeline_or_group
from tilefuse.dialects.img.ops.stage import ReadOp, StageOp, YieldOp, computes_values_only, parse_attribute_of
from tilefuse.dialects.img.types import MAX_RANK, FuncType
from tilefuse.dialects.naming import value_name

_INDEX = IndexType()

SET = "set"
"""The combiner of a value that is written as it is."""
COMBINERS = (SET, "add", "mul", "min", "max", "and", "or", "xor")
"""Ways in which a written value meets the one that stands there: put in its place, or joined with it."""


class DomainAxis(NamedTuple):
    """A dimension of a reduction domain: its coordinate, and where it runs."""

    coordinate: SSAValue
    min: SSAValue
    extent: SSAValue


class _CanonicalizeUpdate(HasCanonicalizationPatternsTrait):
    @classmethod
    def get_canonicalization_patterns(cls):  # type: ignore[no-untyped-def]
        return (DropEmptyUpdate(),)  # defined below, as it names the op


@irdl_op_definition
class UpdateOp(IRDLOperation):
    """A function after one update definition of it.

    ```
    %h1 = img.update "hist.1" (%y) over (%r in [%lo, %n]) of (%h = %h0 : !img.func<2xui32>) combine [add] {
      %v = img.read %in[%r, %y] : !img.func<2xui8>
      %i = arith.index_castui %v : i8 to index
      %one = arith.constant 1 : i32
      img.write %one at [%i, %y] : i32
    }
    ```
    The region's arguments are the pure coordinates, those of the reduction domain, innermost first, and the functions
    as they stand at this point of the domain (several: those of a tuple, all at one position). `over` gives the
    min and extent of each dimension of the domain. `combine` says, per function, how what is written meets the old
    value (`set` if left out). `inline` says that the reduction stands in an expression, where its value is wanted.
    """

    name = "img.update"

    mins = var_operand_def(IndexType)
    extents = var_operand_def(IndexType)
    old_funcs = var_operand_def(FuncType)
    sym_name = prop_def(StringAttr)
    combine = opt_prop_def(ArrayAttr[StringAttr])
    bounds = opt_prop_def(BoxAttr)
    inline = opt_prop_def(UnitAttr)
    body = region_def("single_block")
    funcs = var_result_def(FuncType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = lazy_traits_def(lambda: (Pure(), _CanonicalizeUpdate(), in_pipeline_or_group()))

    # many parameters: the operands and properties of the operation
    def __init__(
        self,
        name: str,
        old_funcs: Sequence[SSAValue],
        domain: Sequence[tuple[SSAValue, SSAValue]],
        body: Region,
        combine: Sequence[str] = (),
        bounds: BoxAttr | None = None,
        inline: bool = False,
    ):
        combiners = ArrayAttr([StringAttr(c) for c in combine]) if any(c != SET for c in combine) else None
        super().__init__(
            operands=[[low for low, _ in domain], [extent for _, extent in domain], list(old_funcs)],
            properties={
                "sym_name": StringAttr(name),
                "combine": combiners,
                "bounds": bounds,
                "inline": UnitAttr() if inline else None,
            },
            result_types=[[old.type for old in old_funcs]],
            regions=[body],
        )
        for func in self.funcs:
            func.name_hint = value_name(name)

    @property
    def rank(self) -> int:
        """Number of dimensions of its functions."""
        type = self.funcs[0].type
        assert isinstance(type, FuncType)
        return type.rank.data

    @property
    def coordinates(self) -> list[BlockArgument]:
        """All coordinates: pure ones, then the domain's."""
        args = self.body.block.args
        return list(args[: len(args) - len(self.old_funcs)])

    @property
    def pure(self) -> list[BlockArgument]:
        """The coordinates that are not of the reduction domain."""
        coordinates = self.coordinates
        return coordinates[: len(coordinates) - len(self.mins)]

    @property
    def domain(self) -> list[DomainAxis]:
        """The dimensions of the reduction domain, innermost first."""
        own = self.coordinates[len(self.pure) :]
        return [DomainAxis(*dimension) for dimension in zip(own, self.mins, self.extents, strict=True)]

    @property
    def is_over_nothing(self) -> bool:
        """Whether the reduction domain surely has no points, by a constant extent."""
        extents = (integer_constant(axis.extent) for axis in self.domain)
        return any(extent is not None and extent <= 0 for extent in extents)

    @property
    def currents(self) -> list[BlockArgument]:
        """The current functions at a point of the domain."""
        return list(self.body.block.args[len(self.coordinates) :])

    @property
    def combiners(self) -> list[str]:
        """The combiner of each written value with the old one."""
        return [c.data for c in self.combine] if self.combine is not None else [SET] * len(self.old_funcs)

    @property
    def write_op(self) -> WriteOp:
        """The terminator, which has the written values and their places."""
        op = self.body.block.last_op
        assert isinstance(op, WriteOp)
        return op

    @property
    def pure_dims(self) -> list[int]:
        """The dimension of the functions in which each pure coordinate stands alone."""
        positions = self.write_op.positions
        return [positions.index(coordinate) for coordinate in self.pure]

    @classmethod
    def parse(cls, parser: Parser) -> UpdateOp:
        name = parser.parse_str_literal()
        args = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False).resolve(_INDEX)
        )
        domain: list[tuple[SSAValue, SSAValue]] = []
        functions: list[tuple[Parser.Argument, SSAValue]] = []

        def index_operand() -> SSAValue:
            return parser.resolve_operand(parser.parse_unresolved_operand(), _INDEX)

        def dimension() -> None:
            args.append(parser.parse_argument(expect_type=False).resolve(_INDEX))
            parser.parse_keyword("in")
            parser.parse_punctuation("[")
            low = index_operand()
            parser.parse_punctuation(",")
            domain.append((low, index_operand()))
            parser.parse_punctuation("]")

        def function() -> None:
            current = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            old = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            pos = parser.pos
            type = parser.parse_type()
            if not isinstance(type, FuncType):
                parser.raise_error("expected an img.func type", pos)
            functions.append((current.resolve(type), parser.resolve_operand(old, type)))

        if parser.parse_optional_keyword("over"):
            parser.parse_comma_separated_list(parser.Delimiter.PAREN, dimension)
        parser.parse_keyword("of")
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, function)
        combine: list[str] = []
        if parser.parse_optional_keyword("combine"):
            combine = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_identifier)
        bounds = parse_attribute_of(parser, BoxAttr) if parser.parse_optional_keyword("bounds") else None
        inline = parser.parse_optional_keyword("inline") is not None
        attrs = parser.parse_optional_attr_dict_with_keyword(("sym_name", "combine", "bounds", "inline"))
        body = parser.parse_region([*args, *(current for current, _ in functions)])
        op = cls(name, [old for _, old in functions], domain, body, combine, bounds, inline)
        if attrs is not None:
            op.attributes |= attrs.data
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.sym_name)
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.pure, printer.print_ssa_value)

        def dimension(of: DomainAxis) -> None:
            printer.print_ssa_value(of.coordinate)
            printer.print_string(" in ")
            with printer.in_square_brackets():
                printer.print_list((of.min, of.extent), printer.print_ssa_value)

        def function(pair: tuple[SSAValue, SSAValue]) -> None:
            printer.print_ssa_value(pair[0])
            printer.print_string(" = ")
            printer.print_ssa_value(pair[1])
            printer.print_string(" : ")
            printer.print_attribute(pair[1].type)

        if self.mins:
            printer.print_string(" over ")
            with printer.in_parens():
                printer.print_list(self.domain, dimension)
        printer.print_string(" of ")
        with printer.in_parens():
            printer.print_list(list(zip(self.currents, self.old_funcs, strict=True)), function)
        if self.combine is not None:
            printer.print_string(" combine ")
            with printer.in_square_brackets():
                printer.print_list(self.combiners, printer.print_string)
        if self.bounds is not None:
            printer.print_string(" bounds ")
            printer.print_attribute(self.bounds)
        if self.inline is not None:
            printer.print_string(" inline")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    def verify_(self) -> None:
        what = f"update '{self.sym_name.data}'"
        if not self.old_funcs:
            raise VerifyException(f"{what} updates no function")
        if [f.type for f in self.funcs] != [old.type for old in self.old_funcs]:
            raise VerifyException(f"{what}: its results must have the types of the functions that it updates")
        ranks = {old.type.rank.data for old in self.old_funcs}  # type: ignore[attr-defined]
        if len(ranks) != 1:
            raise VerifyException(f"{what}: functions that are updated together must have equal rank")
        if len(self.mins) != len(self.extents) or len(self.mins) > MAX_RANK:
            raise VerifyException(
                f"{what}: a reduction domain has a min and an extent in each of at most {MAX_RANK} dimensions"
            )
        if self.bounds is not None and len(self.bounds.data) != self.rank:
            raise VerifyException(f"{what}: bounds name {len(self.bounds.data)} dimensions of {self.rank}")
        self._verify_arguments(what)
        self._verify_combiners(what)
        if not isinstance(self.body.block.last_op, WriteOp):
            raise VerifyException(f"{what} must end in img.write")
        for op in self.body.walk():
            if not isinstance(op, WriteOp) and not computes_values_only(op):
                raise VerifyException(f"{what}: {op.name} has side effects")
        self._verify_write(what)
        self._verify_current_reads(what)

    def _verify_arguments(self, what: str) -> None:
        args = self.body.block.args
        if len(args) < len(self.mins) + len(self.old_funcs):
            raise VerifyException(f"{what}: its body must take the coordinates, and the current value of each function")
        if any(c.type != _INDEX for c in self.coordinates):
            raise VerifyException(f"{what}: coordinates must be of type index")
        if [c.type for c in self.currents] != [old.type for old in self.old_funcs]:
            raise VerifyException(f"{what}: the current value of a function must have the type of the updated function")

    def _verify_combiners(self, what: str) -> None:
        if len(self.combiners) != len(self.old_funcs):
            raise VerifyException(
                f"{what}: combine names {len(self.combiners)} ways for {len(self.old_funcs)} functions"
            )
        for way, old in zip(self.combiners, self.old_funcs, strict=True):
            if way not in COMBINERS:
                raise VerifyException(f"{what}: there is no combiner '{way}'; there are {', '.join(COMBINERS)}")
            assert isinstance(old.type, FuncType)
            if way in ("and", "or", "xor") and not isinstance(old.type.storage, IntegerType):
                raise VerifyException(f"{what}: '{way}' combines integers, not {old.type.element}")

    def _verify_write(self, what: str) -> None:
        write = self.write_op
        expected = [old.type.storage for old in self.old_funcs]  # type: ignore[attr-defined]
        given = [v.type for v in write.values]
        if expected != given:
            raise VerifyException(
                f"{what} writes ({', '.join(map(str, given))}) but its type says ({', '.join(map(str, expected))})"
            )
        if len(write.positions) != self.rank:
            raise VerifyException(f"{what} writes at {len(write.positions)} indices; its functions have {self.rank}")
        for coordinate in self.pure:
            if coordinate not in write.positions:
                raise VerifyException(
                    f"{what}: the pure coordinate %{coordinate.name_hint or coordinate.index} must be one of "
                    "the written indices by itself"
                )

    def _verify_current_reads(self, what: str) -> None:
        for current in self.currents:
            for use in current.uses:
                if not isinstance(read := use.operation, ReadOp):
                    raise VerifyException(
                        f"{what}: {use.operation.name} uses a current function directly; read it by img.read"
                    )
                positions = plain_indices(read.map.data, list(read.indices))
                for coordinate, dim in zip(self.pure, self.pure_dims, strict=True):
                    if positions[dim] is not coordinate:
                        raise VerifyException(
                            f"{what} reads itself in dimension {dim} at another place than the written pure "
                            "coordinate; only dimensions of the reduction domain may differ"
                        )


def plain_indices(map: AffineMap, operands: Sequence[SSAValue]) -> list[SSAValue | None]:
    """Return the value of each index that is a value itself; None for a computed index."""
    return [operands[e.position] if isinstance(e, AffineDimExpr) else None for e in map.results]


class DropEmptyUpdate(RewritePattern):
    """Replace an update over a domain of no points by its old functions.

    A declared box is a limit for the readers, which old functions do not have: then a stage that copies them has it.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: UpdateOp, rewriter: PatternRewriter) -> None:
        parent = op.parent_op()
        if not op.is_over_nothing or parent is None:
            return
        if parent.name != "img.pipeline":  # a group has its schedule
            return
        if op.bounds is None:
            rewriter.replace(op, (), op.old_funcs)
        else:
            rewriter.replace(op, copy := _copy_of_old_funcs(op), copy.funcs)


def _copy_of_old_funcs(op: UpdateOp) -> StageOp:
    """Make a stage that gives the old functions of an update, under its name and in its box."""
    block = Block(arg_types=[_INDEX] * op.rank)
    for d, coordinate in enumerate(block.args):
        coordinate.name_hint = letter(d)
    reads = [ReadOp(old, list(block.args), AffineMap.identity(op.rank)) for old in op.old_funcs]
    block.add_ops([*reads, YieldOp([read.value for read in reads])])
    elements = [old.type.element for old in op.old_funcs if isinstance(old.type, FuncType)]
    copy = StageOp(op.sym_name.data, elements, Region(block), op.bounds)
    copy.location = op.location
    for func, updated in zip(copy.funcs, op.funcs, strict=True):
        func.name_hint = updated.name_hint
    return copy


@irdl_op_definition
class WriteOp(IRDLOperation):
    """`img.write %v at [%i, %y] where %p : i32` ends an update: the values, the position, and whether at all."""

    name = "img.write"

    values = var_operand_def()
    indices = var_operand_def(IndexType)
    predicate = opt_operand_def(i1)
    map = prop_def(AffineMapAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = lazy_traits_def(lambda: (IsTerminator(), Pure(), HasParent(UpdateOp)))

    def __init__(
        self,
        values: Sequence[SSAValue],
        indices: Sequence[SSAValue],
        map: AffineMap,
        predicate: SSAValue | None = None,
    ):
        super().__init__(operands=[list(values), list(indices), predicate], properties={"map": AffineMapAttr(map)})

    @property
    def positions(self) -> list[SSAValue | None]:
        """Per dimension of the functions, the value that the index is; None where it is computed."""
        return plain_indices(self.map.data, list(self.indices))

    def is_at(self, read: ReadOp) -> bool:
        """Whether a read of the update's own functions is at the point that is written."""
        return read.map == self.map and list(read.indices) == list(self.indices)

    @classmethod
    def parse(cls, parser: Parser) -> WriteOp:
        values = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        parser.parse_keyword("at")
        map, indices = parse_indices(parser)
        predicate = None
        if parser.parse_optional_keyword("where"):
            predicate = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
        attrs = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        pos = parser.pos
        types: list[Attribute] = list(parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type))
        op = cls(parser.resolve_operands(values, types, pos), indices, map, predicate)
        op.attributes |= attrs
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.values, printer.print_ssa_value)
        printer.print_string(" at ")
        print_indices(printer, self.map.data, self.indices)
        if self.predicate is not None:
            printer.print_string(" where ")
            printer.print_ssa_value(self.predicate)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list([v.type for v in self.values], printer.print_attribute)

    def verify_(self) -> None:
        verify_index_map(self.name, self.map.data, len(self.indices))


Definition = StageOp | UpdateOp
"""An op that computes functions: by their value at a point, or by what is written over others."""
