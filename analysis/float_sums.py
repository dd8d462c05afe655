"""Float sums and products of updates: the number of terms, and the largest rounding error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType

from tilefuse.analysis.running_sums import RunningSum, running_sum
from tilefuse.analysis.scalars import eval_index
from tilefuse.analysis.sizes import Sizes
from tilefuse.analysis.updates import Axis, UpdateFacts
from tilefuse.dialects.img.elements import FLOATS, ElementType
from tilefuse.dialects.img.ops import UpdateOp
from tilefuse.dialects.img.region import num_text
from tilefuse.dialects.img.symbolic import Role, SizeValue, Symbol, symbols
from tilefuse.dialects.img.types import FuncType


@dataclass(frozen=True)
class FloatSum:
    """A float sum or product that an update forms at each place that it writes."""

    function: str
    way: str
    """`add` or `mul`; `tuple` where a rule joins the functions of a tuple."""
    element: ElementType
    counts: tuple[SizeValue, ...]
    """The points of the domain that may meet at one place are the product of these."""
    products: int | None = 1
    """Products that a step adds up; None for a rule with quotients."""

    def bound(self) -> str:
        """Return an upper bound of the distance from the exact sum, as in docs/semantics.md."""
        if self.products is None:
            return "no bound, for it has quotients"
        known = math.prod(n for n in self.counts if isinstance(n, int))
        unknown = [num_text(n, {s: _name(s) for s in symbols(n)}) for n in self.counts if not isinstance(n, int)]
        factors = [str(known)] if known != 1 or not unknown else []
        terms = " * ".join([*factors, *(f"({text})" if " " in text else text for text in unknown)])
        of = {"mul": "|product|", "tuple": "|the same of magnitudes|"}.get(self.way, "(|t1| + ... + |tn| + |old|)")
        each = f"{self.products} * " if self.products != 1 else ""
        return f"{each}n * 2^-{self.element.significand} * {of}, n = {terms}"


def _name(symbol: Symbol) -> str:
    if symbol.role is Role.Param:
        return symbol.name
    return f"{symbol.name}.{'extent' if symbol.extent else 'min'}({symbol.dim})"


def float_sums(op: UpdateOp, sizes: Sizes) -> Iterator[FloatSum]:
    """Find the float sums and products of an update."""
    facts = UpdateFacts(op)
    meeting = [
        d.extent for d, axis in zip(op.domain, facts.domain_axes, strict=True) if axis not in (Axis.Pure, Axis.Parallel)
    ]
    rule, running = facts.joined_tuple, running_sum(facts)
    ways = (running.way,) if isinstance(running, RunningSum) else facts.combiners
    for number, (way, old) in enumerate(zip(ways, op.old_funcs, strict=True)):
        assert isinstance(old.type, FuncType)
        if isinstance(old.type.element, IntegerType):
            continue
        counts = tuple(eval_index(extent, sizes) for extent in meeting)
        if rule is not None and number in rule.functions:
            products = None if rule.divides else rule.products
            yield FloatSum(op.sym_name.data, "tuple", FLOATS[old.type.element], counts, products)
            rule = None
        elif way in ("add", "mul"):
            yield FloatSum(op.sym_name.data, way, FLOATS[old.type.element], counts)
