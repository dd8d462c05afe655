"""Expressions with the coordinates of an RDom replaced, and the numbers of those that are constant."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from tilefuse.frontend.expr import COMPARISONS, Expr, binary, cast_to, node
from tilefuse.frontend.rdom import RDom
from tilefuse.frontend.walk import postorder

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {op: getattr(operator, op) for op in COMPARISONS}
_BITS: dict[str, Callable[[Any, Any], Any]] = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}


def dependent(nodes: list[Expr], rdom: RDom) -> list[Expr]:
    """Nodes, operands first, that depend on the point of `rdom`: random numbers do, too."""
    found: set[int] = set()
    result = []
    for e in nodes:
        if e.op == "random" or (e.op == "rvar" and e.data[0] is rdom) or any(id(a) in found for a in e.args):
            found.add(id(e))
            result.append(e)
    return result


def substituted(
    expr: Expr, changing: list[Expr], coordinate: Callable[[Expr], Expr], point: Sequence[Expr] = ()
) -> Expr:
    """`expr` with `coordinate(e)` for its RVars; `changing`: the nodes that depend on them, the others are shared.

    `point`: what random numbers depend on besides.
    """
    new: dict[int, Expr] = {}
    for e in changing:
        args = [new.get(id(a), a) for a in e.args]
        if e.op == "rvar":
            new[id(e)] = coordinate(e)
        elif e.op == "random":
            # Another number at each point of the domain.
            new[id(e)] = node(e.op, e.type(), [*args, *point], e.data)
        else:
            new[id(e)] = _rebuilt(e, args)
    return new.get(id(expr), expr)


def _rebuilt(e: Expr, args: list[Expr]) -> Expr:
    if len(args) == 2 and e.data is None and e.op not in ("shl", "shr"):
        return binary(e.op, args[0], args[1])
    if e.op == "cast":
        return cast_to(e.type(), args[0])
    return node(e.op, e.type(), args, e.data)


def constant_value(expr: Expr) -> Any:
    """The number that an expression of integers and conditions is; None if that is not known."""
    found: dict[int, Any] = {}
    for e in postorder([expr]):
        args = [found[id(a)] for a in e.args]
        found[id(e)] = e.data if e.op == "const" else None
        if e.op in _COMPARE and None not in args:
            found[id(e)] = _COMPARE[e.op](*args)
        elif e.op in _BITS and e.type().is_bool():
            found[id(e)] = _bits(e.op, args)
    return found[id(expr)]


def _bits(op: str, args: list[Any]) -> Any:
    if None not in args:
        return bool(_BITS[op](*args))
    if op == "and" and False in args:
        return False
    return True if op == "or" and True in args else None
