"""Random expressions of a type, over the coordinates of a stage or an update, that stay within their types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from language_program import FLOATS, INTEGERS, E, binary, bits, cast, const, literal
from language_ranges import Beyond, full

if TYPE_CHECKING:
    from random_language import Drawer, Source

EXPRESSION_TYPES = (*INTEGERS, "f32", "f64", "f16", "bool")
_FUNCTIONS = ("exp", "sin", "cos", "tanh", "erf", "log")


@dataclass(frozen=True)
class Scope:
    """Coordinates that an expression may use."""

    coordinates: tuple[E, ...]


class Values:
    """Draws expressions for a program that is being drawn."""

    def __init__(self, drawer: Drawer):
        self.drawer = drawer
        self.rng = drawer.rng
        self.ranges = drawer.ranges

    def value(self, type: str, scope: Scope, depth: int) -> E:
        """Return a value of a type, of about `depth` levels of operations."""
        if depth <= 0:
            return self._leaf(type, scope)
        rng = self.rng
        draw = rng.random()
        if draw < 0.55:
            return self.joined(type, self.value(type, scope, depth - 1), self.value(type, scope, rng.randrange(depth)))
        if draw < 0.67:
            return self._unary(type, self.value(type, scope, depth - 1))
        if draw < 0.78:
            a, b = (self.value(type, scope, rng.randrange(depth)) for _ in range(2))
            return E("select", type, (self.condition(scope, depth - 1), a, b))
        if draw < 0.86 and all(c.op == "var" for c in scope.coordinates):
            return self._reduction(type, scope)
        other = rng.choice(EXPRESSION_TYPES)
        return self.converted(self.value(other, scope, depth - 1), type)

    def condition(self, scope: Scope, depth: int) -> E:
        """Return a bool: a comparison of values or coordinates, or several."""
        rng = self.rng
        if depth > 0 and rng.random() < 0.35:
            a, b = (self.condition(scope, depth - 1) for _ in range(2))
            return binary(rng.choice(["and", "or", "xor"]), a, b) if rng.random() < 0.8 else E("not", "bool", (a,))
        compare = rng.choice(["eq", "ne", "lt", "le", "gt", "ge"])
        if scope.coordinates and rng.random() < 0.45:
            a = self._offset(rng.choice(scope.coordinates))
            if rng.random() < 0.4:
                return binary(compare, binary("mod", a, literal(rng.choice([2, 3]))), literal(rng.choice([0, 1])))
            b = rng.choice(scope.coordinates) if rng.random() < 0.5 else literal(rng.randint(-1, 9))
            return binary(compare, a, b)
        type = rng.choice(("u8", "u8", "i32", "u16", "f32", "i16", "u64"))
        a = self.value(type, scope, min(depth, 1))
        return binary(compare, a, self._constant(type) if rng.random() < 0.6 else self.value(type, scope, 0))

    def small_integer(self, scope: Scope) -> E:
        """Return an i32 computed from data, to be clamped to an index."""
        rng = self.rng
        type = rng.choice(("u8", "u8", "i32", "u16", "i16", "f32", "u32"))
        value = self.value(type, scope, rng.choice([0, 0, 1]))
        if type == "f32" and rng.random() < 0.5:
            value = E("floor", type, (value,))
        return self.converted(value, "i32")

    # --- keeping within types

    def fits(self, e: E) -> bool:
        """Whether an expression stays within its types."""
        try:
            self.ranges.of(e)
        except Beyond:
            return False
        return True

    def tamed(self, e: E, most: int) -> E:
        """Return `e`, or something made of it, of no more than `most` in magnitude."""
        if e.type == "bool":
            return e
        most = min(most, 1023) if e.type == "f16" else min(most, int(full(e.type)[1]))
        low, high = self.ranges.of(e)
        if -most <= low and high <= most:
            return e
        if e.type in FLOATS:
            return E("clamp", e.type, (e, const(e.type, float(-most)), const(e.type, float(most))))
        way = self.rng.random()
        if way < 0.6:
            return binary("and", e, const(e.type, most))
        if way < 0.8:
            return binary("mod", e, const(e.type, most))
        lowest = 0 if e.type[0] == "u" else -most
        return E("clamp", e.type, (e, const(e.type, lowest), const(e.type, most)))

    def _safe(self, make: Callable[..., E], *args: E) -> E:
        """Return an operation on values, which are made small if it could leave its type."""
        e = make(*args)
        for most in (1023, 31, 3):
            if self.fits(e):
                return e
            e = make(*(self.tamed(a, most) if a.type != "bool" else a for a in args))
        return e if self.fits(e) else args[0]

    def converted(self, e: E, type: str) -> E:
        """Return `e` as another type."""
        rng, old = self.rng, e.type
        if old == type:
            return e
        if type == "bool":
            return binary("ne", e, const(old, 0.0 if old in FLOATS else 0))
        if old == "bool":
            return cast(type, e)
        if not {"f16", "bf16"}.isdisjoint((old, type)) and "f32" not in (old, type):
            return self.converted(self.converted(e, "f32"), type)  # the wheel lacks other casts of f16
        if old == "bf16":
            return cast(type, e)
        if type in FLOATS:
            return self._safe(lambda a: cast(type, a), e)
        if old in FLOATS:
            first, last = full(type)
            first, last = max(first, -1000), min(last, 1000)
            clamped = E("clamp", old, (e, const(old, float(first)), const(old, float(last))))
            return cast(type, clamped)
        if self.drawer.wheel and type == "u64" and e.op == "cast" and e.args[0].type in FLOATS:
            # the wheel makes one cast of these two, which some processors take to be 2**64 - 1 of what is negative
            e = binary("max", e, const(old, 0))
        # of 64 bits the wheel makes -1 of clamp(i32(u32_sat(pixel)), 0, 1) behind a boundary
        if rng.random() < 0.2 and not (self.drawer.wheel and bits(old) == 64):
            return E("saturating_cast", type, (e,))
        return cast(type, e)

    # --- operations

    def joined(self, type: str, a: E, b: E, ops: Sequence[str] = ()) -> E:
        """Return an operation on two values of a type."""
        rng = self.rng
        if type == "bool":
            return binary(rng.choice(["and", "or", "xor"]), a, b)
        if not ops and type in INTEGERS and rng.random() < 0.12:
            return self._fixed_point(type, a, b)
        usual = ("add", "add", "sub", "mul", "min", "max")
        more = ("div", "add") if type in FLOATS else ("and", "or", "xor", "div", "mod", "absd", "shl", "shr")
        op = rng.choice(list(ops) or [*usual, *more])
        if type not in INTEGERS and op in ("xor", "halving_add"):
            op = "min"
        if op in ("shl", "shr"):
            return self._shifted(type, op, a, b)
        if op == "absd":
            unsigned = "u" + type[1:]
            return self._safe(lambda p, q: cast(type, E("absd", unsigned, (p, q))), a, b)
        if op == "div" and type in FLOATS:
            one = const(type, 1.0)
            return self._safe(lambda p, q: binary("div", p, binary("add", E("abs", type, (q,)), one)), a, b)
        if not ops and rng.random() < 0.15 and op in ("add", "sub", "mul", "div", "mod"):
            b = literal(rng.choice([1, 2, 3, 7, 100]))
            return self._safe(lambda p: binary(op, p, b), a)
        return self._safe(lambda p, q: binary(op, p, q), a, b)

    def _shifted(self, type: str, op: str, a: E, b: E) -> E:
        rng = self.rng
        if op == "shl" and type[0] == "i":
            op = "shr"
        if rng.random() < 0.5:
            return binary(op, a, const(type, rng.randrange(bits(type))))
        return binary(op, a, binary("and", b, const(type, bits(type) - 1)))

    def _fixed_point(self, type: str, a: E, b: E) -> E:
        rng = self.rng
        usual = ["saturating_add", "saturating_sub", "halving_add", "rounding_halving_add"]
        wider = type[0] + str(2 * bits(type))
        if bits(type) <= 32 and rng.random() < 0.4:
            op = rng.choice(["widening_add", "widening_mul"])
            return self._safe(lambda p, q: self.converted(E(op, wider, (p, q)), type), a, b)
        if bits(type) <= 32 and rng.random() < 0.3:
            shift = const("u" + type[1:], rng.randrange(bits(type)))
            op = rng.choice(["mul_shift_right", "rounding_mul_shift_right"])
            return self._safe(lambda p, q: E(op, type, (p, q, shift)), a, b)
        op = rng.choice(usual)
        return self._safe(lambda p, q: E(op, type, (p, q)), a, b)

    def _unary(self, type: str, a: E) -> E:
        rng = self.rng
        if type == "bool":
            return E("not", type, (a,))
        if type in FLOATS:
            op = rng.choice(["floor", "ceil", "round", "trunc", "abs", "sqrt", "neg", "bf16"])
            if op == "bf16":
                return self._safe(lambda p: cast(type, cast("f32", cast("bf16", cast("f32", p)))), a)
            if op == "sqrt":
                a = E("abs", type, (a,))
            return self._safe(lambda p: E(op, type, (p,)), a)
        op = rng.choice(["not", "abs", "popcount", "count_leading_zeros", "count_trailing_zeros", "neg", "likely"])
        if op == "abs":
            return self._safe(lambda p: cast(type, E("abs", "u" + type[1:], (p,))), a) if type[0] == "i" else a
        if op.startswith("count"):
            return E(op, type, (binary("or", a, const(type, 1)),))
        return self._safe(lambda p: E(op, type, (p,)), a)

    def function(self, e: E) -> E:
        """Return a function of `math.h` of a value, which is as exact as the bound says."""
        op = self.rng.choice(_FUNCTIONS)
        low = 0.25 if op == "log" else -4.0
        return E(op, e.type, (E("clamp", e.type, (e, const(e.type, low), const(e.type, 4.0))),))

    def _reduction(self, type: str, scope: Scope) -> E:
        """Return a sum or an extremum within an expression."""
        rng, drawer = self.rng, self.drawer
        op = rng.choice(["sum", "sum", "sum", "maximum", "minimum", "product", "argmin", "argmax"])
        ranges = tuple(
            (literal(rng.randint(-2, 1)), literal(rng.choice([1, 2, 3, 3, 4, 5, 9])))
            for _ in range(rng.choice([1, 1, 2]))
        )
        domain = drawer._new_domain(ranges)
        rvars = tuple(E("rvar", "i32", (), (domain.name, d)) for d in range(len(ranges)))
        inner = Scope((*scope.coordinates, *rvars))
        if type == "bool":
            return self._leaf(type, scope)
        # one that depends on the domain: of others Halide takes one term
        source = rng.choice(drawer.sources)
        body = self.tamed(self.read_at(source, self.near(source, inner, rvars), type), 7 if op == "product" else 255)
        if not any(x.op == "rvar" for x in _inside(body)):
            body = self.joined(type, body, self.converted(rng.choice(rvars), type), ops=("add", "max"))
            body = self.tamed(body, 7 if op == "product" else 255)
        if op in ("argmin", "argmax"):
            component = rng.randrange(len(ranges) + 1)
            e = E(op, type if component == len(ranges) else "i32", (body,), (domain, component))
            return self.converted(e, type) if self.fits(e) else body
        e = E(op, type, (body,), domain)
        return e if self.fits(e) else self._leaf(type, scope)

    # --- leaves

    def _leaf(self, type: str, scope: Scope) -> E:
        rng = self.rng
        draw = rng.random()
        if draw < 0.03 and not self.drawer.wheel:  # which has other numbers
            kind = rng.choice(["u32", "i32", "f32"])
            return self.converted(E("random", kind, (), rng.randrange(9)), type)
        if draw < 0.14:
            return self._constant(type)
        if draw < 0.28 and scope.coordinates:
            return self.converted(self._offset(rng.choice(scope.coordinates)), type)
        if draw < 0.36 and self.drawer.params:
            p = rng.choice(self.drawer.params)
            return self.converted(E("param", p.type, (), p.name), type)
        alike = [s for s in self.drawer.sources if type in s.types]
        source = rng.choice(alike if alike and rng.random() < 0.5 else self.drawer.sources[-6:])
        return self.read_at(source, self.near(source, scope), type)

    def _constant(self, type: str) -> E:
        rng = self.rng
        if type == "bool":
            return const(type, rng.randrange(2))
        if type in FLOATS:
            return const(type, rng.choice([0.0, 1.0, -1.0, 0.5, 0.125, 2.75, -3.25, 100.0]))
        first, last = full(type)
        if rng.random() < 0.25:
            return const(type, int(rng.choice([first, last, last - 1, last // 2, first + 1])))
        return const(type, rng.choice([0, 1, 2, 3, 5, 8, 31, 100]))

    def _offset(self, coordinate: E) -> E:
        rng = self.rng
        if rng.random() < 0.5:
            return coordinate
        return binary("add", coordinate, literal(rng.randint(-2, 5)))

    def read_at(self, source: Source, index: Sequence[E | None], type: str) -> E:
        """Return the value of a source at an index, or as much of it as the source has dimensions, as a type."""
        rng = self.rng
        k = rng.randrange(len(source.types))
        full_index = [(index[d] if d < len(index) else None) or literal(0) for d in range(source.rank)]
        if source.input is not None:
            full_index = [self._clamped(source, d, e) for d, e in enumerate(full_index)]
        place = (source.name, k if len(source.types) > 1 else None)
        return self.converted(E("read", source.types[k], tuple(full_index), place), type)

    def _clamped(self, source: Source, d: int, e: E) -> E:
        if e.op == "literal":
            return literal(min(max(e.data, 0), source.extents[d] - 1))
        last: E = literal(source.extents[d] - 1)
        if self.rng.random() < 0.6:
            last = binary("sub", E("size", "i32", (), (source.input, d, "extent")), literal(1))
        return E("clamp", "i32", (e, literal(0), last))

    def near(self, source: Source, scope: Scope, prefer: Sequence[E] = ()) -> list[E]:
        """Return an index: the coordinates in order, moved, doubled, halved, mirrored, mixed, fixed, or from data."""
        rng, coordinates = self.rng, scope.coordinates
        shuffled = rng.random() < 0.15
        zoom = rng.random() < 0.08 and self.drawer.zooms > 0
        self.drawer.zooms -= zoom
        index: list[E] = []
        for d in range(source.rank):
            if not coordinates:
                index.append(literal(rng.randint(0, 3)))
                continue
            c = coordinates[d] if d < len(coordinates) and not shuffled else rng.choice(coordinates)
            if prefer and rng.random() < 0.7:
                c = binary("add", c, rng.choice(prefer)) if rng.random() < 0.6 else rng.choice(prefer)
            draw = rng.random()
            if zoom:
                c = binary("add", binary("mul", c, literal(2)), literal(rng.randint(-1, 1)))
            elif draw < 0.3:
                c = binary("add", c, literal(rng.choice([-2, -1, 1, 2, 3])))
            elif draw < 0.36:
                c = binary("div", binary("add", c, literal(rng.randint(0, 2))), literal(rng.choice([2, 2, 3])))
            elif draw < 0.4:
                c = binary("mod", c, literal(rng.choice([2, 3, 4])))
            elif draw < 0.44:
                c = binary("sub", literal(rng.choice([0, 4, source.extents[d] - 1])), c)
            elif draw < 0.48:
                c = literal(rng.randint(0, 2))
            elif draw < 0.55 and self.drawer.gathers > 0:
                self.drawer.gathers -= 1
                high = literal(max(0, source.extents[d] - 1))
                c = E("clamp", "i32", (self.small_integer(scope), literal(0), high))
            index.append(c)
        return index


def _inside(e: E) -> list[E]:
    from language_program import walk

    return list(walk(e))
