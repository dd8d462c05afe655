"""The kernel level as text, in what CUDA C++ and C have in common.

Each operation is a row of a table: `EXPRESSIONS` (op name to C expression) or `STATEMENTS` (to lines).
A pure value that is used once becomes part of the expression that uses it; every other value becomes a
`const` variable named by its SSA name hint. A load is never printed after a store, barrier, call or loop that
stands after it in the IR.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from typing import cast as as_type

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import (
    IndexType,
    IntegerType,
    MemRefType,
    StringAttr,
    UnregisteredOp,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.lowering.printers import expr
from tilefuse.lowering.printers.async_copies import print_async_copy, print_async_group, print_async_wait
from tilefuse.lowering.printers.c_types import (
    SIGNED,
    UNSIGNED,
    promotes_to_int,
    register_type,
    signed_range,
    storage_type,
    type_range,
    unsigned_range,
    width_of,
)
from tilefuse.lowering.printers.comments import comment_lines
from tilefuse.lowering.printers.control_flow import (
    print_barrier,
    print_call,
    print_for,
    print_griddepcontrol,
    print_if,
    print_return,
    print_shuffle,
    print_yield,
)
from tilefuse.lowering.printers.expr import Expr
from tilefuse.lowering.printers.floats import FLOAT_ROWS
from tilefuse.lowering.printers.integers import INTEGER_ROWS, Row
from tilefuse.lowering.printers.memory import (
    MEMORY_ROWS,
    Memory,
    parameter,
    print_alloca,
    print_masked_store,
    print_metadata,
    print_prefetch,
    print_store,
    print_vector_store,
    print_view,
    written_arguments,
)
from tilefuse.lowering.printers.names import Names
from tilefuse.lowering.printers.pairs import PAIR_ROWS, ROW_ROWS, is_pair, print_extended_product
from tilefuse.lowering.printers.readings import unsigned
from tilefuse.lowering.printers.vectors import VECTOR_ROWS, Vector
from tilefuse.lowering.symbols import function_name

if TYPE_CHECKING:
    from tilefuse.lowering.printers.module_printer import ModulePrinter

# A longer expression becomes a variable: it could not be read. What is stored may be longer, it ends there.
_LONGEST_INLINE = 52
_LONGEST_STORED = 76
_WIDEST_SIGNATURE = 100
_MARKS = re.compile(r"(?<!_)_\b")


def op_name(op: Operation) -> str:
    """The name of an operation, also of one that xDSL does not know."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


KINDS = ("kernel.threads", "kernel.inline", "kernel.outlined")
"""Attributes that say what a function is: a kernel, one that is inlined where it is called, one that never is."""


