"""A Func's value before it has a definition: what `f[x] += e` begins with."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import Var, as_expr, constant, type_name
from tilefuse.frontend.implicit import expanded, implicit_count
from tilefuse.frontend.sources import Tuple, as_key


class Definable(Protocol):
    """A Func, as far as its definition goes."""

    def name(self) -> str: ...

    def __getitem__(self, key: Any) -> Any: ...

    def __setitem__(self, key: Any, value: Any) -> None: ...


class Unset:
    """`f[args]` of a Func without definition: `f[args] += e` makes it 0, `*=` 1, and then updates it."""

    def __init__(self, func: Definable, key: Any):
        self._func, self._key = func, key

    def _start(self, start: int, value: Any) -> Any:
        """Define the Func as `start` of the type of `value`; its value at the point."""
        values = tuple(value) if isinstance(value, tuple | list | Tuple) else (value,)
        exprs = tuple(as_expr(v) for v in values)
        keys = expanded(as_key(self._key), implicit_count(exprs), f"Func '{self._func.name()}'")
        taken = {k.name() for k in keys if isinstance(k, Var)}
        args = tuple(k if isinstance(k, Var) else _fresh(i, taken) for i, k in enumerate(keys))
        starts = tuple(constant(e.type(), start) for e in exprs)
        self._func[args] = starts[0] if len(starts) == 1 else starts
        return self._func[self._key]

    def __iadd__(self, value: Any) -> Any:  # type: ignore[misc]
        return self._start(0, value) + value

    def __isub__(self, value: Any) -> Any:  # type: ignore[misc]
        return self._start(0, value) - value

    def __imul__(self, value: Any) -> Any:  # type: ignore[misc]
        return self._start(1, value) * value

    def __itruediv__(self, value: Any) -> Any:  # type: ignore[misc]
        return self._start(1, value) / value

    def as_expr(self) -> NoReturn:
        """PipelineError: it has no value."""
        name = self._func.name()
        fail(
            f"Func '{name}' is read before it is defined; write {name}[x, y] = ... first. Only an update reads the "
            "Func itself"
        )

    def _fails(self, *_: Any) -> Any:
        self.as_expr()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _fails
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __and__ = __rand__ = _fails
    __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _fails
    __neg__ = __pos__ = __invert__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __iter__ = _fails
    __getitem__ = __len__ = __float__ = __int__ = __index__ = _fails
    __array_ufunc__ = None

    def __repr__(self) -> str:
        return f"<{type_name(self)} value of Func '{self._func.name()}'>"


def _fresh(number: int, taken: set[str]) -> Var:
    name = "xyzw"[number] if number < 4 else f"v{number}"
    while name in taken:
        name += "_"
    taken.add(name)
    return Var(name)
