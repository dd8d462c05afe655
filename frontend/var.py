"""Vars: the coordinates of a Func."""

from __future__ import annotations

from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import I32, Expr


class Var(Expr):
    """A coordinate of a Func, identified by its name: two Vars called "x" are one."""

    __slots__ = ()
    _count = 0

    def __init__(self, name: str | None = None):
        if name is None:
            name, Var._count = f"v{Var._count}", Var._count + 1
        elif not isinstance(name, str) or not name:
            fail(f"the name of a Var is a text, not {name!r}")
        self._type, self.op, self.args, self.data = I32, "var", (), name

    def __str__(self) -> str:
        return self.name()

    def __repr__(self) -> str:
        return f"<halide.Var '{self.name()}'>"

    def name(self) -> str:
        """Return the name of the coordinate."""
        return str(self.data)

    def same_as(self, other: Var) -> bool:
        """Whether both have one name, and so are one Var."""
        return isinstance(other, Var) and self.name() == other.name()

    @staticmethod
    def implicit(index: int) -> Var:
        """Return the Var `_<index>`, one of the Vars that the placeholder `_` stands for."""
        return Var(f"_{index}")

    @staticmethod
    def outermost() -> Var:
        """Return the Var of Halide's outermost loop, for scheduling calls."""
        return Var("__outermost")

    def is_implicit(self) -> bool:
        """Whether the Var is `_0`, `_1`, ..."""
        return self.implicit_index() >= 0

    def implicit_index(self) -> int:
        """Return the number in the name of an implicit Var; -1 for others."""
        digits = self.name()[1:]
        return int(digits) if self.name()[0] == "_" and digits.isdecimal() and digits.isascii() else -1

    def is_placeholder(self) -> bool:
        """Whether the Var is `_`, which stands for all remaining coordinates."""
        return bool(self.data == "_")
