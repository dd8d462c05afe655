"""C expressions as text with a precedence, a C type and, for integers, the interval of their values.

The interval is what keeps the text free of casts: IR arithmetic is modulo 2^n on signless integers, C's is on
`int` after promotion. Where the interval shows that both agree, the plain C text is right; elsewhere the
arithmetic is done in `unsigned int`, and a value is cast when its signedness or width begins to matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilefuse.lowering.printers.c_types import IntRange, promotes_to_int, type_range

PRIMARY, POSTFIX, UNARY, MUL, ADD, SHIFT, REL, EQ, BITAND, XOR, BITOR, LAND, LOR, COND, ASSIGN = range(15, 0, -1)

INT_RANGE: IntRange = (-(2**31), 2**31 - 1)
# Operators that readers and -Wparentheses want explicit parentheses around: all operands bind tightly.
_STRICT = frozenset({SHIFT, BITAND, XOR, BITOR})


@dataclass(frozen=True)
class CExpr:
    """One C expression.

    `range` bounds the C value (None for floats, vectors and `idx`); `const` is the value of a literal;
    `reads` says that it reads memory, so it must not move over a store; `cheap` that it may be computed again
    in an inner loop; `mutable` names the variables it mentions that are assigned more than once.
    """

    text: str
    prec: int
    ctype: str
    range: IntRange | None = None
    const: int | float | None = None
    reads: bool = False
    cheap: bool = True
    mutable: frozenset[str] = frozenset()

    @property
    def is_atom(self) -> bool:
        """Whether the expression is a name or a literal, which may be printed twice at no cost."""
        return self.prec == PRIMARY or self.const is not None

    @property
    def is_negated_name(self) -> bool:
        """Whether the expression is a negated name (`!border`), which needs no variable."""
        return self.text[:1] == "!" and self.text[1:].isidentifier()

    def interval(self) -> IntRange:
        """Return the bounds of the C value: at worst the bounds of its C type."""
        return self.range if self.range is not None else type_range(self.ctype)

    def wrapped(self, prec: int) -> str:
        """Return the text, in parentheses if it binds less tightly than `prec`."""
        return self.text if self.prec >= prec else f"({self.text})"


def name(text: str, ctype: str, *, mutable: bool = False, interval: IntRange | None = None) -> CExpr:
    """Return the expression of a variable."""
    return CExpr(text, PRIMARY, ctype, interval, mutable=frozenset({text}) if mutable else frozenset())


def derived(
    text: str,
    prec: int,
    ctype: str,
    parts: Iterable[CExpr],
    interval: IntRange | None = None,
    *,
    cheap: bool | None = None,
) -> CExpr:
    """Return an expression made of `parts`; it reads memory if one of them does."""
    parts = tuple(parts)
    return CExpr(
        text,
        prec,
        ctype,
        interval,
        None,
        any(part.reads for part in parts),
        all(part.cheap for part in parts) if cheap is None else cheap,
        frozenset().union(*(part.mutable for part in parts)),
    )


def c_binary(
    a: CExpr,
    op: str,
    b: CExpr,
    prec: int,
    ctype: str,
    interval: IntRange | None = None,
    *,
    cheap: bool | None = None,
) -> CExpr:
    """Return `a op b`; a chain to the left needs no parentheses, one to the right does."""
    if prec in _STRICT:
        chained = prec in (BITAND, XOR, BITOR) and a.prec == prec
        left, right = a.wrapped(prec if chained else UNARY), b.wrapped(UNARY)
    elif prec == LOR:
        left = f"({a.text})" if a.prec == LAND else a.wrapped(prec)
        right = f"({b.text})" if b.prec == LAND else b.wrapped(prec)
    elif prec == LAND:
        left, right = a.wrapped(prec), b.wrapped(prec)
    elif prec in (REL, EQ):
        left, right = a.wrapped(ADD), b.wrapped(ADD)
    else:
        left, right = a.wrapped(prec), b.wrapped(prec + 1)
    return derived(f"{left} {op} {right}", prec, ctype, (a, b), interval, cheap=cheap)


def unary(op: str, a: CExpr, ctype: str, interval: IntRange | None = None) -> CExpr:
    """Return `op a`."""
    inner = a.wrapped(UNARY)
    # `--x` would be another operator.
    text = f"{op}({inner})" if inner.startswith(op) else f"{op}{inner}"
    return derived(text, UNARY, ctype, (a,), interval)


def call(
    function: str, args: Iterable[CExpr], ctype: str, interval: IntRange | None = None, *, cheap: bool = False
) -> CExpr:
    """Return `function(args)`."""
    args = tuple(args)
    return derived(f"{function}({', '.join(a.text for a in args)})", POSTFIX, ctype, args, interval, cheap=cheap)


def c_cast(ctype: str, a: CExpr, interval: IntRange | None = None, *, cheap: bool | None = None) -> CExpr:
    """Return `(ctype)a`."""
    return derived(f"({ctype}){a.wrapped(UNARY)}", UNARY, ctype, (a,), interval, cheap=cheap)


def conditional(condition: CExpr, a: CExpr, b: CExpr, ctype: str, interval: IntRange | None = None) -> CExpr:
    """Return `condition ? a : b`."""
    text = f"{condition.wrapped(LOR)} ? {a.wrapped(COND)} : {b.wrapped(COND)}"
    return derived(text, COND, ctype, (condition, a, b), interval)


def within(inner: IntRange, outer: IntRange) -> bool:
    """Whether `inner` lies inside `outer`."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def int_arithmetic(a: CExpr, b: CExpr, interval: IntRange) -> bool:
    """Whether C computes on `a` and `b` in `int` without overflow, for a result within `interval`."""
    return promotes_to_int(a.ctype) and promotes_to_int(b.ctype) and within(interval, INT_RANGE)
