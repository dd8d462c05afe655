"""Pipelines: inputs to named outputs."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    StringAttr,
)
from xdsl.ir import Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.ops.group import GroupOp
from tilefuse.dialects.img.ops.require import RequireOp
from tilefuse.dialects.img.ops.sources import InputOp, ParamOp
from tilefuse.dialects.img.ops.stage import StageOp, computes_values_only
from tilefuse.dialects.img.ops.update import UpdateOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.dialects.naming import fault_of


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

    @property
    def requirements(self) -> list[RequireOp]:
        """The requirements of a call, in order."""
        return [op for op in self.body.block.ops if isinstance(op, RequireOp)]

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
        self._verify_names()
        names: set[str] = set()
        for op in self.body.walk():
            if isinstance(op, InputOp | ParamOp | StageOp | UpdateOp):
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
            elif not isinstance(op, StageOp | UpdateOp) and not computes_values_only(op):
                raise VerifyException(f"{op.name} is not allowed in a pipeline: it has side effects")

    def _verify_names(self) -> None:
        given = [self.sym_name, *self.return_op.names]
        named = InputOp | ParamOp | StageOp | UpdateOp | GroupOp
        given += [op.sym_name for op in self.body.walk() if isinstance(op, named)]
        for name in given:
            if fault := fault_of(name.data):
                raise VerifyException(fault)


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
            raise VerifyException("img.return: a pipeline needs at least one output")
        if len(names) != len(self.funcs) or len(set(names)) != len(names):
            raise VerifyException("img.return: names of outputs must differ")
