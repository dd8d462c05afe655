"""Vectors: moved with one load or store, and taken apart into scalars; there is no arithmetic on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import cast as as_type

from xdsl.dialects import vector
from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.lowering.printers import expr
from tilefuse.lowering.printers.c_types import is_half, register_type, short_name, unsigned_range
from tilefuse.lowering.printers.expr import Expr
from tilefuse.lowering.printers.integers import Row
from tilefuse.lowering.printers.library import Helper

if TYPE_CHECKING:
    from tilefuse.lowering.printers.c_family import FunctionPrinter


@dataclass(frozen=True)
class Vector:
    """How one vector type is written. The helpers load, store and make one; `lane_texts` select a lane of `{}`."""

    ctype: str
    element: Attribute
    lane_texts: tuple[str, ...]
    helpers: dict[str, Helper]
    """`type` (its definition, may be empty), `load`, `store`, `make`, `splat`; some have `join`, `store_if`, roots."""
    short: str
    word_texts: tuple[str, ...] = ()
    """Select the 32-bit words of `{}`, where a vector of integers is made of them."""

    def from_words(self, words: Sequence[str]) -> str:
        """The vector made of these words."""
        if len(words) > 1:
            return f"make_{self.ctype}({', '.join(words)})"
        return words[0] if self.ctype == "unsigned int" else f"({self.ctype}){words[0]}"

    def helper(self, p: FunctionPrinter, kind: str) -> str:
        """Have the helper printed, after those of this vector that it needs; its name."""
        self.declare(p)
        helper = self.helpers[kind]
        for other in helper.needs:
            self.helper(p, other)
        p.module.require(name := f"{kind}_{self.short}", helper._replace(needs=()))
        return name

    def declare(self, p: FunctionPrinter) -> None:
        """Have the type defined."""
        if self.helpers["type"].text:
            p.module.require_type(self.ctype, self.helpers["type"].text)

    def splat(self, p: FunctionPrinter, element: Expr) -> Expr:
        """A vector of one value."""
        return expr.call(self.helper(p, "splat"), (element,), self.ctype)

    def make(self, p: FunctionPrinter, elements: Sequence[Expr]) -> Expr:
        """A vector of these values."""
        if self.word_texts and len(elements) == 1:
            return elements[0]
        return expr.call(self.helper(p, "join" if self._any_wrapped(elements) else "make"), elements, self.ctype)

    @property
    def joins(self) -> bool:
        """Whether elements may have something above them in their registers, which `join` leaves behind."""
        return "join" in self.helpers

    def _any_wrapped(self, elements: Sequence[Expr]) -> bool:
        if not self.joins:
            return False
        values = unsigned_range(as_type(IntegerType, self.element).width.data)
        return not all(expr.within(a.interval(), values) for a in elements)

    def into(self, p: FunctionPrinter, element: Expr, op: Operation) -> Expr:
        """A scalar as it is kept in a vector (halves as 16 bits)."""
        if is_half(self.element):
            return expr.call(p.library(f"f32_to_{short_name(self.element, op)}"), (element,), "unsigned short")
        return element

    def lane(self, p: FunctionPrinter, a: Expr, index: int, op: Operation) -> Expr:
        """Element `index` as a scalar."""
        ctype, template = register_type(self.element, op), self.lane_texts[index]
        if self.joins and template in self.word_texts:
            ctype = "unsigned int"  # the word's other elements stand above it
        text = template.format(a.wrapped(expr.POSTFIX))
        prec = expr.UNARY if text.startswith("(") else expr.POSTFIX
        if is_half(self.element):
            bits = expr.derived(text, prec, "unsigned short", (a,), cheap=False)
            return expr.call(p.library(f"{short_name(self.element, op)}_to_f32"), (bits,), ctype)
        return expr.derived(text, prec, ctype, (a,), cheap=True)


def wrapped(head: str, items: Sequence[str], tail: str, indent: str = "    ") -> str:
    """`head` + the items with commas + `tail`, broken into lines where it would be too wide."""
    if len(line := head + ", ".join(items) + tail) <= 60:
        return line
    lines = [head]
    for start in range(0, len(items), 4):
        lines.append(indent + ", ".join(items[start : start + 4]) + ("," if start + 4 < len(items) else tail))
    return "\n".join(lines)


def _lane_index(op: vector.ExtractOp | vector.InsertOp) -> int:
    position = op.get_mixed_position()
    if len(position) != 1 or not isinstance(position[0], int):
        raise PipelineError(f"{op.name}: only one constant position is printed", op)
    return position[0]


def _extract(p: FunctionPrinter, op: Operation) -> Expr:
    op = as_type(vector.ExtractOp, op)
    if isinstance(op.result.type, VectorType):
        raise PipelineError("vector.extract: only scalars are taken out of a vector", op)
    index = _lane_index(op)
    a = p.atom(p.use(op.vector), op.vector)
    return p.vector(op.vector.type, op).lane(p, a, index, op)


def _insert(p: FunctionPrinter, op: Operation) -> Expr:
    """A chain of insertions that fills all lanes makes a vector."""
    op = as_type(vector.InsertOp, op)
    v = p.vector(op.result.type, op)
    lanes: dict[int, SSAValue] = {}
    base: SSAValue = op.result
    while isinstance(insert := base.owner, vector.InsertOp) and (insert is op or p.uses[insert.result] == 1):
        lanes.setdefault(_lane_index(insert), insert.source)
        base = insert.dest
    if len(lanes) == len(v.lane_texts):
        return v.make(p, [v.into(p, p.converted(lanes[i]), op) for i in range(len(lanes))])
    raise PipelineError("vector.insert: is printed as the last of a chain that fills all lanes", op)


def is_mask(value: SSAValue) -> bool:
    """Whether a vector of bools is one condition for all lanes, and only said of stores."""
    stores = (use.operation for use in value.uses)
    return isinstance(value.owner, vector.BroadcastOp) and all(
        isinstance(s, vector.MaskedStoreOp) and s.value_to_store is not value for s in stores
    )


def _broadcast(p: FunctionPrinter, op: Operation) -> Expr:
    op = as_type(vector.BroadcastOp, op)
    if isinstance(op.source.type, VectorType):
        raise PipelineError("vector.broadcast: only scalars are broadcast", op)
    if is_mask(op.vector):
        return p.use(op.source)  # masks are printed as the one condition of all lanes
    v = p.vector(op.vector.type, op)
    return v.splat(p, v.into(p, p.converted(op.source), op))


VECTOR_ROWS: dict[str, Row] = {
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.broadcast": _broadcast,
}
