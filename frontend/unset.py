"""Use of a Func before its definition: the initial value of `f[x] += e`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from tilefuse.frontend.errors import KindError, fail, in_halide
from tilefuse.frontend.expr import as_expr, constant, same, type_name
from tilefuse.frontend.implicit import expanded, implicit_count
from tilefuse.frontend.sources import as_key, values_of
from tilefuse.frontend.var import Var


class Definable(Protocol):
    """A Func's interface for definitions."""

    order: int

    def name(self) -> str: ...

    def defined(self) -> bool: ...

    def __getitem__(self, key: Any) -> Any: ...

    def __setitem__(self, key: Any, value: Any) -> None: ...


class Unset:
    """`f[args]` of an undefined Func: `f[args] = f[args] + e` defines it as 0 (with `*` as 1), then updates it."""

    def __init__(self, func: Definable, key: Any):
        self._func, self._key = func, key

    def __add__(self, value: Any) -> Unevaluated:
        return Unevaluated(self._func, self._key, 0, value, lambda old: old + value)

    def __sub__(self, value: Any) -> Unevaluated:
        return Unevaluated(self._func, self._key, 0, value, lambda old: old - value)

    def __mul__(self, value: Any) -> Unevaluated:
        return Unevaluated(self._func, self._key, 1, value, lambda old: old * value)

    def __truediv__(self, value: Any) -> Unevaluated:
        return Unevaluated(self._func, self._key, 1, value, lambda old: old / value)

    def as_expr(self) -> NoReturn:
        """Raise PipelineError: there is no value."""
        name = self._func.name()
        fail(
            f"Func '{name}' is read before it is defined; write {name}[x, y] = ... first. Only an update reads the "
            "Func itself" + in_halide(f'Can\'t call Func "{name}" because it has not yet been defined.')
        )

    def _fails(self, *_: Any) -> Any:
        self.as_expr()

    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = _fails
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __and__ = __rand__ = _fails
    __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _fails
    __neg__ = __pos__ = __invert__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __iter__ = _fails
    __getitem__ = __len__ = __float__ = __int__ = __index__ = _fails
    __array_ufunc__ = None

    def __repr__(self) -> str:
        return f"<{type_name(self)} value of Func '{self._func.name()}'>"


class Unevaluated:
    """`f[args] + e` of an undefined Func, which may only be assigned to `f[args]`."""

    def __init__(self, func: Definable, key: Any, start: int, value: Any, updated: Callable[[Any], Any]):
        self._func, self._key, self._start, self._value, self._updated = func, key, start, value, updated

    def define(self, func: Definable, key: Any) -> None:
        """Define `func` by the initial value, and update it at `key`."""
        what = "Cannot use an unevaluated reference to '{}' to define an update "
        if func is not self._func:
            name, read = func.name(), self._func.name()
            if name == read:  # tell them apart, as Halide does
                name = f"{name}${func.order}"
            fail(
                f"Func '{read}' is read before it is defined; write {read}[x, y] = ... first"
                + in_halide(what.format(name) + "at a different location.")
            )
        if func.defined():
            fail(what.format(func.name()) + "when a pure definition already exists.")
        here, there = as_key(key), as_key(self._key)
        if len(here) != len(there) or not all(same(as_expr(a), as_expr(b)) for a, b in zip(here, there, strict=True)):
            fail(what.format(func.name()) + "at a different location. Only an update reads the Func itself")
        self._define_start()
        self._func[key] = self._updated(self._func[key])

    def _define_start(self) -> None:
        """Define the Func as a constant of the value's type."""
        exprs = tuple(as_expr(v) for v in values_of(self._value))
        keys = expanded(as_key(self._key), implicit_count(exprs), f"Func '{self._func.name()}'")
        taken = {k.name() for k in keys if isinstance(k, Var)}
        args = tuple(k if isinstance(k, Var) else _fresh(i, taken) for i, k in enumerate(keys))
        starts = tuple(constant(e.type(), self._start) for e in exprs)
        self._func[args] = starts[0] if len(starts) == 1 else starts

    def as_expr(self) -> NoReturn:
        """Raise PipelineError: there is no value."""
        fail(f"what Func '{self._func.name()}' begins with has no value; assign it to where it was read")

    def _fails(sign: str) -> Callable[..., Any]:  # type: ignore[misc]
        def operate(self: Unevaluated, other: Any = None) -> Any:
            fail(
                f"what Func '{self._func.name()}' begins with can only be assigned to where it was read (in Halide: "
                f"unsupported operand type(s) for {sign}: 'halide.halide_._UnevaluatedFuncRefExpr' and "
                f"'{type_name(other)}')",
                kind=KindError,
            )

        return operate

    __add__, __sub__, __mul__, __truediv__ = _fails("+"), _fails("-"), _fails("*"), _fails("/")
    __radd__, __rsub__, __rmul__, __rtruediv__ = _fails("+"), _fails("-"), _fails("*"), _fails("/")
    __iadd__, __isub__, __imul__, __itruediv__ = _fails("+="), _fails("-="), _fails("*="), _fails("/=")
    __array_ufunc__ = None


def _fresh(number: int, taken: set[str]) -> Var:
    name = "xyzw"[number] if number < 4 else f"v{number}"
    while name in taken:
        name += "_"
    taken.add(name)
    return Var(name)
