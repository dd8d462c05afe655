"""Parser of IR text that gives every operation its line and column.

xDSL's parser leaves operations at `loc(unknown)`; then no verifier or pass could say which line is wrong.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from itertools import accumulate
from typing import TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    AnyFloat,
    FileLineColLoc,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, AttributeInvT, Block, Dialect, Operation, SSAValue, TypeAttribute
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.parser.generic_parser import ParserState
from xdsl.universe import Universe
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind, StringLiteral

from tilefuse.dialects.diagnostics import PipelineError, SourcePosition
from tilefuse.dialects.img.elements import FLOATS
from tilefuse.dialects.img.schedule import DIALECT as SCHEDULES
from tilefuse.dialects.naming import printable, value_name
from tilefuse.dialects.verification import verify

_Parsed = TypeVar("_Parsed")
_FLOATS = {row.name: cast(AnyFloat, row.type) for row in FLOATS.values()}


class _Lexer(MLIRLexer):
    """xDSL's lexer, with two repairs: long unclosed strings take linear time, and invalid bytes are an error."""

    # no run of characters is tried again in parts
    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def _lex_string_literal(self, start_pos: int) -> Token[MLIRTokenKind]:
        try:
            token = super()._lex_string_literal(start_pos)
            StringLiteral.from_span(token.span).bytes_contents.decode()
        except UnicodeError:
            span = Span(start_pos, self.pos, self.input)
            raise ParseError(span, f"{printable(span.text)} is not UTF-8 text; replace the bytes") from None
        return token


class LocatedParser(Parser):
    """xDSL's parser; each operation's location is its place in the text, or its explicit `loc(...)`."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<string>") -> None:
        super().__init__(ctx, "", name)
        text = input.decode() if isinstance(input, bytes) else input
        self._parser_state = ParserState(_Lexer(Input(text, name)))
        lengths = (len(line) + 1 for line in text.split("\n"))
        self._line_starts = [0, *accumulate(lengths)]
        self._file = StringAttr(printable(name))
        self._first_use: dict[str, Span] = {}
        self._too_early: dict[SSAValue, Span] = {}
        """Uses before the value is defined: xDSL replaces these, but not of an operation that defines it inside."""

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """Parse the input as one module; a text without operations is an empty module, as for mlir-opt."""
        if allow_implicit_module and self._current_token.kind == MLIRTokenKind.EOF:
            return ModuleOp([])
        try:
            module = super().parse_module(allow_implicit_module)
        except ParseError as error:
            if self._current_token.kind == MLIRTokenKind.EOF:
                # xDSL reports an undefined value at the end of the text; the use is where to look.
                for name in self.forward_ssa_references:
                    raise ParseError(self._first_use[name], f"%{name} is used but never defined") from error
            raise
        for value, span in self._too_early.items():
            if value.first_use is not None:
                raise ParseError(span, f"{span.text} is used before it is defined")
        return module

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        for value in values:
            value.name_hint = value_name(value.name_hint)

    def resolve_operand(self, operand: UnresolvedOperand, type: AttributeInvT) -> SSAValue[AttributeInvT]:
        if operand.operand_name not in self.ssa_values:
            self._first_use.setdefault(operand.operand_name, operand.span)
        found = super().resolve_operand(operand, type)
        if isinstance(found, ForwardDeclaredValue):
            self._too_early.setdefault(found, operand.span)
        return found

    def parse_optional_builtin_int_or_float_attr(self) -> FloatAttr | IntegerAttr | None:
        start = self.pos
        found: FloatAttr | IntegerAttr | None = None
        is_too_large = False
        try:
            found = super().parse_optional_builtin_int_or_float_attr()
        except OverflowError:
            is_too_large = True
        number, _, type = (t.strip() for t in self.lexer.input.content[start : self.pos].partition(":"))
        is_negative = number.startswith("-")
        if "x" in number.lower() and (is_too_large or (is_negative and isinstance(found, FloatAttr))):
            self.raise_error(f"{number} is not a bit pattern of {type}", start, self.pos)
        # xDSL rounds to infinity what is too large for other formats than f16
        return FloatAttr(-math.inf if is_negative else math.inf, _FLOATS[type]) if is_too_large else found

    def parse_optional_str_literal(self) -> str | None:
        found = super().parse_optional_str_literal()
        return self._text_of_bytes() if found is None else found

    def _parse_optional_string_attr(self) -> StringAttr | None:
        if (found := super()._parse_optional_string_attr()) is not None:
            return found
        text = self._text_of_bytes()
        return None if text is None else StringAttr(text)

    def _text_of_bytes(self) -> str | None:
        """Return the text of a literal with escapes beyond ASCII, which xDSL's lexer classifies as bytes."""
        token = self._current_token
        if token.kind != MLIRTokenKind.BYTES_LIT:
            return None
        text: str = StringLiteral.from_span(token.span).string_contents
        self._consume_token(MLIRTokenKind.BYTES_LIT)
        return text

    def parse_operation(self) -> Operation:
        start = self.pos
        op = self._with_place(super().parse_operation)
        # By identity: `loc(unknown)` in the text makes an attribute of its own, and is kept.
        if op.location is UNKNOWN_LOC:
            op.location = self._location(start)
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        try:
            return super()._get_op_by_name(name)
        except ParseError:
            start = self.lexer.input.content.rfind(name, 0, self.pos)
            dialect = self.ctx.get_optional_dialect(name.partition(".")[0])
            known = [op.name for op in dialect.operations] if dialect else []
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            self.raise_error(f"unknown operation '{name}'{hint}", start, start + len(name))

    def _parse_dialect_type_or_attribute_body(
        self, attr_name: str, is_type: bool, is_opaque: bool, starting_opaque_pos: int | None
    ) -> Attribute:
        dialect, _, model = attr_name.partition(".")
        if dialect == SCHEDULES and model and self.ctx.get_optional_attr(attr_name) is None:
            known = self.ctx.get_optional_dialect(dialect)
            names = [kind.name.removeprefix(f"{dialect}.") for kind in known.attributes] if known else []
            self.raise_error(f"no execution model is called '{model}'; there are {', '.join(names)}")
        parse = super()._parse_dialect_type_or_attribute_body
        return cast(Attribute, parse(attr_name, is_type, is_opaque, starting_opaque_pos))

    def _parse_block(self) -> Block:
        # What stands where neither an operation, a label nor the end of the region does: xDSL does not say so.
        if self._current_token.kind != MLIRTokenKind.CARET_IDENT:
            self.raise_error("expected an operation or '}'")
        return super()._parse_block()

    def parse_optional_attribute(self) -> Attribute | None:
        return self._with_place(super().parse_optional_attribute)

    def parse_optional_type(self) -> TypeAttribute | None:
        return self._with_place(super().parse_optional_type)

    def _with_place(self, parse: Callable[[], _Parsed]) -> _Parsed:
        """Call `parse`; an invalid attribute becomes a parse error at its beginning."""
        start = self.pos
        try:
            return parse()
        except (VerifyException, NotImplementedError, ValueError) as error:  # ValueError: integers too large
            message = " ".join(str(error).split())
            raise ParseError(Span(start, start, self.lexer.input), message) from error

    def _location(self, offset: int) -> FileLineColLoc:
        line = bisect_right(self._line_starts, offset)
        return FileLineColLoc(self._file, IntAttr(line), IntAttr(offset - self._line_starts[line - 1] + 1))


