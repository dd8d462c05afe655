"""Printer of the kernel level: the part that CUDA C++ and C share.

Each operation is a row of a table: `EXPRESSIONS` (op name to C expression) or `STATEMENTS` (to lines).
A pure value that is used once becomes part of the expression that uses it; every other value becomes a
`const` variable named by its SSA name hint, and so does one with the attribute `kernel.ordered`. A load is never
printed after a store, barrier, call or loop that stands after it in the IR.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import (
    MemRefType,
    StringAttr,
)
from xdsl.ir import Block, Operation, SSAValue

import tilefuse.lowering.printers.expr as expr
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.lowering.printers.async_copies import print_async_copy, print_async_group, print_async_wait
from tilefuse.lowering.printers.atomics import print_atomic
from tilefuse.lowering.printers.comments import comment_lines
from tilefuse.lowering.printers.control_flow import (
    print_barrier,
    print_call,
    print_condition,
    print_for,
    print_griddepcontrol,
    print_if,
    print_memory_barrier,
    print_return,
    print_shuffle,
    print_while,
    print_yield,
)
from tilefuse.lowering.printers.expr import CExpr
from tilefuse.lowering.printers.floats import FLOAT_ROWS
from tilefuse.lowering.printers.function_text import FunctionText, Row, op_name
from tilefuse.lowering.printers.integers import INTEGER_ROWS
from tilefuse.lowering.printers.language import Language
from tilefuse.lowering.printers.memory import (
    MEMORY_ROWS,
    parameter,
    print_alloca,
    print_masked_store,
    print_metadata,
    print_prefetch,
    print_store,
    print_subview,
    print_vector_store,
    print_view,
)
from tilefuse.lowering.printers.memrefs import written_arguments
from tilefuse.lowering.printers.operations import operations_in
from tilefuse.lowering.printers.pairs import PAIR_ROWS, ROW_ROWS, is_pair, print_extended_product
from tilefuse.lowering.printers.prelude import Prelude
from tilefuse.lowering.printers.prints import print_print
from tilefuse.lowering.printers.vectors import VECTOR_ROWS
from tilefuse.lowering.symbols import c_function_name

# A longer expression becomes a variable: it could not be read. What is stored may be longer, it ends there.
_LONGEST_INLINE = 52
_LONGEST_STORED = 76
_WIDEST_SIGNATURE = 100
_MARKS = re.compile(r"(?<!_)_\b")


FUNCTION_KINDS = ("kernel.threads", "kernel.inline", "kernel.outlined")
"""Attributes that say what a function is: a kernel, one that is inlined where it is called, one that never is."""


class FunctionPrinter(FunctionText):
    """Printer of one function."""

    def __init__(
        self, language: Language, prelude: Prelude, functions: Mapping[str, func.FuncOp], function: func.FuncOp
    ) -> None:
        super().__init__(language, prelude, functions, function)
        self._user: dict[SSAValue, Operation] = {}
        self._count_uses()

    # --- the function itself ---

    def print_function(self) -> str:
        """Print signature and body."""
        function, name = self.function, self.function.sym_name.data
        kinds = [kind for kind in FUNCTION_KINDS if kind in function.attributes]
        if len(kinds) != 1:
            kinds_text = f"{', '.join(FUNCTION_KINDS[:-1])} and {FUNCTION_KINDS[-1]}"
            raise PipelineError(f"@{name} must have one of the attributes {kinds_text}", function)
        kernel = kinds == ["kernel.threads"]
        results = function.function_type.outputs.data
        if len(results) > (0 if kernel else 1):
            raise PipelineError(f"@{name}: a kernel returns nothing and a device function at most one value", function)
        if len(function.body.blocks) != 1:
            raise PipelineError(f"@{name}: the body must be one block; loops are scf.for", function)
        if kernel:
            head = self.language.kernel_qualifier(function)
        else:
            result = self.ctype(results[0]) if results else "void"
            inline = "kernel.inline" in function.attributes
            head = f"{self.language.inline_qualifier if inline else self.language.rare_qualifier} {result}"
        signature = self._signature(f"{head} {c_function_name(name)}")
        self.print_block(function.body.block)
        return "\n".join([*self._comment_lines(function, ""), signature, *self._lines, "}"])

    def _signature(self, head: str) -> str:
        written = written_arguments(self.function, self.functions)
        groups: list[str] = []
        for i, arg in enumerate(self.function.body.block.args):
            if isinstance(arg.type, MemRefType):
                groups.append(", ".join(parameter(self, arg, i in written)))
            else:
                name = self.names.fresh(arg.name_hint or "arg")
                self.set_value(arg, expr.name(name, self.ctype(arg.type)))
                groups.append(f"{self.ctype(arg.type)} {name}")
        text = f"{head}({', '.join(groups) or 'void'}) {{"
        if _width(text) <= _WIDEST_SIGNATURE:
            return text
        lines, line = [f"{head}("], "   "
        for i, group in enumerate(groups):
            group += "," if i + 1 < len(groups) else ") {"
            if _width(line) + _width(group) > _WIDEST_SIGNATURE and line.strip():
                lines.append(line)
                line = "   "
            line += " " + group
        return "\n".join([*lines, line])

    # --- values ---

    def _count_uses(self) -> None:
        """Count the uses by printed operations, backwards, so that dead operations do not count."""
        for op in reversed(operations_in(self.function)):
            if op_name(op) in EXPRESSIONS and not any(self.uses.get(r) for r in op.results):
                continue
            ends, is_loop = type(op) is scf.YieldOp, type(op) is scf.ForOp
            for i, operand in enumerate(op.operands):
                if (ends and self._is_dead_yield(op, i)) or (is_loop and i < 3 and self._hardware_index(op)):
                    continue
                self.uses[operand] = self.uses.get(operand, 0) + 1
                self._user[operand] = op

    def _is_dead_yield(self, op: Operation, i: int) -> bool:
        parent = op.parent_op()
        return isinstance(parent, scf.IfOp) and not self.uses.get(parent.results[i])

    def _hardware_index(self, op: Operation) -> str | None:
        """Return the built-in variable that replaces a block or thread loop, whose bounds are then not printed."""
        level = op.attributes.get("kernel.level")
        if isinstance(op, scf.ForOp) and isinstance(level, StringAttr):
            return self.language.hardware_index(level.data)
        return None

    def _define(self, op: Operation, a: CExpr) -> None:
        result = op.results[0]
        if "kernel.comment" in op.attributes:
            for text in self._comment_lines(op, ""):
                self.line(text)
            self._values[result] = self.bind(a, result)
        elif (a.is_atom or a.is_negated_name) and not a.mutable:
            self._values[result] = a
        elif self.uses[result] == 1 and "kernel.ordered" not in op.attributes and self._may_wait(op, a):
            self._pending[result] = a
        elif a.is_atom:
            self._values[result] = a
        else:
            self._values[result] = self.bind(a, result)

    def _may_wait(self, op: Operation, a: CExpr) -> bool:
        user = self._user[op.results[0]]
        if _width(a.text) > (_LONGEST_STORED if op_name(user) == "memref.store" else _LONGEST_INLINE):
            return False
        if user.parent is not op.parent:
            # In a loop it would be computed again and again.
            return a.cheap and not a.reads
        return not (isinstance(user, scf.ForOp) and a.reads)

    # --- blocks ---

    def print_block(self, block: Block) -> None:
        """Print the operations of a block, each by its table row."""
        for op in block.ops:
            self.op = op
            name = op_name(op)
            rows = PAIR_ROWS if self.language.pairs and is_pair(op) and name in PAIR_ROWS else EXPRESSIONS
            if row := rows.get(name):
                if self.uses.get(op.results[0]) and not self._part_of_chain(op):
                    self._define(op, row(self, op))
            elif statement := STATEMENTS.get(name):
                if not name.startswith("scf.yield"):
                    for text in self._comment_lines(op, ""):
                        self.line(text)
                statement(self, op)
            else:
                raise PipelineError(f"{name} is not printed as {self.language.name}", op)

    def _part_of_chain(self, op: Operation) -> bool:
        """Whether an insertion's result is only inserted into again: the chain is printed with its last insertion."""
        user = self._user[op.results[0]]
        return (
            op_name(op) in ("vector.insert", "ub.poison")
            and self.uses[op.results[0]] == 1
            and op_name(user) == "vector.insert"
        )

    def _comment_lines(self, op: Operation, prefix: str) -> list[str]:
        comment = op.attributes.get("kernel.comment")
        return [prefix + line for line in comment_lines(comment.data)] if isinstance(comment, StringAttr) else []


