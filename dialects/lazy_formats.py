"""Declarative assembly formats, read when an operation is first parsed or printed and not when its class is made.

xDSL reads the format of each operation as its class is defined: a quarter of the time of importing the compiler, which
makes CUDA text without parsing or printing any IR. `read_formats_lazily` delays this; call it before
xDSL's dialects are imported.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from xdsl.irdl.declarative_assembly_format import FormatProgram

if TYPE_CHECKING:
    from xdsl.irdl import OpDef
    from xdsl.parser import Parser
    from xdsl.printer import Printer

_read = FormatProgram.from_str


class LazyFormat:
    """Placeholder of a format's program until it is needed."""

    def __init__(self, text: str, op_def: OpDef):
        self._source = text, op_def

    @cached_property
    def program(self) -> FormatProgram:
        """The parsed format. Raises ParseError if its text is invalid, as xDSL does at class creation."""
        return _read(*self._source)

    def parse(self, parser: Parser, op_type: Any) -> Any:
        """Parse an operation."""
        return self.program.parse(parser, op_type)

    def print(self, printer: Printer, op: Any) -> None:
        """Print an operation."""
        self.program.print(printer, op)


def read_formats_lazily() -> None:
    """Make xDSL parse the format of every operation defined from now on at first use."""
    FormatProgram.from_str = staticmethod(LazyFormat)  # type: ignore[method-assign,assignment]
