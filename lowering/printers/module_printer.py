"""Printing of a source file: the functions of a module, after the types and helpers that they use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.lowering.printers.c_family import FunctionPrinter
from tilefuse.lowering.printers.language import Language
from tilefuse.lowering.printers.operations import operations_in
from tilefuse.lowering.printers.prelude import Prelude


class ModulePrinter:
    """Print the functions of a module, callees first, after the helpers that they use."""

    def __init__(self, language: Language, index_bits: int) -> None:
        if index_bits not in (32, 64):
            raise PipelineError(f"index_bits must be 32 or 64, got {index_bits}")
        self._language = language
        self._index_bits = index_bits

    def print_module(self, module: ModuleOp, only: str | None = None) -> str:
        """Return the text of all functions of `module`, or of one function and its callees."""
        language = self._language
        prelude = Prelude(language.library, language.helper_qualifier, language.rare_qualifier, self._index_bits)
        found = [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]
        functions = {f.sym_name.data: f for f in found}
        bodies = []
        for function in _callees_first(found if only is None else [functions[only]], functions):
            if "kernel.threads" in function.attributes:
                language.check(function, functions)
            bodies.append(FunctionPrinter(language, prelude, functions, function).print_function())
        index = "int" if self._index_bits == 32 else "long long"
        head = [
            *language.head(prelude.includes),
            f"typedef {index} idx;",
            f"typedef unsigned {index} uidx;",
        ]
        return "\n\n".join(["\n".join(head), *prelude.parts(), *bodies]) + "\n"


def _callees_first(functions: Sequence[func.FuncOp], known: Mapping[str, func.FuncOp]) -> list[func.FuncOp]:
    """Sort functions so that callees come first; PipelineError for recursion."""
    order: list[func.FuncOp] = []
    active: list[str] = []

    def visit(function: func.FuncOp) -> None:
        name = function.sym_name.data
        if name in active:
            raise PipelineError(f"@{name} calls itself; kernels cannot recurse", function)
        if function in order or function.is_declaration:
            return
        active.append(name)
        for op in operations_in(function):
            if type(op) is func.CallOp and (callee := known.get(op.callee.string_value())):
                visit(callee)
        active.pop()
        order.append(function)

    for function in functions:
        visit(function)
    return order
