"""`#img.region`: the points that are needed of a function, in terms of the boxes of a call."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tilefuse.dialects.img.symbolic import (
    Operation,
    Role,
    SizeExpr,
    SizeValue,
    Sum,
    Symbol,
    greatest,
    least,
    symbol,
    symbols,
)

SymbolicSpan = tuple[SizeValue, SizeValue]
"""(first, last) of a dimension, both inside."""

_AXES = "xyzw"


@irdl_attr_definition
class RegionAttr(Data[tuple[SymbolicSpan, ...]]):
    """Per dimension, x first, `first to last` of the needed points, by numbers that are known at a call.

    ```
    #img.region<output "blur"(x0 : nx0, y0 : ny0), input "photo"(x1 : nx1, y1 : ny1)
                -> [max(x1, x0 - 1) to min(x1 + nx1 - 1, x0 + nx0), y0 to y0 + ny0 - 1]>
    ```
    The box of an input or output is named `min : extent` per dimension, as in `#img.box`; the value of a parameter
    is named too (`param "k"(k2)`). Expressions are sums, products, `floordiv` and `mod` (by zero 0), `min` and `max`.
    """

    name = "img.region"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[SymbolicSpan, ...]:
        with parser.in_angle_brackets():
            known = _parse_names(parser)

            def span() -> SymbolicSpan:
                first = _parse_sum(parser, known)
                parser.parse_keyword("to")
                return first, _parse_sum(parser, known)

            return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, span))

    def print_parameter(self, printer: Printer) -> None:
        used = {s for span in self.data for end in span for s in symbols(end)}
        owners = sorted({(list(Role).index(s.role), s.name, s.role) for s in used})
        names: dict[Symbol, str] = {}
        headers = []
        for number, (_, name, role) in enumerate(owners):
            dims = 1 + max(s.dim for s in used if (s.role, s.name) == (role, name))
            boxes = []
            for d in range(dims):
                axis = "k" if role is Role.Param else _AXES[d] if d < len(_AXES) else f"d{d}_"
                names[Symbol(role, name, d)] = f"{axis}{number}"
                names[Symbol(role, name, d, extent=True)] = f"n{axis}{number}"
                boxes.append(f"{axis}{number}" + ("" if role is Role.Param else f" : n{axis}{number}"))
            headers.append((role, name, boxes))
        with printer.in_angle_brackets():
            for i, (role, name, boxes) in enumerate(headers):
                printer.print_string(f"{', ' if i else ''}{role.value} ")
                printer.print_string_literal(name)
                printer.print_string(f"({', '.join(boxes)})")
            spans = (f"{num_text(first, names)} to {num_text(last, names)}" for first, last in self.data)
            printer.print_string(f"{' -> ' if headers else ''}[{', '.join(spans)}]")


def _parse_names(parser: AttrParser) -> dict[str, SizeExpr]:
    """Return the boxes and parameters before `->`, by the names that stand for their numbers."""
    known: dict[str, SizeExpr] = {}

    def declare(value: SizeExpr) -> None:
        pos = parser.pos
        name = parser.parse_identifier()
        if name in known or name in ("min", "max", "to", "floordiv", "mod"):
            parser.raise_error(f"'{name}' cannot be the name of another number", pos)
        known[name] = value

    role = parser.parse_optional_str_enum(Role)
    while role is not None:
        name = parser.parse_str_literal()
        parser.parse_punctuation("(")
        dim = 0
        while True:
            declare(symbol(role, name, dim))
            if role is Role.Param:
                break
            parser.parse_punctuation(":")
            declare(symbol(role, name, dim, extent=True))
            dim += 1
            if not parser.parse_optional_punctuation(","):
                break
        parser.parse_punctuation(")")
        if not parser.parse_optional_punctuation(","):
            parser.parse_punctuation("->")
            return known
        role = parser.parse_str_enum(Role)
    return known


def _parse_sum(parser: AttrParser, known: Mapping[str, SizeExpr]) -> SizeValue:
    total = _parse_product(parser, known)
    while True:
        if parser.parse_optional_punctuation("+"):
            total = total + _parse_product(parser, known)
        elif parser.parse_optional_punctuation("-"):
            total = total - _parse_product(parser, known)
        else:
            return total


def _parse_product(parser: AttrParser, known: Mapping[str, SizeExpr]) -> SizeValue:
    value = _parse_primary(parser, known)
    while True:
        if parser.parse_optional_punctuation("*"):
            value = value * _parse_primary(parser, known)
        elif parser.parse_optional_keyword("floordiv"):
            by = _parse_primary(parser, known)
            value = value // by if by != 0 else 0
        elif parser.parse_optional_keyword("mod"):
            by = _parse_primary(parser, known)
            value = value % by if by != 0 else 0
        else:
            return value


def _parse_primary(parser: AttrParser, known: Mapping[str, SizeExpr]) -> SizeValue:
    if parser.parse_optional_punctuation("-"):
        return -1 * _parse_primary(parser, known)
    if parser.parse_optional_punctuation("("):
        value = _parse_sum(parser, known)
        parser.parse_punctuation(")")
        return value
    number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
    if number is not None:
        return number
    pos = parser.pos
    name = parser.parse_optional_identifier()
    if name in ("min", "max"):
        values = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_sum(parser, known))
        if values:
            return least(*values) if name == "min" else greatest(*values)
    if name is None or name not in known:
        parser.raise_error(
            f"expected a number, min(...), max(...) or one of the names {', '.join(known) or '(there are none)'}", pos
        )
    return known[name]


def num_text(value: SizeValue, names: Mapping[Symbol, str]) -> str:
    """Format a number, with the names of its symbols."""
    if isinstance(value, int):
        return str(value)
    minima = []
    for clause in value.clauses:
        sums = [_sum_text(s, names) for s in clause]
        minima.append(sums[0] if len(sums) == 1 else f"min({', '.join(sums)})")
    return minima[0] if len(minima) == 1 else f"max({', '.join(minima)})"


def _sum_text(s: Sum, names: Mapping[Symbol, str]) -> str:
    text = ""
    for atom, coefficient in s.terms:
        size, sign = abs(coefficient), "-" if coefficient < 0 else "+"
        part = names[atom] if isinstance(atom, Symbol) else _operation_text(atom, names)
        if size != 1:
            part = f"{size} * {part if isinstance(atom, Symbol) else f'({part})'}"
        elif sign == "-" and not isinstance(atom, Symbol):
            part = f"({part})"
        text = f"{text} {sign} {part}" if text else part if sign == "+" else f"-{part}"
    if not text:
        return str(s.constant)
    return f"{text} {'-' if s.constant < 0 else '+'} {abs(s.constant)}" if s.constant else text


def _operation_text(op: Operation, names: Mapping[Symbol, str]) -> str:
    def operand(value: SizeValue) -> str:
        text = num_text(value, names)
        return f"({text})" if " " in text or text.startswith("-") else text

    return f"{operand(op.lhs)} {op.kind} {operand(op.rhs)}"