class FunctionPrinter:
    """Prints one function. The rows of the tables see it as `p`."""

    def __init__(self, module: ModulePrinter, op: func.FuncOp) -> None:
        self.module = module
        self.language = module.language
        self.index_bits = module.index_bits
        self.op: Operation = op
        self.function = op
        self.names = Names()
        self.memories: dict[SSAValue, Memory] = {}
        self.uses: dict[SSAValue, int] = {}
        self._user: dict[SSAValue, Operation] = {}
        self._values: dict[SSAValue, Expr] = {}
        self._pending: dict[SSAValue, Expr] = {}
        self.versions = 0
        """Calls so far that share no code with others."""
        self._lines: list[str] = []
        self._indent = 1
        self._count_uses()

    # --- the function itself ---

    def print_function(self) -> str:
        """Signature and body."""
        function, name = self.function, self.function.sym_name.data
        kinds = [kind for kind in KINDS if kind in function.attributes]
        if len(kinds) != 1:
            kinds_text = f"{', '.join(KINDS[:-1])} and {KINDS[-1]}"
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
        signature = self._signature(f"{head} {function_name(name)}")
        self._print_block(function.body.block)
        return "\n".join([*self._comment_lines(function, ""), signature, *self._lines, "}"])

    def _signature(self, head: str) -> str:
        written = written_arguments(self.function, self.module.functions)
        groups: list[str] = []
        for i, arg in enumerate(self.function.body.block.args):
            if isinstance(arg.type, MemRefType):
                groups.append(", ".join(parameter(self, arg, i in written)))
            else:
                name = self.names.fresh(arg.name_hint or "arg")
                self._values[arg] = expr.name(name, self.ctype(arg.type))
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

    # --- what rows call ---

    def use(self, value: SSAValue) -> Expr:
        """The expression of a value; one that was waiting for its single use is printed here."""
        if value in self._pending:
            return self._pending.pop(value)
        if value not in self._values:
            owner = value.owner
            kind = op_name(owner) if isinstance(owner, Operation) else "a block argument"
            raise PipelineError(f"a value of {kind} cannot be printed here", self.op)
        return self._values[value]

    def converted(self, value: SSAValue) -> Expr:
        """The expression of a value for a variable or an element of the value's C type."""
        a = self.use(value)
        if isinstance(a.const, int) and isinstance(value.type, IntegerType) and a.ctype != "bool":
            return unsigned(a, width_of(value.type, self.op))
        return a

    def ctype(self, type_: Attribute) -> str:
        """The C type of a value in a register."""
        if isinstance(type_, VectorType):
            return self.vector(type_, self.op).ctype
        return register_type(type_, self.op)

    def storage(self, type_: Attribute) -> str:
        """The C type of an element in memory."""
        return self.ctype(type_) if isinstance(type_, VectorType) else storage_type(type_, self.op)

    def vector(self, type_: Attribute, op: Operation) -> Vector:
        """How a vector type is written; its definition will be printed."""
        found = self.language.vector(as_type(VectorType[Any], type_), op)
        found.declare(self)
        return found

    def library(self, name: str) -> str:
        """Have a helper function printed; its name, or what the language has in its place."""
        helper = self.language.library[name]
        if helper.alias:
            return helper.alias
        self.module.require(name, helper)
        return name

    def math(self, function: str) -> str:
        """The name of a function of the C library."""
        self.module.includes.add("math.h")
        return self.language.math(function)

    def line(self, text: str) -> None:
        """Print one line."""
        self._lines.append("  " * self._indent + text)

    def bind(self, a: Expr, value: SSAValue) -> Expr:
        """Give `a` a variable, named after `value`."""
        name = self.names.fresh(value.name_hint or _plain_name(value.type))
        if not isinstance(value.type, IntegerType):
            ctype = "idx" if isinstance(value.type, IndexType) else a.ctype
            self.line(f"const {ctype} {name} = {a.text};")
            return expr.name(name, ctype)
        ctype = _variable_type(a, width_of(value.type, self.op))
        self.line(f"const {ctype} {name} = {a.text};")
        low, high = type_range(ctype)
        interval = a.interval()
        return expr.name(name, ctype, interval=interval if expr.within(interval, (low, high)) else None)

    def atom(self, a: Expr, value: SSAValue) -> Expr:
        """`a` as something that may be printed twice."""
        return a if a.is_atom else self.bind(a, value)

    def flush_reads(self) -> None:
        """Print the loads that still wait: the next line may change what they read."""
        for value in [v for v, a in self._pending.items() if a.reads]:
            self._values[value] = self.bind(self._pending.pop(value), value)

    # --- values ---

    def _count_uses(self) -> None:
        """Uses by operations that are printed. Backwards, so that dead ones do not count."""
        for op in reversed(list(self.function.walk())):
            if op_name(op) in EXPRESSIONS and not any(self.uses.get(r) for r in op.results):
                continue
            for i, operand in enumerate(op.operands):
                if self._is_dead_yield(op, i) or (i < 3 and self._hardware_index(op)):
                    continue
                self.uses[operand] = self.uses.get(operand, 0) + 1
                self._user[operand] = op

    def _is_dead_yield(self, op: Operation, i: int) -> bool:
        parent = op.parent_op()
        return isinstance(op, scf.YieldOp) and isinstance(parent, scf.IfOp) and not self.uses.get(parent.results[i])

    def _hardware_index(self, op: Operation) -> str | None:
        """What replaces a block or thread loop; then its bounds are not printed."""
        level = op.attributes.get("kernel.level")
        if isinstance(op, scf.ForOp) and isinstance(level, StringAttr):
            return self.language.hardware_index(level.data)
        return None

    def _define(self, op: Operation, a: Expr) -> None:
        result = op.results[0]
        if "kernel.comment" in op.attributes:
            for text in self._comment_lines(op, ""):
                self.line(text)
            self._values[result] = self.bind(a, result)
        elif (a.is_atom or a.is_negated_name) and not a.mutable:
            self._values[result] = a
        elif self.uses[result] == 1 and self._may_wait(op, a):
            self._pending[result] = a
        elif a.is_atom:
            self._values[result] = a
        else:
            self._values[result] = self.bind(a, result)

    def _may_wait(self, op: Operation, a: Expr) -> bool:
        user = self._user[op.results[0]]
        if _width(a.text) > (_LONGEST_STORED if op_name(user) == "memref.store" else _LONGEST_INLINE):
            return False
        if user.parent is not op.parent:
            # In a loop it would be computed again and again.
            return a.cheap and not a.reads
        return not (isinstance(user, scf.ForOp) and a.reads)

    # --- blocks ---

    def _print_block(self, block: Block) -> None:
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
        """Insertions into a vector that is then inserted into are printed with the last of them."""
        user = self._user[op.results[0]]
        return (
            op_name(op) in ("vector.insert", "ub.poison")
            and self.uses[op.results[0]] == 1
            and op_name(user) == "vector.insert"
        )

    def _comment_lines(self, op: Operation, prefix: str) -> list[str]:
        comment = op.attributes.get("kernel.comment")
        return [prefix + line for line in comment_lines(comment.data)] if isinstance(comment, StringAttr) else []

    def scope(self, block: Block, before: Callable[[], None] | None = None) -> None:
        """Print a block one level deeper."""
        self.names.push()
        self._indent += 1
        if before:
            before()
        self._print_block(block)
        self._indent -= 1
        self.names.pop()

    def variable(self, value: SSAValue, hint: str | None) -> Expr:
        """A new variable that is assigned to."""
        ctype = self.ctype(value.type)
        return expr.name(self.names.fresh(value.name_hint or hint or "v"), ctype, mutable=True)

    def set_value(self, value: SSAValue, a: Expr) -> None:
        """Say how a value is written."""
        self._values[value] = a

    def assign(self, targets: Sequence[Expr], values: Sequence[SSAValue]) -> None:
        """Assign all at once: no target changes before the values are computed."""
        sources = [self.converted(value) for value in values]
        self.flush_reads()
        for i, source in enumerate(sources):
            if source.mutable & {t.text for t in targets[:i]} or (source.reads and i):
                sources[i] = self.bind(source, values[i])
        for target, source in zip(targets, sources, strict=True):
            if target.text != source.text:
                self.line(f"{target.text} = {source.text};")


