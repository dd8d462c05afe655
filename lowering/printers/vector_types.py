"""Spelling of vector types: load, store, construction and lane access as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast as as_type

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation

import tilefuse.lowering.printers.expr as expr
from tilefuse.lowering.printers.c_types import (
    c_storage_type,
    is_narrow_float,
    register_type,
    short_name,
    unsigned_range,
)
from tilefuse.lowering.printers.expr import CExpr
from tilefuse.lowering.printers.helper import Helper
from tilefuse.lowering.printers.prelude import Prelude


@dataclass(frozen=True)
class Vector:
    """Spelling of one vector type. The helpers load, store and make one; `lane_texts` select a lane of `{}`."""

    ctype: str
    element: Attribute
    lane_texts: tuple[str, ...]
    helpers: dict[str, Helper]
    """`type` (its definition, may be empty), `load`, `store`, `make`, `splat`; some have `join`, `store_if`, roots."""
    short: str
    word_texts: tuple[str, ...] = ()
    """Select the 32-bit words of `{}`, where a vector of integers is made of them."""

    def from_words(self, words: Sequence[str]) -> str:
        """Return the vector made of these words."""
        if len(words) > 1:
            return f"make_{self.ctype}({', '.join(words)})"
        return words[0] if self.ctype == "unsigned int" else f"({self.ctype}){words[0]}"

    def helper(self, prelude: Prelude, kind: str) -> str:
        """Require the helper, after the vector's helpers that it calls; return its name."""
        self.declare(prelude)
        helper = self.helpers[kind]
        for other in helper.needs:
            self.helper(prelude, other)
        prelude.require(name := f"{kind}_{self.short}", helper._replace(needs=()))
        return name

    def declare(self, prelude: Prelude) -> None:
        """Require the definition of the type."""
        if self.helpers["type"].text:
            prelude.require_type(self.ctype, self.helpers["type"].text)

    def splat(self, prelude: Prelude, element: CExpr) -> CExpr:
        """Return a vector with all elements equal."""
        return expr.call(self.helper(prelude, "splat"), (element,), self.ctype)

    def make(self, prelude: Prelude, elements: Sequence[CExpr]) -> CExpr:
        """Return a vector of these values."""
        if self.word_texts and len(elements) == 1:
            return elements[0]
        return expr.call(self.helper(prelude, "join" if self._any_wrapped(elements) else "make"), elements, self.ctype)

    @property
    def joins(self) -> bool:
        """Whether `join` discards the bits above an element, so that registers may have any bits there."""
        return "join" in self.helpers

    def _any_wrapped(self, elements: Sequence[CExpr]) -> bool:
        if not self.joins:
            return False
        values = unsigned_range(as_type(IntegerType, self.element).width.data)
        return not all(expr.within(a.interval(), values) for a in elements)

    def into(self, prelude: Prelude, element: CExpr, op: Operation) -> CExpr:
        """Convert a scalar to its form in a vector (narrow floats to their bits)."""
        if is_narrow_float(self.element):
            bits = c_storage_type(self.element, op)
            return expr.call(prelude.library(f"f32_to_{short_name(self.element, op)}"), (element,), bits)
        return element

    def lane(self, prelude: Prelude, a: CExpr, index: int, op: Operation) -> CExpr:
        """Return element `index` as a scalar."""
        ctype, template = register_type(self.element, op), self.lane_texts[index]
        if template == "{}" and not self.word_texts:
            return a
        if self.joins and template in self.word_texts:
            ctype = "unsigned int"  # the word's other elements stand above it
        text = template.format(a.wrapped(expr.POSTFIX))
        prec = expr.UNARY if text.startswith("(") else expr.POSTFIX
        if is_narrow_float(self.element):
            loaded = expr.derived(text, prec, c_storage_type(self.element, op), (a,), cheap=False)
            return expr.call(prelude.library(f"{short_name(self.element, op)}_to_f32"), (loaded,), ctype)
        return expr.derived(text, prec, ctype, (a,), cheap=True)


def broken_lines(head: str, items: Sequence[str], tail: str, indent: str = "    ") -> str:
    """Join `head`, the items with commas, and `tail`; break lines that would be too wide."""
    if len(line := head + ", ".join(items) + tail) <= 60:
        return line
    lines = [head]
    for start in range(0, len(items), 4):
        lines.append(indent + ", ".join(items[start : start + 4]) + ("," if start + 4 < len(items) else tail))
    return "\n".join(lines)
