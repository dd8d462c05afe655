"""Printing of `img.print` by the output language's own means."""

from __future__ import annotations

from typing import cast as as_type

from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Operation

from tilefuse.dialects.img.formats import kinds_of, unescaped
from tilefuse.dialects.img.ops import PrintOp
from tilefuse.lowering.printers.function_text import FunctionText
from tilefuse.lowering.printers.readings import read_signed, read_unsigned

_LONGEST = {"%lld": 24, "%llu": 24, "%f": 330}
"""Bytes that a number takes at most."""


def print_print(p: FunctionText, op: Operation) -> None:
    """Print a line where the condition holds; the value passes through."""
    op = as_type(PrintOp, op)
    value, condition = p.use(op.value), p.use(op.condition)
    args = [_string(unescaped(op.format.data))]
    for kind, number in zip(kinds_of(op.format.data) or (), op.numbers, strict=True):
        a = p.use(number)
        if isinstance(number.type, Float64Type):
            args.append(a.text)
        else:
            c_type = "long long" if kind == "%lld" else "unsigned long long"
            args.append(f"({c_type})({(read_signed if kind == '%lld' else read_unsigned)(a, 64).text})")
    longest = len(args[0]) + sum(_LONGEST[kind] for kind in kinds_of(op.format.data) or ())
    call = p.language.print_line(p.prelude, args, longest)
    p.line(call if condition.text == "true" else f"if ({condition.text}) {call}")
    p.set_value(op.result, p.atom(value, op.result))


def _string(text: str) -> str:
    """Return `text` as a C string literal: ASCII unchanged, all other bytes as escapes."""
    plain = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "?": "\\?"}
    pieces = (plain.get(chr(b)) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text.encode("utf-8", "replace"))
    return f'"{"".join(pieces)}"'