def parse_error(error: ParseError) -> PipelineError:
    """Convert an error of the parser to a `PipelineError`, which prints as one located line."""
    place = error.span.get_location()
    return PipelineError(error.msg, position=SourcePosition(place.file, place.line, place.col))


def known_dialects() -> Context:
    """Return a context that knows the dialects of xDSL, tilefuse and installed plug-ins; loads none of them."""
    from tilefuse.universe import UNIVERSE  # which names all rooms

    ctx = Context()
    try:
        universe = Universe.get_multiverse()
    except Exception as error:
        raise broken_package(error) from error
    for name, factory in universe.all_dialects.items():
        ctx.register_dialect(name, factory)
    # A checkout on the path that was never installed has no entry point.
    if SCHEDULES not in ctx.registered_dialect_names:
        for name, factory in UNIVERSE.all_dialects.items():
            ctx.register_dialect(name, factory)
    replace_dialects(ctx)
    return ctx


def replace_dialects(ctx: Context) -> None:
    """Replace xDSL's dialects that lack operations by ours; no public method replaces a registered one."""
    ctx._registered_dialects |= {"gpu": _gpu, "llvm": _llvm, "memref": _memref}


def _gpu() -> Dialect:
    from tilefuse.dialects.gpu_shuffle import GPU_WITH_SHUFFLE

    return GPU_WITH_SHUFFLE


def _llvm() -> Dialect:
    from xdsl.dialects.llvm import LLVM

    from tilefuse.dialects.funnel_shifts import FUNNEL_SHIFTS

    return Dialect("llvm", [*LLVM.operations, *FUNNEL_SHIFTS.operations], [*LLVM.attributes])


def _memref() -> Dialect:
    from tilefuse.dialects.memref import MEMREF

    return MEMREF


def broken_package(error: Exception) -> PipelineError:
    """Convert an error in an installed package's entry point `xdsl.universe` to one that names the package."""
    from importlib.metadata import entry_points  # late: slow, and seldom needed

    for point in entry_points(group="xdsl.universe"):
        try:
            found = point.load()
        except Exception as why:
            return PipelineError(
                f"the package '{point.name}' ({point.value}), which the entry point xdsl.universe announces, cannot "
                f"be loaded: {type(why).__name__}: {why}; repair or uninstall it"
            )
        if not isinstance(found, Universe):
            return PipelineError(
                f"the package '{point.name}' announces {point.value} by the entry point xdsl.universe, which is a "
                f"{type(found).__name__}, not a Universe"
            )
    return PipelineError(f"two packages of the entry point xdsl.universe conflict: {error}")


def parse_module(text: str, filename: str = "<string>", ctx: Context | None = None) -> ModuleOp:
    """Parse IR text (custom or generic form) and verify it.

    Raises PipelineError, `filename:line:col: error: ...`, if it does not parse or does not verify.
    """
    try:
        module = LocatedParser(ctx or known_dialects(), text, filename).parse_module()
    except ParseError as error:
        raise parse_error(error) from None
    verify(module)
    return module
