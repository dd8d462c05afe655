"""The numbers that expressions of a program can have: intervals, from the inputs on.

Halide leaves open what signed integers of 32 bits and more do beyond their ends, and casts of floats beyond those of
an integer; so programs to compare with it must not do that, and neither may what is made of them to make them small.
Floats stay away from infinity, so that there is no NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import product

from language_program import (
    COMPARISONS,
    CONTRARY,
    REDUCTIONS,
    Boundary,
    Domain,
    E,
    Program,
    Stage,
    Update,
    bits,
    domain_of,
)

Interval = tuple[float, float]
COORDINATES = (-8000, 8000)
"""Assumed interval of a Var."""
LARGEST = {"f16": 3e4, "bf16": 1e30, "f32": 1e30, "f64": 1e200}


class Beyond(Exception):
    """A value may leave its type."""


def full(type: str) -> Interval:
    """Return all numbers of a type."""
    if type == "bool":
        return (0, 1)
    if type in LARGEST:
        return (-LARGEST[type], LARGEST[type])
    n = bits(type)
    return (0, (1 << n) - 1) if type[0] == "u" else (-(1 << (n - 1)), (1 << (n - 1)) - 1)


def held(type: str, low: float, high: float) -> Interval:
    """Return an interval after wrapping; raises Beyond if the type does not wrap."""
    first, last = full(type)
    if first <= low and high <= last:
        return (low, high)
    if type in LARGEST or (type[0] == "i" and bits(type) >= 32):
        raise Beyond(f"{low} to {high} in {type}")
    return (first, last)


@dataclass
class Ranges:
    """Intervals of a stage's sources, and of expressions over them."""

    sources: dict[str, tuple[Interval, ...]] = field(default_factory=dict)
    params: dict[str, Interval] = field(default_factory=dict)
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=dict)
    _memo: dict[int, tuple[E, Interval]] = field(default_factory=dict)

    def of(self, e: E) -> Interval:
        """Return the interval of an expression. Raises Beyond."""
        if id(e) not in self._memo:
            self._memo[id(e)] = (e, self._compute(e))
        return self._memo[id(e)][1]

    def forget(self) -> None:
        """Recompute, since a source has changed."""
        self._memo.clear()

    def points(self, domain: Domain) -> int:
        """Return the largest number of points of a domain."""
        return math.prod(max(0, int(self.of(extent)[1])) for _, extent in domain.ranges)

    def sure(self, domain: Domain) -> bool:
        """Whether it has a point for all values of the params."""
        return not domain.where and all(self.of(extent)[0] >= 1 for _, extent in domain.ranges)

    def _compute(self, e: E) -> Interval:
        match e.op:
            case "const" | "literal":
                return (e.data, e.data)
            case "var":
                return COORDINATES
            case "rvar":
                low, extent = (self.of(x) for x in self.domains[e.data[0]].ranges[e.data[1]])
                return (low[0], max(low[1], low[1] + extent[1] - 1))
            case "param":
                return self.params[e.data]
            case "size":
                name, dimension, method = e.data
                size = 0 if method == "min" else self.sizes[name][dimension] - (method == "max")
                return (size, size)
            case "read":
                for a in e.args:
                    self.of(a)
                name, index = e.data
                return self.sources[name][index or 0]
            case "undef":
                return (0, 0)
            case "random":
                return full(e.type) if e.type != "f32" else (0, 1)
        domain = domain_of(e)
        if domain is not None:
            self.domains[domain.name] = domain
            return self._reduction(e, domain)
        return self._operation(e, [self.of(a) for a in e.args])

    def _reduction(self, e: E, domain: Domain) -> Interval:
        for w in domain.where:
            self.of(w)
        low, high = self.of(e.args[0])
        count = self.points(domain)
        if e.op == "sum":
            return held(e.type, min(0, low * count), max(0, high * count))
        if e.op == "product":
            most = max(1.0, abs(low), abs(high))
            if count * math.log2(most) > 900:
                raise Beyond("a product")
            return held(e.type, -(most**count), most**count)
        if not self.sure(domain):
            raise Beyond("an extremum of no points")
        if e.op in CONTRARY and e.data[1] < len(domain.ranges):
            return self._compute(E("rvar", "i32", (), (domain.name, e.data[1])))
        return (low, high)

    def _operation(self, e: E, args: list[Interval]) -> Interval:
        op, type = e.op, e.type
        # both sides go to their common type first
        if op in ("add", "sub", "mul", "div", "mod", "min", "max", "and", "or", "xor"):
            args = [held(type, *a) for a in args]
        if op in COMPARISONS or op in ("is_nan",):
            return (0, 1)
        match op:
            case "cast":
                return self._cast(e.args[0].type, type, *args[0])
            case "saturating_cast":
                first, last = full(type)
                return (min(max(args[0][0], first), last), min(max(args[0][1], first), last))
            case "select":
                return (min(args[1][0], args[2][0]), max(args[1][1], args[2][1]))
            case "clamp":
                low, high = args[1][0], args[2][1]
                return (min(max(args[0][0], low), high), max(min(args[0][1], high), low))
            case "likely" | "strict_float":
                return args[0]
        return held(type, *_combined(op, type, args))

    @staticmethod
    def _cast(old: str, new: str, low: float, high: float) -> Interval:
        first, last = full(new)
        if new in LARGEST:
            slack = 1 + 2.0**-8
            return held(new, low * slack if low < 0 else low / slack, high * slack if high > 0 else high / slack)
        if old in LARGEST:
            low, high = math.trunc(low), math.trunc(high)
            if low < first or last < high:
                raise Beyond("a cast of a float")
        return (low, high) if first <= low and high <= last else (first, last)


