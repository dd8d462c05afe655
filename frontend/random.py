"""Random numbers as functions of a seed and the coordinates: equal on every back end, in any order.

h = mix(stream), then for the seed and each coordinate k in turn: h = mix(h + k), modulo 2^32
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import F32, I32, Expr, as_expr, binary, cast_to, constant, node
from tilefuse.frontend.types import UInt
from tilefuse.frontend.walk import expr_text, postorder

U32 = UInt(32)

_SEEDED, _COUNTED = 1, 2
"""Streams: numbers with a seed that was given are not those of calls without one."""

_calls = itertools.count()


def random_uint(seed: Any = None) -> Expr:
    """Return a uniform uint32 at each point; without a seed, each call is an independent sequence."""
    if seed is None:
        stream, value = _COUNTED, constant(I32, next(_calls))
    else:
        stream, value = _SEEDED, as_expr(seed)
    type = value.type()
    if type.is_float() or type.is_bool() or type.bits() != 32:
        fail(f"the seed of a random number is an int32 or uint32, not {type}: {expr_text(value)}; cast it")
    return node("random", U32, (value,), stream)


def random_int(seed: Any = None) -> Expr:
    """Return a uniform int32 at each point; see `random_uint`."""
    return cast_to(I32, random_uint(seed))


def random_float(seed: Any = None) -> Expr:
    """Return a float32 from 0 to below 1, a multiple of 2^-24, at each point; see `random_uint`."""
    integer = cast_to(F32, node("shr", U32, (random_uint(seed), constant(U32, 8))))
    return binary("mul", integer, constant(F32, 2.0**-24))


def placed(values: Sequence[Expr], coordinates: Sequence[Expr]) -> tuple[Expr, ...]:
    """Bind the random numbers of a definition's values to these coordinates."""
    nodes = list(postorder(values))
    if not any(e.op == "random" for e in nodes):
        return tuple(values)
    new: dict[int, Expr] = {}
    for e in nodes:
        args = [new[id(a)] for a in e.args]
        if e.op == "random":
            new[id(e)] = _hashed(e.data, [*args, *coordinates])
        elif any(a is not b for a, b in zip(args, e.args, strict=True)):
            new[id(e)] = node(e.op, e.type(), args, e.data)
        else:
            new[id(e)] = e
    return tuple(new[id(v)] for v in values)


def _hashed(stream: int, keys: Sequence[Expr]) -> Expr:
    h = constant(U32, _mixed(stream))
    for key in keys:
        h = _mix(binary("add", h, cast_to(U32, key)))
    return h


_STEPS = ((16, 0x7FEB352D), (15, 0x846CA68B))
_LAST = 16


def _mix(h: Expr) -> Expr:
    """Permute 32 bits so that any one changes half of them: C. Wellons' lowbias32."""
    for by, factor in _STEPS:
        h = binary("mul", binary("xor", h, node("shr", U32, (h, constant(U32, by)))), constant(U32, factor))
    return binary("xor", h, node("shr", U32, (h, constant(U32, _LAST))))


def _mixed(h: int) -> int:
    for by, factor in _STEPS:
        h = (h ^ h >> by) * factor & 0xFFFFFFFF
    return h ^ h >> _LAST


__all__ = ["random_float", "random_int", "random_uint"]
