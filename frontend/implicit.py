"""The placeholder `_`, which stands for all remaining coordinates: `_0`, `_1`, ..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import Expr
from tilefuse.frontend.var import Var
from tilefuse.frontend.walk import postorder


def expanded(key: Sequence[Any], remaining: int, what: str) -> tuple[Any, ...]:
    """Replace `_` in `key` by `_0` to `_<remaining - 1>`."""
    places = [i for i, k in enumerate(key) if isinstance(k, Var) and k.is_placeholder()]
    if not places:
        return tuple(key)
    if len(places) > 1:
        fail(f"{what}: _ stands {len(places)} times between the brackets; it means all remaining coordinates")
    [at] = places
    return (*key[:at], *(Var.implicit(i) for i in range(remaining)), *key[at + 1 :])


def implicit_count(values: Sequence[Expr]) -> int:
    """Count the coordinates that `_` stands for in a definition of these values: one more than the last one used."""
    found = (Var.implicit_index(e) for e in postorder(values) if isinstance(e, Var))
    return max((index + 1 for index in found), default=0)
