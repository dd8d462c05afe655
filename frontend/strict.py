"""strict_float: expressions whose float operations are rounded one by one, in written order."""

from __future__ import annotations

from typing import Any

from tilefuse.dialects.img.strict import STRICT
from tilefuse.frontend.expr import Expr, as_expr, node
from tilefuse.frontend.func import Func
from tilefuse.frontend.var import Var
from tilefuse.frontend.walk import postorder


def strict_float(value: Any) -> Expr:
    """Return `value`, computed as written: no product is contracted with a sum, and no sum is regrouped."""
    root = as_expr(value)
    new: dict[int, Expr] = {}
    for e in postorder([root]):
        args = [new[id(a)] for a in e.args]
        if e.op in ("add", "sub", "mul", "mod") and e.type().is_float():
            new[id(e)] = node(e.op, e.type(), args, STRICT)
        elif e.op == "call" and _is_reduction(e.data[0]):
            new[id(e)] = node(e.op, e.type(), args, (_strict_reduction(e.data[0]), e.data[1]))
        elif any(a is not b for a, b in zip(args, e.args, strict=True)):
            new[id(e)] = node(e.op, e.type(), args, e.data)
        else:
            new[id(e)] = e
    return new[id(root)]


def _is_reduction(source: object) -> bool:
    """Whether a Func belongs to `sum(...)` or a similar reduction, and so to the expression."""
    return isinstance(source, Func) and any(update.inline for update in source.updates)


def _strict_reduction(func: Func) -> Func:
    """Return the Func of a reduction with strict values."""
    definition, update = func.definition, func.updates[0]
    assert definition is not None
    made, at = Func(func.name()), tuple(Var(a) for a in definition.args)
    made[at] = definition.values[0]
    made.update_over(update.domain, at, strict_float(update.written(made)[0]), inline=True)
    return made
