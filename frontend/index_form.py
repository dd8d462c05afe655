"""Linear forms of indices: the part of an index expression that goes into the affine map of an `img.read`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from xdsl.ir.affine import AffineExpr

from tilefuse.frontend.expr import I32, I64, Expr
from tilefuse.frontend.walk import postorder

_AFFINE_OPS = frozenset(("add", "sub", "mul", "div", "mod"))


def _is_affine(e: Expr) -> bool:
    """Whether an index is a form of the operands of `e`: indices do not wrap, so widening changes nothing."""
    if e.op == "cast":
        return (e.args[0].type(), e.type()) == (I32, I64)
    return e.op in _AFFINE_OPS and e.type() in (I32, I64)


class Quotient(NamedTuple):
    """`form floordiv divisor`, or `form mod divisor`."""

    form: Linear
    divisor: int
    remainder: bool


class Term(NamedTuple):
    """`coefficient * leaf`."""

    leaf: Expr | Quotient
    coefficient: int


class Linear(NamedTuple):
    """A sum of terms with distinct leaves, and a constant."""

    terms: dict[Hashable, Term]
    constant: int

    def leaves(self) -> list[Expr]:
        """Return the leaves, in order of first use."""
        found: dict[int, Expr] = {}
        for term in self.terms.values():
            for e in term.leaf.form.leaves() if isinstance(term.leaf, Quotient) else [term.leaf]:
                found.setdefault(id(e), e)
        return list(found.values())

    def key(self) -> Hashable:
        """Return a key that is equal for equal forms."""
        return (tuple((k, t.coefficient) for k, t in self.terms.items()), self.constant)

    def affine(self, dimension: Callable[[Expr], AffineExpr]) -> AffineExpr:
        """Convert to an affine expression, with `dimension` for the leaves."""
        result: AffineExpr | None = None
        for leaf, coefficient in self.terms.values():
            if isinstance(leaf, Quotient):
                inner = leaf.form.affine(dimension)
                part = inner % leaf.divisor if leaf.remainder else inner // leaf.divisor
            else:
                part = dimension(leaf)
            part = part * coefficient if coefficient != 1 else part
            result = part if result is None else result + part
        if result is None:
            return AffineExpr.constant(self.constant)
        return result + self.constant if self.constant else result


def index_forms(indices: Sequence[Expr]) -> list[Linear]:
    """Convert each index to a linear form; parts that are not affine become leaves."""
    known: dict[int, Linear] = {}
    for e in postorder(indices, lambda e: e.args if _is_affine(e) else ()):
        known[id(e)] = _form(e, [known[id(a)] for a in e.args if id(a) in known])
    return [known[id(i)] for i in indices]


def _form(e: Expr, args: list[Linear]) -> Linear:
    if e.op == "const":
        return Linear({}, e.data)
    if _is_affine(e):
        if e.op == "cast":
            return args[0]
        a, b = args
        if e.op == "add":
            return _sum(a, b, 1)
        if e.op == "sub":
            return _sum(a, b, -1)
        if e.op == "mul" and not b.terms:
            return _scaled(a, b.constant)
        if e.op == "mul" and not a.terms:
            return _scaled(b, a.constant)
        if e.op in ("div", "mod") and not b.terms and b.constant > 0:
            return _divided(a, b.constant, e.op == "mod")
    return Linear({_leaf_key(e): Term(e, 1)}, 0)


def _leaf_key(e: Expr) -> Hashable:
    if e.op == "var":
        return ("var", e.data)
    if e.op == "rvar":
        return ("rvar", id(e.data[0]), e.data[1])
    if e.op in ("image_min", "image_extent"):
        return (e.op, id(e.data[0]), e.data[1])
    return ("expr", id(e))


def _sum(a: Linear, b: Linear, sign: int) -> Linear:
    terms = dict(a.terms)
    for key, (leaf, coefficient) in b.terms.items():
        total = sign * coefficient + (terms[key].coefficient if key in terms else 0)
        if total:
            terms[key] = Term(leaf, total)
        else:
            del terms[key]
    return Linear(terms, a.constant + sign * b.constant)


def _scaled(a: Linear, factor: int) -> Linear:
    if factor == 0:
        return Linear({}, 0)
    return Linear({k: Term(t.leaf, t.coefficient * factor) for k, t in a.terms.items()}, a.constant * factor)


def _divided(a: Linear, divisor: int, remainder: bool) -> Linear:
    if not a.terms:
        return Linear({}, a.constant % divisor if remainder else a.constant // divisor)
    if divisor == 1:
        return Linear({}, 0) if remainder else a
    key = ("mod" if remainder else "div", a.key(), divisor)
    return Linear({key: Term(Quotient(a, divisor, remainder), 1)}, 0)
