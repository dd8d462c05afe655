"""Reductions in an expression: sum, product, minimum, maximum, argmin, argmax.

Each is a Func of its own with an update definition, as in Halide. It is marked, so that over few points that are known
it is written out where it is read (passes/unroll_reductions.py).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import Expr, as_expr, binary, constant, node
from tilefuse.frontend.func import Func
from tilefuse.frontend.rdom import RDom
from tilefuse.frontend.sources import Tuple
from tilefuse.frontend.substitute import dependent, substituted
from tilefuse.frontend.types import Type
from tilefuse.frontend.var import Var
from tilefuse.frontend.walk import postorder


def sum(*args: Any) -> Expr:
    """Sum over a domain, in the type of the expression: `sum(expr)` or `sum(rdom, expr)`."""
    return _reduced("sum", args, lambda a, b: binary("add", a, b))


def product(*args: Any) -> Expr:
    """Multiply over a domain: `product(expr)` or `product(rdom, expr)`."""
    return _reduced("product", args, lambda a, b: binary("mul", a, b))


def minimum(*args: Any) -> Expr:
    """Return the least value over a domain: `minimum(expr)` or `minimum(rdom, expr)`."""
    return _reduced("minimum", args, lambda a, b: binary("min", a, b))


def maximum(*args: Any) -> Expr:
    """Return the greatest value over a domain: `maximum(expr)` or `maximum(rdom, expr)`."""
    return _reduced("maximum", args, lambda a, b: binary("max", a, b))


def argmin(*args: Any) -> tuple[Expr, ...]:
    """Return the first point of the least value, and this value: `argmin(expr)` or `argmin(rdom, expr)`."""
    return _first_best("argmin", "lt", args)


def argmax(*args: Any) -> tuple[Expr, ...]:
    """Return the first point of the greatest value, and this value: `argmax(expr)` or `argmax(rdom, expr)`."""
    return _first_best("argmax", "gt", args)


def _start(what: str, type: Type) -> Expr:
    """Return the value of a reduction over no points."""
    if what in ("sum", "product"):
        return constant(type, what == "product")
    high = what in ("minimum", "argmin")
    if type.is_float():
        return constant(type, inf if high else -inf)
    return constant(type, type.limits()[high])


def _neutral(what: str, type: Type, rdom: RDom) -> Expr:
    """Return the initial value of a reduction, neutral if there are points."""
    ranges = rdom.constant_ranges()
    is_there = ranges is not None and all(extent for _, extent in ranges) and not rdom.predicates
    if not is_there or not type.is_float():
        return _start(what, type)
    # 0 would make +0 of -0; of NaN and a number `min` and `max` give the number
    return constant(type, {"sum": -0.0, "product": 1.0}.get(what, nan))


def _arguments(what: str, args: tuple[Any, ...]) -> tuple[RDom, Expr]:
    if args and isinstance(args[-1], str):
        args = args[:-1]
    if not 1 <= len(args) <= 2 or (len(args) == 2 and not isinstance(args[0], RDom)):
        fail(f"{what} takes an Expr, or an RDom and an Expr")
    expr = as_expr(args[-1])
    rdom = args[0] if len(args) == 2 else _domain(what, list(postorder([expr])))
    rdom.used_by = rdom.used_by or what
    return rdom, expr


def _domain(what: str, nodes: list[Expr]) -> RDom:
    domains: dict[int, RDom] = {id(e.data[0]): e.data[0] for e in nodes if e.op == "rvar"}
    if len(domains) != 1:
        names = ", ".join(d.name() for d in domains.values()) or "none"
        fail(f"{what}(expr) reduces over the one RDom in it; there are {names}. Use {what}(rdom, expr)")
    return next(iter(domains.values()))


def _reduced(what: str, args: tuple[Any, ...], combine: Callable[[Expr, Expr], Expr]) -> Expr:
    rdom, expr = _arguments(what, args)
    at, func, expr = _func_over(what, rdom, expr)
    func[at.inner] = _neutral(what, expr.type(), rdom)
    func.update_over(rdom, at.inner, combine(func[at.inner], expr), inline=True)
    return func[at.outer]  # type: ignore[no-any-return]


def _first_best(what: str, better: str, args: tuple[Any, ...]) -> tuple[Expr, ...]:
    rdom, expr = _arguments(what, args)
    at, func, expr = _func_over(what, rdom, expr)
    func[at.inner] = Tuple(*(0 for _ in rdom), _start(what, expr.type()))
    old = func[at.inner]
    replaced = binary(better, expr, old[len(rdom)])
    new = (*rdom, expr)
    chosen = Tuple(*(node("select", n.type(), (replaced, n, o)) for n, o in zip(new, old, strict=True)))
    func.update_over(rdom, at.inner, chosen)
    return tuple(func[at.outer])


class _Coordinates:
    """Coordinates of a reduction's Func, in its definition and at its use."""

    def __init__(self, inner: tuple[Expr, ...], outer: tuple[Expr, ...]):
        self.inner, self.outer = inner, outer


def _func_over(what: str, rdom: RDom, expr: Expr) -> tuple[_Coordinates, Func, Expr]:
    """Make a Func of all that `expr` depends on besides `rdom`; return it and `expr` in its coordinates."""
    nodes = list(postorder([expr, *rdom.predicates]))
    outer: dict[object, Expr] = {}
    for e in nodes:
        if e.op == "var":
            outer.setdefault(e.data, e)
        elif e.op == "rvar" and e.data[0] is not rdom:
            outer.setdefault(e.data[:2], e)
    # the RVars of an update around it are coordinates like any other
    names = {key: e if e.op == "var" else Var(str(e.data[2])) for key, e in outer.items()}
    others = [e for e in nodes if e.op == "rvar" and e.data[0] is not rdom]
    for other in {id(e.data[0]): e.data[0] for e in others}.values():
        changing = dependent(list(postorder([expr])), other)
        expr = substituted(expr, changing, lambda e: names[e.data[:2]])
    return _Coordinates(tuple(names.values()), tuple(outer.values())), Func(what), expr
