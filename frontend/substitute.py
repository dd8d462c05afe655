"""Substitution of an RDom's coordinates in expressions."""

from __future__ import annotations

from collections.abc import Callable

from tilefuse.frontend.expr import Expr, binary, cast_to, node
from tilefuse.frontend.rdom import RDom


def dependent(nodes: list[Expr], rdom: RDom) -> list[Expr]:
    """Return the nodes, operands first, that depend on the point of `rdom`: random numbers do, too."""
    found: set[int] = set()
    result = []
    for e in nodes:
        if e.op == "random" or (e.op == "rvar" and e.data[0] is rdom) or any(id(a) in found for a in e.args):
            found.add(id(e))
            result.append(e)
    return result


def substituted(expr: Expr, changing: list[Expr], coordinate: Callable[[Expr], Expr]) -> Expr:
    """Replace the RVars of `expr` by `coordinate(e)`; `changing`: the nodes that depend on them; others are shared."""
    new: dict[int, Expr] = {}
    for e in changing:
        args = [new.get(id(a), a) for a in e.args]
        if e.op == "rvar":
            new[id(e)] = coordinate(e)
        else:
            new[id(e)] = _rebuilt(e, args)
    return new.get(id(expr), expr)


def _rebuilt(e: Expr, args: list[Expr]) -> Expr:
    if len(args) == 2 and e.data is None and e.op not in ("shl", "shr"):
        return binary(e.op, args[0], args[1])
    if e.op == "cast":
        return cast_to(e.type(), args[0])
    return node(e.op, e.type(), args, e.data)
