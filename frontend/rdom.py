"""RDom: a box of integer points to reduce over, or to write at in an update definition."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tilefuse.dialects.img.types import MAX_RANK
from tilefuse.frontend.errors import KindError, NoSuchError, fail
from tilefuse.frontend.expr import I32, Expr, as_expr, integer_index
from tilefuse.frontend.inputs import Image
from tilefuse.frontend.walk import expr_text, postorder

_count = itertools.count()


class Range(NamedTuple):
    """The points of one dimension: `RDom([Range(0, 3), Range(-1, 2)])`."""

    min: Any
    extent: Any


class RVar(Expr):
    """One dimension of an RDom. `RVar("name")` is a loop of scheduling calls, and of no RDom."""

    __slots__ = ()

    def __init__(self, name: str | None = None):
        self.data = (None, 0, name or f"r{next(_count)}")

    @classmethod
    def of(cls, rdom: RDom, index: int, name: str) -> RVar:
        """Return dimension `index` of an RDom."""
        made = cls.__new__(cls)
        made._type, made.op, made.args, made.data = I32, "rvar", (), (rdom, index, name)
        return made

    def name(self) -> str:
        """Return the name of the dimension."""
        return str(self.data[2])

    def min(self) -> Expr:
        """Return the first point."""
        return self._range()[0]

    def extent(self) -> Expr:
        """Return the number of points."""
        return self._range()[1]

    def __getattr__(self, name: str) -> Any:
        if name in Expr.__slots__ and self.data[0] is None:
            fail(f"RVar '{self.data[2]}' is of no RDom; take the dimension of one: r.x")
        return super().__getattr__(name)

    def _range(self) -> tuple[Expr, Expr]:
        rdom, index, name = self.data
        if rdom is None:
            fail(f"RVar '{name}' is of no RDom")
        found: tuple[Expr, Expr] = rdom.ranges[index]
        return found

    def __str__(self) -> str:
        return self.name()

    def __repr__(self) -> str:
        return f"<halide.RVar '{self.name()}'>"


class RDom:
    """A box of integer points: `RDom([(min, extent), ...])`, of numbers, Params and sizes, or an image's box.

    The first dimension is the innermost: at each point of the others all of its points come one after the other.
    """

    def __init__(self, ranges: Any = None, name: str | None = None):
        if name is not None and not isinstance(name, str):
            fail(f"RDom takes a list of (min, extent), and a name: RDom([({ranges!r}, {name!r})])")
        self._name = name or f"r{next(_count)}"
        self._is_numbered = not name
        self.predicates: tuple[Expr, ...] = ()
        """Conditions under which a point counts."""
        self.used_by: str | None = None
        """The first update over it, after which it takes no more predicates."""
        self.ranges: tuple[tuple[Expr, Expr], ...] = ()
        """(min, extent) per dimension, as integers that indices are computed from."""
        self._vars: tuple[RVar, ...] = ()
        if ranges is None:  # undefined
            return
        if isinstance(ranges, Image):
            ranges = [ranges.interval(d) for d in range(ranges.rank())]
        if isinstance(ranges, tuple) and len(ranges) == 2 and not isinstance(ranges[0], tuple | list):
            ranges = [ranges]
        if not isinstance(ranges, list | tuple):
            fail(f"RDom '{self._name}' takes a list of (min, extent), not {ranges!r}")
        self.ranges = tuple(self._range(r) for r in ranges)
        if not self.ranges:
            fail(f"RDom '{self._name}' has no dimensions")
        if len(self.ranges) > MAX_RANK:
            fail(f"RDom '{self._name}' has {len(self.ranges)} dimensions; at most {MAX_RANK} are possible")
        self._vars = tuple(RVar.of(self, i, name) for i, name in enumerate(self._names_under(self._name)))

    def _names_under(self, name: str) -> list[str]:
        rank = len(self.ranges)
        return [f"{name}.{'xyzw'[i]}" if rank <= 4 else f"{name}[{i}]" for i in range(rank)]

    def value_names(self) -> list[str]:
        """Return the dimension names in IR, without the numbers of generated names, which differ between processes."""
        return self._names_under("r" if self._is_numbered else self._name)

    def _range(self, pair: Any) -> tuple[Expr, Expr]:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            fail(f"RDom '{self._name}': {pair!r} is no (min, extent)")
        low, extent = (self._bound(v) for v in pair)
        if extent.op == "const" and extent.data < 0:
            fail(f"RDom '{self._name}': the extent {extent.data} must not be negative")
        return low, extent

    def _bound(self, value: Any) -> Expr:
        e = as_expr(value)
        type = e.type()
        if type.is_float() or type.is_bool():
            fail(f"RDom '{self._name}': the bound {expr_text(e)} is {type}; cast it to int32")
        for inner in postorder([e]):
            if inner.op in ("var", "rvar", "call", "random", "require"):
                fail(
                    f"RDom '{self._name}': the bound {expr_text(e)} depends on {expr_text(inner)}; the box is "
                    "known before any point, from numbers, Params and sizes of images"
                )
        return integer_index(e, f"RDom '{self._name}': the bound")

    def constant_ranges(self) -> list[tuple[int, int]] | None:
        """Return (min, extent) per dimension, if all are numbers."""
        if any(e.op != "const" for pair in self.ranges for e in pair):
            return None
        return [(low.data, extent.data) for low, extent in self.ranges]

    def name(self) -> str:
        """Return the name of the domain."""
        return self._name

    def dimensions(self) -> int:
        """Return the number of dimensions."""
        return len(self.ranges)

    def defined(self) -> bool:
        """Whether it has dimensions: `RDom()` has none."""
        return bool(self.ranges)

    def __repr__(self) -> str:
        ranges = ", ".join(f"({expr_text(low)}, {expr_text(extent)})" for low, extent in self.ranges)
        return f"<halide.RDom '{self._name}' [{ranges}]>" if ranges else "<halide.RDom RDom()>"

    def __len__(self) -> int:
        return len(self.ranges)

    def __getitem__(self, index: int) -> RVar:
        if not isinstance(index, int):
            fail(f"RDom '{self._name}': a dimension is a number, not {index!r}", kind=KindError)
        if not 0 <= index < len(self._vars):
            what = f"RDom '{self._name}' has {len(self._vars)} dimensions; there is no [{index}]"
            fail(what, kind=NoSuchError)
        return self._vars[index]

    def __iter__(self) -> Iterator[RVar]:
        return iter(self._vars)

    def _dimension(self, index: int) -> RVar:
        if index >= len(self._vars):
            fail(f"RDom '{self._name}' has {len(self._vars)} dimensions; there is no {'xyzw'[index]}")
        return self._vars[index]

    @property
    def x(self) -> RVar:
        """Return the first dimension."""
        return self._dimension(0)

    @property
    def y(self) -> RVar:
        """Return the second dimension."""
        return self._dimension(1)

    @property
    def z(self) -> RVar:
        """Return the third dimension."""
        return self._dimension(2)

    @property
    def w(self) -> RVar:
        """Return the fourth dimension."""
        return self._dimension(3)

    def where(self, predicate: Any) -> None:
        """Exclude the points where `predicate` does not hold. Their values are still read, but not used."""
        e = as_expr(predicate)
        if self.used_by is not None:
            fail(f"RDom '{self._name}': where(...) stands before what goes over it, and {self.used_by} does already")
        if any(inner.op == "undef" for inner in postorder([e])):
            fail(f"RDom '{self._name}': where(...) takes a condition that is defined, not {expr_text(e)}")
        if not e.type().is_bool():
            fail(f"RDom '{self._name}': where(...) takes a condition, not {expr_text(e)} of type {e.type()}")
        for inner in postorder([e]):
            if inner.op == "rvar" and inner.data[0] is not self:
                fail(f"RDom '{self._name}': where(...) uses {expr_text(inner)} of another RDom")
        self.predicates = (*self.predicates, e)

    def as_expr(self) -> RVar:
        """Return the one dimension of a 1-D domain as a value."""
        if len(self._vars) != 1:
            fail(f"RDom '{self._name}' has {len(self._vars)} dimensions; name one of them: {self._name}.x")
        return self._vars[0]


def _of_the_one_dimension(operator: str) -> Callable[..., Any]:
    def operate(self: RDom, *others: Any) -> Any:
        return getattr(self.as_expr(), operator)(*others)

    return operate


# As a value, a domain of one dimension is that dimension.
for _operator in (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"),
    *("radd", "rsub", "rmul", "rtruediv", "rfloordiv", "rmod", "rpow", "rand", "ror", "rxor", "rlshift", "rrshift"),
    *("lt", "le", "gt", "ge", "neg", "abs"),
):
    setattr(RDom, f"__{_operator}__", _of_the_one_dimension(f"__{_operator}__"))