def _width(text: str) -> int:
    """Characters of `text` without the marks of variables: how code is split up depends on what names say alone."""
    return len(text) - len(_MARKS.findall(text))


def _plain_name(type_: Attribute) -> str:
    """For a value without a name hint."""
    if isinstance(type_, IntegerType) and type_.width.data == 1:
        return "test"
    return "i" if isinstance(type_, IndexType) else "v"


def _variable_type(a: Expr, width: int) -> str:
    """The C type of a variable for an integer of `width` bits: the type of `a` if that holds its meaning."""
    interval = a.interval()
    if width == 1:
        return "bool"
    if a.reads and a.ctype == UNSIGNED[32]:
        return a.ctype  # of registers: it may wrap later
    if width == 32 and promotes_to_int(a.ctype):
        return "int"
    if width == 64 and a.ctype in ("long long", "int") and interval[0] < 0:
        return SIGNED[64]
    if expr.within(interval, unsigned_range(width)):
        return UNSIGNED[width]
    return SIGNED[width] if expr.within(interval, signed_range(width)) else UNSIGNED[width]


def _poison(p: FunctionPrinter, op: Operation) -> Expr:
    raise PipelineError("ub.poison is only printed as the start of a chain of vector.insert", op)


EXPRESSIONS: dict[str, Row] = {
    **INTEGER_ROWS,
    **FLOAT_ROWS,
    **VECTOR_ROWS,
    **ROW_ROWS,
    **MEMORY_ROWS,
    "ub.poison": _poison,
}

STATEMENTS: dict[str, Callable[[FunctionPrinter, Operation], None]] = {
    "memref.store": print_store,
    "memref.prefetch": print_prefetch,
    "memref.alloca": print_alloca,
    "memref.view": print_view,
    "vector.store": print_vector_store,
    "vector.maskedstore": print_masked_store,
    "scf.for": print_for,
    "scf.if": print_if,
    "scf.yield": print_yield,
    "func.call": print_call,
    "func.return": print_return,
    "gpu.barrier": print_barrier,
    "gpu.shuffle": print_shuffle,
    "memref.extract_strided_metadata": print_metadata,
    "arith.mului_extended": print_extended_product,
    "nvvm.griddepcontrol": print_griddepcontrol,
    "nvgpu.device_async_copy": print_async_copy,
    "nvgpu.device_async_create_group": print_async_group,
    "nvgpu.device_async_wait": print_async_wait,
}
