"""`require`, and other requirements on calls: of a Pipeline, and of Params' ranges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tilefuse.dialects.diagnostics import SourcePosition, user_position
from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import I32, Expr, arithmetic, as_expr, binary, cast_to, constant, node
from tilefuse.frontend.inputs import ImageParam, Param
from tilefuse.frontend.printing import line_of
from tilefuse.frontend.types import Bool
from tilefuse.frontend.walk import expr_text, postorder


class Requirement(NamedTuple):
    """A condition, and the message (a line with numbers) of its violation."""

    condition: Expr
    format: str
    numbers: tuple[Expr, ...]
    position: SourcePosition

    def exprs(self) -> tuple[Expr, ...]:
        """Return the condition and the numbers."""
        return self.condition, *self.numbers

    def is_of_call(self) -> bool:
        """Whether the condition depends only on a call's numbers, not on points."""
        return not any(e.op in ("var", "rvar", "call", "random") for e in postorder(self.exprs()))


def require(condition: Any, value: Any, *more: Any) -> Expr:
    """Return `value`; a call that computes it where `condition` fails is refused before anything is written.

    What follows (numbers, Exprs, texts) is the message. A condition on Params and sizes alone is one on all calls.
    """
    made = requirement(condition, more)
    first = as_expr(value)
    return node("require", first.type(), (first, *made.exprs()), (made.format, made.position))


def requirement(condition: Any, more: Sequence[Any]) -> Requirement:
    """Make a requirement from a condition and the parts of its message."""
    holds = as_expr(condition)
    if holds.op == "const":
        holds = cast_to(Bool(), holds)
    if not holds.type().is_bool():
        fail(f"a requirement is a bool, not {holds.type()}: {expr_text(holds)}")
    format, numbers = line_of(more)
    return Requirement(holds, format, tuple(numbers), user_position())


def requirements_in(values: Sequence[Expr]) -> Iterator[Requirement]:
    """Return the requirements of all `require` in expressions."""
    for e in postorder(values):
        if e.op == "require":
            format, position = e.data
            yield Requirement(e.args[1], format, e.args[2:], position)


def range_of(param: Param) -> Iterator[Requirement]:
    """Return the requirement that a Param lies in its promised range."""
    for op, bound, words in (("ge", param.min_value(), "at least"), ("le", param.max_value(), "at most")):
        if bound.defined():
            format, numbers = line_of((f"param '{param.name()}' is", param, "but must be", words, bound))
            yield Requirement(binary(op, param, bound), format, tuple(numbers), param.position)


def promises_of(image: ImageParam) -> Iterator[Requirement]:
    """Return the requirements that an image's box is as promised."""
    for what, dimension, value, position in image.promises:
        found = node(what, I32, (), (image, dimension))
        words = f"dim({dimension}).{what.removeprefix('image_')}() of '{image.name()}'"
        format, numbers = line_of((words, "is", found, "but must be", value))
        yield Requirement(arithmetic("eq", found, value), format, tuple(numbers), position)


def where(predicate: Expr | None, made: Requirement) -> Requirement:
    """Restrict a requirement to the points where `predicate` holds."""
    if predicate is None:
        return made
    elsewhere = binary("xor", predicate, constant(predicate.type(), 1))
    return made._replace(condition=binary("or", elsewhere, made.condition))


__all__ = ["require"]
