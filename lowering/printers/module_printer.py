"""A whole source file: the functions of a module, after the types and helpers that they use."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.lowering.printers.c_family import FunctionPrinter
from tilefuse.lowering.printers.language import Language
from tilefuse.lowering.printers.library import Helper


class ModulePrinter:
    """Prints the functions of a module, callees first, after the helpers that they use."""

    def __init__(self, language: Language, index_bits: int) -> None:
        if index_bits not in (32, 64):
            raise PipelineError(f"index_bits must be 32 or 64, got {index_bits}")
        self.language = language
        self.index_bits = index_bits
        self.functions: dict[str, func.FuncOp] = {}
        self._types: dict[str, str] = {}
        self._helpers: dict[str, str] = {}
        self.includes: set[str] = set()

    def print_module(self, module: ModuleOp, only: str | None = None) -> str:
        """The text of all functions of `module`, or of one and of those that it calls."""
        found = [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]
        self.functions = {f.sym_name.data: f for f in found}
        bodies = []
        for function in self._callees_first(found if only is None else [self.functions[only]]):
            if "kernel.threads" in function.attributes:
                self.language.check(function, self.functions)
            bodies.append(FunctionPrinter(self, function).print_function())
        index = "int" if self.index_bits == 32 else "long long"
        head = [
            *self.language.head(self.includes),
            f"typedef {index} idx;",
            f"typedef unsigned {index} uidx;",
        ]
        parts = ["\n".join(head), *self._types.values()]
        if self._helpers:
            parts.append("\n".join(self._helpers.values()))
        return "\n\n".join([*parts, *bodies]) + "\n"

    def require(self, name: str, helper: Helper) -> None:
        """Print this helper function, and first those it calls."""
        if name not in self._helpers:
            for other in helper.needs:
                if not (needed := self.language.library[other]).alias:
                    self.require(other, needed)
            qualifier = self.language.rare_qualifier if helper.rare else self.language.helper_qualifier
            self._helpers[name] = f"{qualifier} {helper.text}"

    def require_type(self, name: str, text: str) -> None:
        """Print this type definition."""
        self._types[name] = text

    def _callees_first(self, functions: Sequence[func.FuncOp]) -> list[func.FuncOp]:
        order: list[func.FuncOp] = []
        active: list[str] = []

        def visit(function: func.FuncOp) -> None:
            name = function.sym_name.data
            if name in active:
                raise PipelineError(f"@{name} calls itself; kernels cannot recurse", function)
            if function in order or function.is_declaration:
                return
            active.append(name)
            for op in function.walk():
                if isinstance(op, func.CallOp) and (callee := self.functions.get(op.callee.string_value())):
                    visit(callee)
            active.pop()
            order.append(function)

        for function in functions:
            visit(function)
        return order
