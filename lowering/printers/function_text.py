"""Text of one function during printing: the parameter `p` of the table rows.

It knows how values are written, which variables there are, and what waits for its single use; it knows no operation.
`c_family.py` adds the tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from typing import cast as as_type

from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType, IntegerType, UnregisteredOp, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

import tilefuse.lowering.printers.expr as expr
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.lowering.printers.c_types import (
    SIGNED,
    UNSIGNED,
    c_storage_type,
    is_narrow_float,
    promotes_to_int,
    register_type,
    signed_range,
    type_range,
    unsigned_range,
    width_of,
)
from tilefuse.lowering.printers.expr import CExpr
from tilefuse.lowering.printers.language import Language
from tilefuse.lowering.printers.memrefs import PrintedMemRef
from tilefuse.lowering.printers.names import ScopedNames
from tilefuse.lowering.printers.prelude import Prelude
from tilefuse.lowering.printers.readings import read_unsigned
from tilefuse.lowering.printers.vector_types import Vector


def op_name(op: Operation) -> str:
    """Return the name of an operation, even of one that xDSL does not know."""
    return op.name if op.name != UnregisteredOp.name else op.op_name.data  # type: ignore[attr-defined]


class FunctionText(ABC):
    """Lines of one function, and the expressions of its values. Table rows call these methods."""

    def __init__(
        self, language: Language, prelude: Prelude, functions: Mapping[str, func.FuncOp], function: func.FuncOp
    ) -> None:
        self.language = language
        self.prelude = prelude
        self.functions = functions
        """All of the module, by name."""
        self.function = function
        self.op: Operation = function
        """The operation that is printed."""
        self.names = ScopedNames()
        self.memories: dict[SSAValue, PrintedMemRef] = {}
        self.uses: dict[SSAValue, int] = {}
        """Uses of a value by operations that are printed."""
        self.versions = 0
        """Calls so far that share no code with others."""
        self._values: dict[SSAValue, CExpr] = {}
        self._pending: dict[SSAValue, CExpr] = {}
        self._vectors: dict[Attribute, Vector] = {}
        self._lines: list[str] = []
        self._indent = 1

    @property
    def index_bits(self) -> int:
        """Width of an index: 32 or 64."""
        return self.prelude.index_bits

    @abstractmethod
    def print_block(self, block: Block) -> None:
        """Print the operations of a block."""

    def use(self, value: SSAValue) -> CExpr:
        """Return the expression of a value; a deferred expression is printed here, at its single use."""
        if value in self._pending:
            return self._pending.pop(value)
        if value not in self._values:
            owner = value.owner
            kind = op_name(owner) if isinstance(owner, Operation) else "a block argument"
            raise PipelineError(f"a value of {kind} cannot be printed here", self.op)
        return self._values[value]

    def converted(self, value: SSAValue) -> CExpr:
        """Return the expression of a value, cast for a variable or an element of the value's C type."""
        a = self.use(value)
        if isinstance(a.const, int) and isinstance(value.type, IntegerType) and a.ctype != "bool":
            return read_unsigned(a, width_of(value.type, self.op))
        return a

    def ctype(self, type_: Attribute) -> str:
        """Return the C type of a value in a register."""
        if isinstance(type_, VectorType):
            return self.vector(type_, self.op).ctype
        return register_type(type_, self.op)

    def storage(self, type_: Attribute) -> str:
        """Return the C type of an element in memory."""
        return self.ctype(type_) if isinstance(type_, VectorType) else c_storage_type(type_, self.op)

    def vector(self, type_: Attribute, op: Operation) -> Vector:
        """Return the spelling of a vector type and mark its definition for printing."""
        found = self._vectors.get(type_)
        if found is None:
            found = self._vectors[type_] = self.language.vector(as_type(VectorType[Any], type_), op)
        found.declare(self.prelude)
        return found

    def lanes_of(self, op: Operation) -> Vector | None:
        """Return the vector type in which an op is computed lane by lane, if the language has vector arithmetic."""
        type_ = op.results[0].type
        if isinstance(type_, VectorType) and self.language.computes_vectors and not is_narrow_float(type_.element_type):
            return self.vector(type_, op)
        return None

    def library(self, name: str) -> str:
        """Require a helper function; return its name, or the name of the built-in function that replaces it."""
        return self.prelude.library(name)

    def math(self, function: str) -> str:
        """Return the name of a function of the C library."""
        self.prelude.includes.add("math.h")
        return self.language.math(function)

    def line(self, text: str) -> None:
        """Print one line."""
        self._lines.append("  " * self._indent + text)

    def bind(self, a: CExpr, value: SSAValue) -> CExpr:
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

    def atom(self, a: CExpr, value: SSAValue) -> CExpr:
        """Return `a` as an expression that may be printed twice."""
        return a if a.is_atom else self.bind(a, value)

    def flush_reads(self) -> None:
        """Print the deferred loads: the next line may change the memory that they read."""
        for value in [v for v, a in self._pending.items() if a.reads]:
            self._values[value] = self.bind(self._pending.pop(value), value)

    def scope(self, block: Block, before: Callable[[], None] | None = None) -> None:
        """Print a block one level deeper."""
        self.names.push()
        self._indent += 1
        if before:
            before()
        self.print_block(block)
        self._indent -= 1
        self.names.pop()

    def variable(self, value: SSAValue, hint: str | None) -> CExpr:
        """Declare a new variable without a value."""
        ctype = self.ctype(value.type)
        return expr.name(self.names.fresh(value.name_hint or hint or "v"), ctype, mutable=True)

    def set_value(self, value: SSAValue, a: CExpr) -> None:
        """Set the expression of a value."""
        self._values[value] = a

    def assign(self, targets: Sequence[CExpr], values: Sequence[SSAValue]) -> None:
        """Assign in parallel: every value is computed before any target changes."""
        sources = [self.converted(value) for value in values]
        self.flush_reads()
        for i, source in enumerate(sources):
            if source.mutable & {t.text for t in targets[:i]} or (source.reads and i):
                sources[i] = self.bind(source, values[i])
        for target, source in zip(targets, sources, strict=True):
            if target.text != source.text:
                self.line(f"{target.text} = {source.text};")


def _plain_name(type_: Attribute) -> str:
    """Return the name of a value without a name hint."""
    if isinstance(type_, IntegerType) and type_.width.data == 1:
        return "test"
    return "i" if isinstance(type_, IndexType) else "v"


def _variable_type(a: CExpr, width: int) -> str:
    """Return the C type of a variable for an integer of `width` bits: the type of `a` if it keeps the value."""
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


Row = Callable[[FunctionText, Operation], CExpr]
"""Printer of an operation with one result as an expression."""
