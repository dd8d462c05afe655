"""Traversal of expressions, and their text in messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from tilefuse.frontend.types import Type


class ExprNode(Protocol):
    """An expression's interface for traversal."""

    op: str
    data: Any

    @property
    def args(self) -> Sequence[ExprNode]: ...

    def type(self) -> Type: ...


N = TypeVar("N", bound=ExprNode)


def postorder(roots: Sequence[N], children: Callable[[N], Sequence[N]] | None = None) -> Iterator[N]:
    """Yield every node below `roots` once, operands first.

    `children` gives the operands to go to, if not all. Iterative: an expression may be deeper than Python's stack.
    """
    seen: set[int] = set()
    for root in roots:
        if id(root) in seen:
            continue
        seen.add(id(root))
        stack: list[tuple[N, Iterator[Any]]] = [(root, iter(root.args if children is None else children(root)))]
        while stack:
            current, rest = stack[-1]
            for child in rest:
                if id(child) not in seen:
                    seen.add(id(child))
                    stack.append((child, iter(child.args if children is None else children(child))))
                    break
            else:
                stack.pop()
                yield current


_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "and": "&", "or": "|", "xor": "^",
    "shl": "<<", "shr": ">>", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip


def expr_text(expr: ExprNode, depth: int = 6) -> str:
    """Format an expression briefly for messages; `...` below `depth`."""
    if expr.op == "const":
        return str(bool(expr.data)) if expr.type().is_bool() else str(expr.data)
    if expr.op in ("var", "rvar"):
        return str(expr.data if expr.op == "var" else expr.data[2])
    if expr.op == "param":
        return str(expr.data.name())
    if expr.op in ("image_min", "image_extent"):
        return f"{expr.data[0].name()}.dim({expr.data[1]}).{expr.op[6:]}()"
    if depth == 0:
        return "..."
    inner = [expr_text(a, depth - 1) for a in expr.args]
    if expr.op in _SYMBOLS:
        return f"({inner[0]} {_SYMBOLS[expr.op]} {inner[1]})"
    name = {"cast": str(expr.type()), "math": expr.data}.get(expr.op, expr.op)
    if expr.op == "call":
        name = expr.data[0].name()
    return f"{name}({', '.join(inner)})"