def _width(text: str) -> int:
    """Count the characters of `text` without the marks of variables: line breaks depend on visible length alone."""
    return len(text) - len(_MARKS.findall(text))


def _poison(p: FunctionText, op: Operation) -> CExpr:
    raise PipelineError("ub.poison is only printed as the start of a chain of vector.insert", op)


EXPRESSIONS: dict[str, Row] = {
    **INTEGER_ROWS,
    **FLOAT_ROWS,
    **VECTOR_ROWS,
    **ROW_ROWS,
    **MEMORY_ROWS,
    "ub.poison": _poison,
}

STATEMENTS: dict[str, Callable[[FunctionText, Operation], None]] = {
    "memref.store": print_store,
    "img.print": print_print,
    "memref.prefetch": print_prefetch,
    "memref.alloca": print_alloca,
    "memref.subview": print_subview,
    "memref.view": print_view,
    "vector.store": print_vector_store,
    "vector.maskedstore": print_masked_store,
    "scf.for": print_for,
    "scf.if": print_if,
    "scf.while": print_while,
    "scf.condition": print_condition,
    "scf.yield": print_yield,
    "func.call": print_call,
    "func.return": print_return,
    "gpu.barrier": print_barrier,
    "gpu.shuffle": print_shuffle,
    "memref.extract_strided_metadata": print_metadata,
    "arith.mului_extended": print_extended_product,
    "nvvm.griddepcontrol": print_griddepcontrol,
    "nvvm.memory.barrier": print_memory_barrier,
    "memref.atomic_rmw": print_atomic,
    "nvgpu.device_async_copy": print_async_copy,
    "nvgpu.device_async_create_group": print_async_group,
    "nvgpu.device_async_wait": print_async_wait,
}
