"""Sources, which can be called at a point: base of Funcs, ImageParams and Buffers; and Tuples of values."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from tilefuse.dialects.diagnostics import SourcePosition, user_position
from tilefuse.frontend.errors import KindError, fail, in_halide
from tilefuse.frontend.expr import Expr, as_expr, integer_index, node, type_name
from tilefuse.frontend.implicit import expanded
from tilefuse.frontend.types import Type
from tilefuse.frontend.walk import expr_text

_counter = itertools.count()


class Tuple(Sequence[Expr]):
    """Several values at one point: the value, or the definition, of a tuple-valued Func."""

    def __init__(self, *values: Any):
        if len(values) == 1 and isinstance(values[0], tuple | list | Tuple):
            values = tuple(values[0])
        self._values = tuple(as_expr(v) for v in values)
        if not self._values:
            fail("a Tuple has at least one value")

    def __getitem__(self, index: Any) -> Any:
        try:
            return self._values[index]
        except (IndexError, TypeError):
            fail(f"a Tuple of {len(self)} values has no [{index!r}]; they are [0] to [{len(self) - 1}]")

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Expr]:
        return iter(self._values)

    def __add__(self, other: Any) -> Tuple:
        return self._with("+", other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Tuple:
        return self._with("-", other, lambda a, b: a - b)

    def __mul__(self, other: Any) -> Tuple:
        return self._with("*", other, lambda a, b: a * b)

    def __truediv__(self, other: Any) -> Tuple:
        return self._with("/", other, lambda a, b: a / b)

    def _with(self, sign: str, other: Any, of: Callable[[Expr, Any], Expr]) -> Tuple:
        if not isinstance(other, tuple | list | Tuple) or len(other) != len(self):
            fail(f"a Tuple of {len(self)} values {sign} another takes one of as many values, not {other!r}")
        return Tuple(*(of(a, b) for a, b in zip(self, other, strict=True)))

    def __setitem__(self, index: Any, value: Any) -> None:
        fail("a Tuple is not written to; an update writes all of its values: f[x] = Tuple(...)", kind=KindError)

    def _compare(self, other: Any) -> NoReturn:
        self.as_expr()

    __lt__ = __le__ = __gt__ = __ge__ = _compare

    def size(self) -> int:
        """Return the number of values."""
        return len(self._values)

    def __repr__(self) -> str:
        return f"<halide.Tuple of size {len(self)}>"

    def as_expr(self) -> NoReturn:
        """Raise PipelineError: a Tuple is no single value."""
        fail(f"a Tuple of {len(self)} values stands where one value is needed; take one of them: t[0]")


def values_of(value: Any) -> tuple[Any, ...]:
    """Return the values at one point: the items of a tuple, or of any object with a length and items."""
    if isinstance(value, tuple | list | Tuple):
        return tuple(value)
    cls = type(value)
    is_tuple = hasattr(cls, "__len__") and hasattr(cls, "__getitem__") and not hasattr(cls, "as_expr")
    if is_tuple and not isinstance(value, Expr | str | np.ndarray):
        return tuple(value[i] for i in range(len(value)))
    return (value,)


class FuncTupleElementRef(Expr):
    """One value of a tuple-valued function at a point."""

    __slots__ = ()

    def __init__(self, source: Source, index: int, at: tuple[Expr, ...]):
        self._type, self.op, self.args, self.data = source.value_types()[index], "call", at, (source, index)

    def index(self) -> int:
        """Return the number of the value."""
        return int(self.data[1])


class Named:
    """An object of the user's with a name and a place: a source, or a Param."""

    def __init__(self, kind: str, name: str | None, prefix: str):
        if name is not None and (not isinstance(name, str) or not name):
            fail(f"the name of {kind} is a text, not {name!r}")
        self.order = next(_counter)
        """When it was made, against the others."""
        self.named = name is not None
        self._kind = kind
        self._name = name if name is not None else f"{prefix}{self.order}"
        self.position: SourcePosition = user_position()
        """The user's line that defines it."""

    def name(self) -> str:
        """Return the name."""
        return self._name


class Source(Named, ABC):
    """A named function over the integer grid that can be called: `f[x - 1, y]`."""

    def __init__(self, kind: str, name: str | None, prefix: str):
        super().__init__(kind, name, prefix)
        self.read_by: str | None = None
        """The first reader, for messages."""

    @abstractmethod
    def value_types(self) -> tuple[Type, ...]:
        """Return the types of its values."""

    @abstractmethod
    def rank(self) -> int:
        """Return the number of dimensions."""

    def check_readable(self) -> None:
        """Raise PipelineError if it has no value yet."""

    def __getitem__(self, key: Any) -> Any:
        self.check_readable()
        given = as_key(key)
        keys = expanded(given, self.rank() - len(given) + 1, f"{self._kind} '{self._name}'")
        indices = tuple(self.index_of(k) for k in keys)
        if len(indices) != self.rank():
            fail(
                f"{self._kind} '{self._name}' has {self.rank()} dimensions, but is called with "
                f"{len(indices)} indices: {', '.join(expr_text(i) for i in indices) or 'none'}"
            )
        types = self.value_types()
        if len(types) == 1:
            return node("call", types[0], indices, (self, 0))
        return Tuple(*(FuncTupleElementRef(self, i, indices) for i in range(len(types))))

    def index_of(self, index: Any) -> Expr:
        """Convert one index in the brackets to an integer Expr."""
        if isinstance(index, slice):
            fail(f"{self._kind} '{self._name}' is called at a point; slices are not there")
        expr = as_expr(index)
        if expr.type().is_float():
            words = in_halide(f"Implicit cast from {expr.type()} to int in argument")
            fail(
                f"{self._kind} '{self._name}': the index {expr_text(expr)} is of type {expr.type()}; an index "
                f"is an integer, so cast it: i32(...){words}"
            )
        return integer_index(expr, f"{self._kind} '{self._name}': the index")

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        fail(f"{self._kind} '{self._name}' is called with square brackets, as in {self._name}[x, y]")

    def __iter__(self) -> Iterator[Any]:
        # Without this Python would iterate by calling at 0, 1, 2, ... without end.
        raise TypeError(f"{self._kind} '{self._name}' is a function over the grid; it has no iterator")

    def _operand(self, *_: Any) -> NoReturn:
        self.as_expr()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _operand
    __mod__ = __rmod__ = __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = _operand
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __invert__ = _operand

    def as_expr(self) -> NoReturn:
        """Raise PipelineError: a function is no value."""
        fail(f"{self._kind} '{self._name}' is no value; call it at a point, as in {self._name}[x, y]")

    def __repr__(self) -> str:
        return f"<halide.{type_name(self)} '{self._name}'>"


def as_key(key: Any) -> tuple[Any, ...]:
    """Return the key between the brackets as a tuple."""
    return tuple(key) if isinstance(key, tuple | list) else (key,)
