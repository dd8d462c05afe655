"""RDom, and the reductions over it: each is written out, point by point, in the expression."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import I32, Expr, as_expr, binary, cast_to, constant, node
from tilefuse.frontend.walk import postorder

MOST_POINTS = 4096
"""A reduction over more points would make an expression that no compiler likes."""

_count = itertools.count()


class RVar(Expr):
    """One dimension of an RDom."""

    __slots__ = ()

    def __init__(self, rdom: RDom, index: int, name: str):
        self._type, self.op, self.args, self.data = I32, "rvar", (), (rdom, index, name)

    def name(self) -> str:
        """Name of the dimension."""
        return str(self.data[2])


class RDom:
    """A box of integer points to reduce over: `RDom([(min, extent), ...])`, with constant integers."""

    def __init__(self, ranges: Any, name: str | None = None):
        self._name = name or f"r{next(_count)}"
        if isinstance(ranges, tuple) and len(ranges) == 2 and all(isinstance(v, int) for v in ranges):
            ranges = [ranges]
        if not isinstance(ranges, list | tuple):
            fail(f"RDom '{self._name}' takes a list of (min, extent), not {ranges!r}")
        self.ranges = tuple(self._range(r) for r in ranges)
        if not self.ranges:
            fail(f"RDom '{self._name}' has no dimensions")
        names = "xyzw" if len(self.ranges) <= 4 else ""
        self._vars = tuple(
            RVar(self, i, f"{self._name}.{names[i]}" if names else f"{self._name}[{i}]")
            for i in range(len(self.ranges))
        )

    def _range(self, pair: Any) -> tuple[int, int]:
        values = [v.data if isinstance(v, Expr) and v.op == "const" else v for v in pair]
        if len(values) != 2 or not all(isinstance(v, int) for v in values):
            fail(
                f"RDom '{self._name}': {tuple(pair)!r} is no (min, extent) of constant integers; "
                "extents known only at the call are not there yet"
            )
        if values[1] <= 0:
            fail(f"RDom '{self._name}': the extent {values[1]} must be positive")
        return values[0], values[1]

    def name(self) -> str:
        """Name of the domain."""
        return self._name

    def dimensions(self) -> int:
        """The number of dimensions."""
        return len(self.ranges)

    def __len__(self) -> int:
        return len(self.ranges)

    def __getitem__(self, index: int) -> RVar:
        return self._vars[index]

    def __iter__(self) -> Iterator[RVar]:
        return iter(self._vars)

    def _dimension(self, index: int) -> RVar:
        if index >= len(self._vars):
            fail(f"RDom '{self._name}' has {len(self._vars)} dimensions; there is no {'xyzw'[index]}")
        return self._vars[index]

    @property
    def x(self) -> RVar:
        """The first dimension."""
        return self._dimension(0)

    @property
    def y(self) -> RVar:
        """The second dimension."""
        return self._dimension(1)

    @property
    def z(self) -> RVar:
        """The third dimension."""
        return self._dimension(2)

    @property
    def w(self) -> RVar:
        """The fourth dimension."""
        return self._dimension(3)

    def where(self, predicate: Any) -> None:
        """PipelineError: predicates are not there yet."""
        fail(f"RDom '{self._name}': where(...) is not there yet; use select(...) in the reduced expression")

    def as_expr(self) -> RVar:
        """The one dimension of a 1-D domain as a value."""
        if len(self._vars) != 1:
            fail(f"RDom '{self._name}' has {len(self._vars)} dimensions; name one of them: {self._name}.x")
        return self._vars[0]

    def __add__(self, other: Any) -> Expr:
        return self.as_expr() + as_expr(other)

    def __radd__(self, other: Any) -> Expr:
        return as_expr(other) + self.as_expr()

    def __sub__(self, other: Any) -> Expr:
        return self.as_expr() - as_expr(other)

    def __rsub__(self, other: Any) -> Expr:
        return as_expr(other) - self.as_expr()

    def __mul__(self, other: Any) -> Expr:
        return self.as_expr() * as_expr(other)

    def __rmul__(self, other: Any) -> Expr:
        return as_expr(other) * self.as_expr()


def sum(*args: Any) -> Expr:
    """`sum(expr)` or `sum(rdom, expr)`: added up over the domain, in the type of the expression."""
    return _reduced("sum", args, lambda a, b: binary("add", a, b))


def product(*args: Any) -> Expr:
    """`product(expr)` or `product(rdom, expr)`: multiplied over the domain."""
    return _reduced("product", args, lambda a, b: binary("mul", a, b))


def minimum(*args: Any) -> Expr:
    """`minimum(expr)` or `minimum(rdom, expr)`: the least over the domain."""
    return _reduced("minimum", args, lambda a, b: binary("min", a, b))


def maximum(*args: Any) -> Expr:
    """`maximum(expr)` or `maximum(rdom, expr)`: the greatest over the domain."""
    return _reduced("maximum", args, lambda a, b: binary("max", a, b))


def _reduced(what: str, args: tuple[Any, ...], combine: Callable[[Expr, Expr], Expr]) -> Expr:
    if args and isinstance(args[-1], str):
        args = args[:-1]
    if not 1 <= len(args) <= 2 or (len(args) == 2 and not isinstance(args[0], RDom)):
        fail(f"{what} takes an Expr, or an RDom and an Expr")
    expr = as_expr(args[-1])
    nodes = list(postorder([expr]))
    rdom = args[0] if len(args) == 2 else _domain(what, nodes)
    points = prod(extent for _, extent in rdom.ranges)
    if points > MOST_POINTS:
        fail(f"{what} over {points} points: more than {MOST_POINTS} are not there yet")
    dependent = _dependent(nodes, rdom)
    # The first dimension is the innermost loop, as in Halide: the order matters to floats.
    spans = [range(low, low + extent) for low, extent in reversed(rdom.ranges)]
    result: Expr | None = None
    for point in itertools.product(*spans):
        value = _at(expr, dependent, rdom, tuple(reversed(point)))
        result = value if result is None else combine(result, value)
    assert result is not None
    return result


def _domain(what: str, nodes: list[Expr]) -> RDom:
    domains: dict[int, RDom] = {id(e.data[0]): e.data[0] for e in nodes if e.op == "rvar"}
    if len(domains) != 1:
        names = ", ".join(d.name() for d in domains.values()) or "none"
        fail(f"{what}(expr) reduces over the one RDom in it; there are {names}. Use {what}(rdom, expr)")
    return next(iter(domains.values()))


def _dependent(nodes: list[Expr], rdom: RDom) -> list[Expr]:
    """The nodes that depend on the point, operands first."""
    found: set[int] = set()
    result = []
    for e in nodes:
        if e.op == "random" or (e.op == "rvar" and e.data[0] is rdom) or any(id(a) in found for a in e.args):
            found.add(id(e))
            result.append(e)
    return result


def _at(expr: Expr, dependent: list[Expr], rdom: RDom, point: tuple[int, ...]) -> Expr:
    """`expr` at one point of `rdom`; what does not depend on the point is shared between all points."""
    new: dict[int, Expr] = {}
    for e in dependent:
        if e.op == "rvar":
            new[id(e)] = constant(I32, point[e.data[1]])
        elif e.op == "random":
            # Another number at each point of the domain.
            keys = [new.get(id(a), a) for a in e.args] + [constant(I32, p) for p in point]
            new[id(e)] = node(e.op, e.type(), keys, e.data)
        else:
            new[id(e)] = _rebuilt(e, [new.get(id(a), a) for a in e.args])
    return new.get(id(expr), expr)


def _rebuilt(e: Expr, args: list[Expr]) -> Expr:
    if len(args) == 2 and e.data is None and e.op not in ("shl", "shr"):
        return binary(e.op, args[0], args[1])
    if e.op == "cast":
        return cast_to(e.type(), args[0])
    return node(e.op, e.type(), args, e.data)