def _combined(op: str, type: str, args: list[Interval]) -> Interval:
    """Return the interval of an operation, which may be beyond its type."""
    a = args[0]
    b = args[1] if len(args) > 1 else (0, 0)
    corners = list(product(a, b))
    match op:
        case "add":
            return _rounded(type, a[0] + b[0], a[1] + b[1])
        case "sub":
            return _rounded(type, a[0] - b[1], a[1] - b[0])
        case "neg":
            return (-a[1], -a[0])
        case "mul":
            products = [p * q for p, q in corners]
            return _rounded(type, min(products), max(products))
        case "div":
            return _quotient(type, a, b)
        case "mod":
            if type in LARGEST:
                raise Beyond("mod of floats")
            return (0, max(0, max(abs(b[0]), abs(b[1])) - 1))
        case "min":
            return (min(a[0], b[0]), min(a[1], b[1]))
        case "max":
            return (max(a[0], b[0]), max(a[1], b[1]))
        case "abs":
            return (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1])), max(abs(a[0]), abs(a[1])))
        case "and" if min(a[0], b[0]) >= 0:
            return (0, min(a[1], b[1]))
        case "and" if b[0] >= 0:
            return (0, b[1])
        case "shr":
            return (min(a[0], 0), max(a[1], 0))
        case "floor" | "ceil" | "round" | "trunc":
            return (math.floor(a[0]), math.ceil(a[1]))
        case "sqrt" if a[0] >= 0:
            return (0, max(1.0, a[1]))
        case "fract":
            return (-1, 1)
        case "sqrt":
            raise Beyond("a root of a negative number")
        case "exp" | "log" | "sin" | "cos" | "tanh" | "erf":
            return (-1e4, 1e4)
    if type in LARGEST:
        raise Beyond(op)
    return full(type)


def _rounded(type: str, low: float, high: float) -> Interval:
    if type not in LARGEST:
        return (low, high)
    slack = 2.0**-8
    return (low - abs(low) * slack, high + abs(high) * slack)


def _quotient(type: str, a: Interval, b: Interval) -> Interval:
    most = max(abs(a[0]), abs(a[1]))
    if type in LARGEST:
        if b[0] <= 0 <= b[1]:
            raise Beyond("a division by zero")
        return _rounded(type, -most / min(abs(b[0]), abs(b[1])), most / min(abs(b[0]), abs(b[1])))
    if type[0] == "u":
        return (0, a[1])
    return (-most, most)


def add_stage(ranges: Ranges, stage: Stage | Boundary) -> None:
    """Take a stage among the sources. Raises Beyond."""
    if isinstance(stage, Boundary):
        held_by = ranges.sources[stage.source]
        if stage.exterior is not None:
            low, high = ranges.of(stage.exterior)
            held_by = tuple((min(low, a), max(high, b)) for a, b in held_by)
        ranges.sources[stage.name] = held_by
        return
    ranges.sources[stage.name] = tuple(ranges.of(v) for v in stage.values)
    for update in stage.updates:
        add_update(ranges, stage, update)


def add_update(ranges: Ranges, stage: Stage, update: Update) -> None:
    """Widen the interval of a stage by the values of an update. Raises Beyond."""
    if update.domain is not None:
        ranges.domains[update.domain.name] = update.domain
    for _ in range(3):
        before = ranges.sources[stage.name]
        ranges.forget()
        for e in (*update.place, *(update.domain.where if update.domain else ())):
            ranges.of(e)
        made = tuple(
            _written(ranges, update, ranges.of(v), old, start.type)
            for v, old, start in zip(update.values, before, stage.values, strict=True)
        )
        if update.op != "=" and all(_without(v, stage.name) for v in update.values):
            ranges.sources[stage.name] = made
            ranges.forget()
            return
        ranges.sources[stage.name] = tuple(
            (min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(before, made, strict=True)
        )
        if ranges.sources[stage.name] == before:
            ranges.forget()
            return
    raise Beyond(f"an update of {stage.name} that grows without end")


def _without(e: E, name: str) -> bool:
    from language_program import walk

    return not any(x.op == "read" and x.data[0] == name for x in walk(e))


def _written(ranges: Ranges, update: Update, value: Interval, old: Interval, type: str) -> Interval:
    low, high = value
    if update.op == "=":
        return held(type, low, high)
    count = ranges.points(update.domain) if update.domain is not None else 1
    if update.op == "*=":
        most = max(1.0, abs(low), abs(high))
        if count * math.log2(most) > 900:
            raise Beyond("a product")
        far = max(abs(old[0]), abs(old[1])) * most**count
        return held(type, -far, far)
    if update.op == "-=":
        low, high = -high, -low
    slack = 1 + count * 2.0**-8 if type in LARGEST else 1
    return held(type, old[0] + min(0, low * count) * slack, old[1] + max(0, high * count) * slack)


def ranges_of(program: Program) -> Ranges:
    """Return intervals of all stages of a program. Raises Beyond if a value may leave its type."""
    ranges = Ranges()
    for i in program.inputs:
        ranges.sources[i.name] = ((i.low, i.high),)
        ranges.sizes[i.name] = i.extents
    for p in program.params:
        ranges.params[p.name] = (min(p.values), max(p.values))
    for stage in program.stages:
        add_stage(ranges, stage)
    return ranges


__all__ = ["REDUCTIONS", "Beyond", "Ranges", "add_stage", "add_update", "full", "ranges_of"]
