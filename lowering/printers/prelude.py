"""Prelude of a source file: includes, vector types, and the called helpers."""

from __future__ import annotations

from tilefuse.lowering.printers.helper import Helper


class Prelude:
    """Collect the types and helpers that printed functions need, each once, in order of first use.

    `library`: the helpers of a language by name; the qualifiers stand in front of helpers, and of rare ones.
    """

    def __init__(self, library: dict[str, Helper], qualifier: str, rare_qualifier: str, index_bits: int) -> None:
        self.index_bits = index_bits
        self.includes: set[str] = set()
        self._library = library
        self._qualifiers = (qualifier, rare_qualifier)
        self._types: dict[str, str] = {}
        self._helpers: dict[str, str] = {}

    def library(self, name: str) -> str:
        """Require a helper of the language; return its name, or the name of the built-in function that replaces it."""
        helper = self._library[name]
        if helper.alias:
            return helper.alias
        self.require(name, helper)
        return name

    def require(self, name: str, helper: Helper) -> None:
        """Require a helper, after the helpers that it calls."""
        if name not in self._helpers:
            for other in helper.needs:
                if not (needed := self._library[other]).alias:
                    self.require(other, needed)
            self._helpers[name] = f"{self._qualifiers[helper.rare]} {helper.text}"

    def require_type(self, name: str, text: str) -> None:
        """Require a type definition."""
        self._types[name] = text

    def parts(self) -> list[str]:
        """Return the prelude's paragraphs: the types, then the helpers."""
        return [*self._types.values(), *(["\n".join(self._helpers.values())] if self._helpers else [])]
