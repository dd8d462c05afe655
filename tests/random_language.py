"""Random programs of the whole language: the `Program` of a seed.

Functions of 0 to 6 dimensions of all types, updates with domains of constant, symbolic and empty extents, with `where`,
scatters, scans, tuples, gathers, inline reductions, pyramids, polyphase reads, boundaries, params, several outputs.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from language_cost import cost
from language_program import (
    FLOATS,
    INTEGERS,
    SIGNED,
    UNSIGNED,
    Boundary,
    Domain,
    E,
    Input,
    Output,
    Param,
    Program,
    Stage,
    Update,
    binary,
    cast,
    const,
    literal,
    rvar,
    var,
)
from language_ranges import Beyond, Ranges, add_stage, add_update, full
from random_language_values import Scope, Values

NAMES = "xyzwvu"
TYPES = ("u8", "u8", "u8", "u16", "u16", "i32", "i32", "i32", "u32", "i16", "i8", "u64", "i64", "f32", "f32", "f64",
         "f16", "bool")  # fmt: skip
MOST_POINTS = 1500
"""Of an output, about."""
MOST_COST = 300_000
"""Points of all stages that are computed."""
MOST_STEPS = 600
"""Points of a domain, about."""
KINDS = ("repeat_edge", "repeat_image", "mirror_image", "mirror_interior", "constant_exterior")


@dataclass
class Source:
    """Sources of a stage's reads, with their ranges and types."""

    name: str
    types: tuple[str, ...]
    rank: int
    extents: tuple[int, ...]
    """Of the picture; of a stage those of the output that it would be."""
    input: str | None = None
    """For an input read as it is: indices are clamped."""


def random_language(seed: int | str, *, wheel: bool = False) -> Program:
    """Return the program of a seed: the first drawn that is not too large.

    `wheel`: without what Halide 21 computes wrong. Of a tuple's update it writes a value before it computes the next,
    if that has an intrinsic in it (as & | ^ abs popcount); so values then read only those not written before them.
    """
    for attempt in itertools.count():
        drawer = Drawer(Random(f"{seed} {attempt}"), wheel, Random(f"diagonals {seed} {attempt}"))
        drawer.rarely = Random(f"rarely {seed} {attempt}")
        program = drawer.program()
        with contextlib.suppress(Beyond):  # an index may leave its type in the box that is computed
            if cost(program, drawer.ranges) <= MOST_COST:
                return program
    raise AssertionError


class Drawer:
    """Draws the parts of one program, each from those before it."""

    def __init__(self, rng: Random, wheel: bool, diagonals: Random):
        self.rng = rng
        self.diagonals = diagonals
        """Of which updates write at one coordinate twice: by itself, so that other programs stay what they were."""
        self.rarely = diagonals
        """Of whether a stage is of a kind that few programs have: by itself, too."""
        self.wheel = wheel
        self.ranges = Ranges()
        self.inputs: list[Input] = []
        self.params: list[Param] = []
        self.stages: list[Stage | Boundary] = []
        self.sources: list[Source] = []
        self.domains = 0
        self.values = Values(self)
        self.gathers = 6
        """Remaining number of indices that may come from data; each may nest others."""
        self.extents_of: dict[str, tuple[int, ...]] = {}
        self.rough: set[str] = set()
        """Stages that are compared within a bound, and not read."""
        self.narrow: set[str] = set()
        """Stages of bf16, of which NumPy and the wheel have no arrays: they are no outputs."""
        self.zooms = 2
        """Remaining number of stages that may read at 2*x: each doubles the points of its sources, per dimension."""

    def program(self) -> Program:
        rng = self.rng
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            self.input()
        for _ in range(rng.choice([0, 1, 1, 2])):
            self.param()
        for _ in range(rng.choice([1, 2, 2, 3, 3, 4, 5])):
            self.some_stage()
        if self.stages[-1].name in self.narrow:
            self.widened()
        made = [s for s in self.stages if isinstance(s, Stage) and s.name not in self.narrow]
        chosen = [made[-1], *(s for s in made[:-1] if s.name in self.rough or rng.random() < 0.2)][:4]
        outputs = tuple(self.output(s) for s in chosen)
        return Program(tuple(self.inputs), tuple(self.params), tuple(self.stages), outputs)

    # --- what there is at first

    def extents(self, rank: int, most: int = MOST_POINTS) -> tuple[int, ...]:
        """Tiny ones, and often a long one; the product is bounded."""
        rng = self.rng
        if rank == 0:
            return ()
        usual = [1, 2, 3, 4, 5, 7, 9] if rank > 2 else [1, 2, 3, 5, 8, 9, 13, 16, 17, 31, 33]
        found = [rng.choice(usual) for _ in range(rank)]
        if rng.random() < 0.3:
            found[rng.randrange(min(rank, 2))] = rng.choice([33, 64, 100, 130, 257])
        while math.prod(found) > most:
            d = rng.randrange(rank)
            found[d] = max(1, found[d] // 2)
        return tuple(found)

    def input(self) -> None:
        rng = self.rng
        name, rank = f"in{len(self.inputs)}", rng.choice([1, 2, 2, 2, 3, 3, 4])
        type = rng.choice([t for t in TYPES if t != "f16"])
        low, high = full(type)
        if type in FLOATS:
            low, high = -16, 16
        elif type in ("i32", "i64", "u64", "u32") and rng.random() < 0.7:
            low, high = max(low, rng.choice([-9, -1000])), rng.choice([9, 1000])
        made = Input(name, type, self.extents(rank, 900), low, high)
        self.inputs.append(made)
        self.ranges.sources[name] = ((low, high),)
        self.ranges.sizes[name] = made.extents
        self.sources.append(Source(name, (type,), rank, made.extents, input=name))
        if rng.random() < 0.6:
            self.boundary(self.sources[-1])

    def param(self) -> None:
        rng = self.rng
        name, type = f"p{len(self.params)}", rng.choice(["i32", "i32", "i32", "u8", "f32", "i16", "u32", "f64"])
        draw: Callable[[], float] = lambda: rng.randint(0, 6) if rng.random() < 0.8 else rng.randint(-2, 9)  # noqa: E731
        if type[0] == "f":
            draw = lambda: rng.choice([0.5, -1.25, 3.0, 0.8125])  # noqa: E731
        elif type[0] == "u":
            draw = lambda: rng.choice([0, 1, 2, 3, 5, 200])  # noqa: E731
        made = Param(name, type, (draw(), draw()))
        self.params.append(made)
        self.ranges.params[name] = (min(made.values), max(made.values))

    def boundary(self, source: Source) -> None:
        rng = self.rng
        kind = rng.choice(KINDS)
        exterior = None
        if kind == "constant_exterior":
            numbers = [p for p in self.params if p.type == source.types[0]]
            exterior = const(source.types[0], rng.choice([0, 1, 1]))
            if numbers and rng.random() < 0.3:
                exterior = E("param", numbers[0].type, (), numbers[0].name)
        box: tuple[tuple[E, E] | None, ...] | None = None
        if source.input is None:
            box = tuple((literal(rng.choice([0, 0, -1, 2])), literal(max(1, n))) for n in source.extents)
        name = f"b{len(self.stages)}"
        made = Boundary(name, kind, source.name, box, exterior)
        add_stage(self.ranges, made)
        self.stages.append(made)
        self.sources.append(Source(name, source.types, source.rank, source.extents))

    def output(self, stage: Stage) -> Output:
        rank = len(stage.vars)
        mins = tuple(self.rng.choice([0, 0, 0, -2, 3]) for _ in range(rank)) if self.rng.random() < 0.3 else (0,) * rank
        return Output(stage.name, mins, self.extents_of[stage.name], len(stage.values), stage.ulps)

    # --- stages

    def some_stage(self) -> None:
        rng = self.rng
        rare = self.rarely.random()
        if rare < 0.08:
            (self.brain_floats if rare < 0.04 else self.products_of_tuples)()
            return
        draw = rng.random()
        if draw < 0.1:
            self.pyramid()
            return
        if draw < 0.3:
            self.well_known()
        else:
            self.stage(updates=0 if draw < 0.55 else rng.choice([1, 1, 2, 3]))
        last = self.sources[-1]
        if last.name == self.stages[-1].name and last.rank and len(last.types) == 1 and rng.random() < 0.12:
            self.boundary(last)

    def add(self, stage: Stage, extents: tuple[int, ...]) -> None:
        self.stages.append(stage)
        self.extents_of[stage.name] = extents
        if stage.ulps:
            self.rough.add(stage.name)
            return
        types = tuple(v.type for v in stage.values)
        self.sources.append(Source(stage.name, types, len(stage.vars), extents))

    def stage(self, updates: int) -> None:
        """Draw a function with a value of its possible sources, and perhaps updates of it."""
        rng = self.rng
        name = f"f{len(self.stages)}"
        rank = rng.choice([1, 1, 2, 2, 2, 2, 3, 3, 4, 5, 6]) if rng.random() > 0.04 else 0
        types = [rng.choice(TYPES) for _ in range(rng.choice([1, 1, 1, 1, 2, 3]))]
        scope = Scope(tuple(var(n) for n in NAMES[:rank]))
        extents = self.extents(rank, MOST_POINTS if not updates else 600)
        depth = rng.choice([1, 2, 3]) if not updates else rng.choice([0, 1, 2])
        values = tuple(self.values.value(t, scope, depth) for t in types)
        rough = not updates and types[0] in ("f32", "f64") and len(types) == 1 and rng.random() < 0.3
        if rough:
            values = (self.values.function(values[0]),)
        made = Stage(name, tuple(NAMES[:rank]), values, ulps=64 if rough else 0)
        add_stage(self.ranges, made)
        for _ in range(updates):
            made = self.updated(made, extents)
        self.add(made, extents)

    def updated(self, stage: Stage, extents: tuple[int, ...]) -> Stage:
        """Return the stage with one more update, if one can be found that keeps values in their types."""
        for tame in (False, True, True):
            before = self.ranges.sources[stage.name]
            update = self.update(stage, extents, tame)
            try:
                add_update(self.ranges, stage, update)
            except Beyond:
                self.ranges.sources[stage.name] = before
                self.ranges.forget()
                continue
            return replace(stage, updates=(*stage.updates, update))
        return stage

    def update(self, stage: Stage, extents: tuple[int, ...], tame: bool) -> Update:
        rng = self.rng
        domain = self.domain(extents) if rng.random() < 0.92 else None
        rvars = domain_vars(domain)
        place, beside = self.places(stage, rvars, extents)
        pure = [p for p, name in zip(place, stage.vars, strict=True) if p == var(name)]
        scope = Scope((*pure, *rvars))
        place = [self.scattered(scope, n, stage) if p is None else p for p, n in zip(place, extents, strict=True)]
        if domain is not None and rng.random() < 0.35:
            domain = replace(domain, where=tuple(self.values.condition(scope, 1) for _ in range(rng.choice([1, 1, 2]))))
            self.ranges.domains[domain.name] = domain
        types = [v.type for v in stage.values]
        if len(types) == 1 and types[0] != "bool" and rng.random() < 0.4:
            value = self.values.value(types[0], scope, rng.choice([0, 1, 1, 2]))
            if tame:
                value = self.values.tamed(value, 9)
            return Update(tuple(place), (value,), domain, rng.choice(["+=", "+=", "+=", "-=", "*="]))
        old = [E("read", t, tuple(place), (stage.name, k if len(types) > 1 else None)) for k, t in enumerate(types)]
        other = [E("read", t, tuple(beside), (stage.name, k if len(types) > 1 else None)) for k, t in enumerate(types)]
        values = [self.new_value(t, scope, old[k], other[k if self.wheel else 0 :], tame) for k, t in enumerate(types)]
        if len(types) == 1 and rng.random() < 0.08:
            values = [E("select", types[0], (self.values.condition(scope, 1), values[0], E("undef", types[0])))]
        return Update(tuple(place), tuple(values), domain)

    def new_value(self, type: str, scope: Scope, old: E, other: list[E], tame: bool) -> E:
        """Draw the value of an update: a term, often combined with the old value, or a neighbour's."""
        rng, values = self.rng, self.values
        term = values.value(type, scope, rng.choice([0, 1, 1, 2]))
        if rng.random() < 0.5:
            beside = values.converted(rng.choice(other), type)
            term = values.joined(type, term, beside)
        if rng.random() < 0.7:
            term = values.joined(type, old, term)
        if type in ("i32", "i64", *FLOATS) and (tame or rng.random() < 0.8):
            return values.tamed(term, 1023)
        return term

    def places(self, stage: Stage, rvars: Sequence[E], extents: tuple[int, ...]) -> tuple[list[E | None], list[E]]:
        """Draw the points that an update writes (None: data-dependent), and the points of itself that it may read."""
        rng = self.rng
        place: list[E | None] = []
        beside: list[E] = []
        for name, n in zip(stage.vars, extents, strict=True):
            way = rng.choice(["pure", "pure", "scan", "scan", "scatter", "constant", "mirrored", "twice"])
            r = rng.choice(list(rvars)) if rvars else literal(rng.randrange(n))
            off = literal(rng.randint(-2, 1))
            ways: dict[str, E | None] = {
                "pure": var(name), "scan": binary("add", r, off) if rng.random() < 0.4 else r, "scatter": None,
                "constant": literal(rng.randint(0, n - 1)), "mirrored": binary("sub", literal(n - 1), r),
                "twice": binary("add", binary("mul", r, literal(2)), off),
            }  # fmt: skip
            if not rvars and way in ("scan", "mirrored", "twice"):
                way = "constant"
            place.append(ways[way])
            beside.append(
                var(name) if way == "pure"
                else binary("add", r, literal(rng.randint(-2, 0))) if rvars and rng.random() < 0.7
                else literal(rng.randint(-1, n))
            )  # fmt: skip
        if len(place) > 1 and self.diagonals.random() < 0.08:
            first, second = sorted(self.diagonals.sample(range(len(place)), 2))
            # beside it, too: a Var that stands nowhere on the left cannot be read
            place[second], beside[second] = place[first], beside[first]
        return place, beside

    def scattered(self, scope: Scope, extent: int, stage: Stage | None = None) -> E:
        """Return a data-dependent position within a picture."""
        rng = self.rng
        value = self.values.small_integer(scope)
        if (
            stage is not None
            and scope.coordinates
            and rng.random() < 0.1
            and all(c.op == "rvar" for c in scope.coordinates)
        ):
            # where the function itself says
            at = tuple(rng.choice(scope.coordinates) for _ in stage.vars)
            own = E("read", stage.values[0].type, at, (stage.name, 0 if len(stage.values) > 1 else None))
            value = self.values.converted(own, "i32")
        if rng.random() < 0.3:
            value = self.values.joined("i32", value, literal(rng.choice([2, 7, 32])), ops=("div",))
        way = rng.random()
        if way < 0.7:
            return E("clamp", "i32", (value, literal(rng.choice([0, 0, -1])), literal(extent - 1)))
        return binary("mod", value, literal(extent))

    def domain(self, extents: Sequence[int]) -> Domain:
        """Often as long as a picture; the points of it are bounded."""
        rng = self.rng
        name = f"r{self.domains}"
        self.domains += 1
        if rng.random() < 0.15:
            over = rng.choice(self.inputs)
            if math.prod(over.extents) <= 2 * MOST_STEPS:
                ranges = tuple((literal(0), literal(n)) for n in over.extents)
                made = Domain(name, ranges, (), over.name)
                self.ranges.domains[name] = made
                return made
        made = Domain(name, tuple(self.range(extents) for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4]))))
        while self.ranges.points(made) > MOST_STEPS:
            kept = list(made.ranges)
            kept[rng.randrange(len(kept))] = (literal(rng.randint(-1, 2)), literal(rng.randint(0, 3)))
            made = Domain(name, tuple(kept))
        self.ranges.domains[name] = made
        return made

    def range(self, extents: Sequence[int]) -> tuple[E, E]:
        """Return (min, extent) of one dimension: numbers, sizes, params."""
        rng = self.rng
        draw = rng.random()
        low = literal(rng.randint(-1, 2))
        if draw < 0.35:
            return (low, literal(rng.choice([0, 1, 1, 2, 3, 3, 4, 5])))
        if draw < 0.65 and extents:
            n = rng.choice(list(extents))
            start = rng.choice([0, 0, 1])
            return (literal(start), literal(max(0, n - start)))
        if draw < 0.85 and self.inputs:
            i = rng.choice(self.inputs)
            d = rng.randrange(len(i.extents))
            size = E("size", "i32", (), (i.name, d, rng.choice(["extent", "extent", "max", *(["side"] * (d < 2))])))
            return (low, size if rng.random() < 0.6 else binary("sub", size, literal(rng.randint(1, 4))))
        whole = [p for p in self.params if p.type in INTEGERS]
        if whole:
            p = rng.choice(whole)
            value = cast("i32", E("param", p.type, (), p.name))
            if rng.random() < 0.4:
                value = binary("min", value, literal(4))
            return (low, value) if rng.random() < 0.7 else (value, literal(rng.randint(0, 4)))
        return (low, literal(rng.randint(1, 4)))

    # --- what people write

    def pyramid(self) -> None:
        """Draw pyramid levels of half the size in some dimensions, and back up, each combined with its source."""
        rng = self.rng
        rank = rng.choice([1, 2, 2, 3])
        type = rng.choice(["u8", "u16", "i32", "f32"])
        scope = Scope(tuple(var(n) for n in NAMES[:rank]))
        extents = self.extents(rank, 400)
        halved = [d for d in range(rank) if rng.random() < 0.7] or [0]
        levels = rng.choice([1, 2, 2, 3])
        start = self.values.tamed(self.values.value(type, scope, 1), 1023)
        names = [self._level(Stage(self._name(), tuple(NAMES[:rank]), (start,)), extents)]
        for _ in range(levels):
            two = [self._at(names[-1], type, [self._down(d, d in halved, k) for d in range(rank)]) for k in (0, 1)]
            value = self.values.joined(type, *two, ops=("max", "min", "halving_add" if type == "u8" else "max"))
            names.append(self._level(Stage(self._name(), tuple(NAMES[:rank]), (value,)), extents))
        up = names[-1]
        for finer in reversed(names[:-1]):
            index = [binary("div", var(NAMES[d]), literal(2)) if d in halved else var(NAMES[d]) for d in range(rank)]
            if rng.random() < 0.5:
                parity = binary("mod", var(NAMES[halved[0]]), literal(2))
                index[halved[0]] = binary("add", index[halved[0]], parity)
            joined = self.values.joined(
                type,
                self._at(up, type, index),
                self._at(finer, type, list(scope.coordinates)),
                ops=("max", "min", "xor"),
            )
            up = self._level(Stage(self._name(), tuple(NAMES[:rank]), (joined,)), extents)

    def _name(self) -> str:
        return f"f{len(self.stages)}"

    def _level(self, stage: Stage, extents: tuple[int, ...]) -> str:
        add_stage(self.ranges, stage)
        self.add(stage, extents)
        return stage.name

    @staticmethod
    def _at(name: str, type: str, index: list[E]) -> E:
        return E("read", type, tuple(index), (name, None))

    @staticmethod
    def _down(d: int, halved: bool, k: int) -> E:
        at = var(NAMES[d])
        return binary("add", binary("mul", at, literal(2)), literal(k)) if halved else at

    def well_known(self) -> None:
        """A shape of update that execution models of their own are made for."""
        rng = self.rng
        rng.choice([self.histogram, self.scan, self.product, self.extremum, self.whole_sum, self.window])()

    def histogram(self) -> None:
        """Counts or weights by a value of each pixel, of all of a picture or by row."""
        rng = self.rng
        source = rng.choice(self.inputs)
        domain = self._over(source)
        scope = Scope(domain_vars(domain))
        n = rng.choice([4, 16, 64, 256])
        type = rng.choice(["u32", "i32", "u16", "u8", "f32"])
        at = E("clamp", "i32", (self.values.small_integer(scope), literal(0), literal(n - 1)))
        weight = self.values.tamed(self.values.value(type, scope, 0), 31) if rng.random() < 0.5 else const(type, 1)
        by_row = rng.random() < 0.3
        names = tuple(NAMES[: 1 + by_row])
        start = const(type, rng.choice([0, 0, 3]))
        place = (at, var("y")) if by_row else (at,)
        op = "+="
        update = Update(place, (weight,), domain, op)
        if rng.random() < 0.25:
            old = E("read", type, place, (self._name(), None))
            update = Update(place, (E(rng.choice(["max", "min"]), type, (old, weight)),), domain)
        self._with_updates(Stage(self._name(), names, (start,)), [update], (n, 3)[: len(names)])

    def scan(self) -> None:
        """Running sums or extrema, or a recursive filter, along one dimension, one way or both."""
        rng = self.rng
        rank = rng.choice([1, 2, 2, 3])
        extents = self.extents(rank, 900)
        along = rng.randrange(rank)
        type = rng.choice(["u8", "u32", "i32", "u16", "f32", "u64"])
        scope = Scope(tuple(var(n) for n in NAMES[:rank]))
        start = self.values.tamed(self.values.value(type, scope, 1), 31)
        stage, updates = Stage(self._name(), tuple(NAMES[:rank]), (start,)), []
        add_stage(self.ranges, stage)
        for backwards in rng.choice([(False,), (False,), (True,), (False, True)]):
            domain = self._new_domain(((literal(1), literal(max(0, extents[along] - 1))),))
            r = rvar(domain.name, 0)
            here: E = binary("sub", literal(extents[along] - 1), r) if backwards else r
            last = binary("add" if backwards else "sub", here, literal(rng.choice([1, 1, 2])))
            place, before = ([*scope.coordinates] for _ in range(2))
            place[along], before[along] = here, last
            read = [E("read", type, tuple(p), (stage.name, None)) for p in (place, before)]
            if type == "f32":
                value = binary(
                    "add", *(binary("mul", v, const("f32", w)) for v, w in zip(read, (0.25, 0.5), strict=True))
                )
            else:
                value = self.values.joined(type, *read, ops=("add", "add", "max", "min", "xor"))
                value = self.values.tamed(value, 1023) if type == "i32" else value
            updates.append(Update(tuple(place), (value,), domain))
        self._with_updates(stage, updates, extents)

    def product(self) -> None:
        """A product of two matrices, or of a matrix and a vector."""
        rng = self.rng
        type = rng.choice(["i32", "u32", "f32", "u8", "f64"])
        extents = self.extents(2, 200)
        k = rng.choice([1, 3, 8, 17, 33])
        domain = self._new_domain(((literal(0), literal(k)),))
        r = rvar(domain.name, 0)
        a, b = (
            self.values.tamed(self.values.read_at(rng.choice(self.sources), index, type), 31)
            for index in ([r, var("y")], [var("x"), r])
        )
        update = Update((var("x"), var("y")), (binary("mul", a, b),), domain, "+=")
        self._with_updates(Stage(self._name(), ("x", "y"), (const(type, 0),)), [update], extents)

    def extremum(self) -> None:
        """The largest or smallest value and where it is, as a tuple."""
        rng = self.rng
        source = rng.choice(self.inputs)
        domain = self._over(source)
        rvars = domain_vars(domain)
        type = rng.choice(["u8", "i32", "f32", "u16"])
        value = self.values.tamed(self.values.value(type, Scope(rvars), 1), 1023)
        name = self._name()
        old = [E("read", t, (), (name, k)) for k, t in enumerate(["i32", type])]
        better = binary(rng.choice(["gt", "lt", "ge"]), value, old[1])
        values = (E("select", "i32", (better, rng.choice(rvars), old[0])), E("select", type, (better, value, old[1])))
        self._with_updates(Stage(name, (), (const("i32", -1), const(type, 0))), [Update((), values, domain)], ())

    def whole_sum(self) -> None:
        """A sum, product or extremum over all of a picture, or over its rows or columns."""
        rng = self.rng
        source = rng.choice(self.inputs)
        domain = self._over(source)
        rvars = domain_vars(domain)
        type = rng.choice(["u32", "i32", "u64", "f32", "f64", "u8"])
        left = rng.choice([0, 1, 1, 2])
        names = tuple(NAMES[:left])
        scope = Scope((*(var(n) for n in names), *rvars))
        value = self.values.tamed(self.values.value(type, scope, 1), 31)
        place = tuple(var(n) for n in names)
        stage = Stage(self._name(), names, (const(type, rng.choice([0, 1, 7])),))
        op = rng.choice(["+=", "+=", "max", "min", "or"])
        if op == "or" and type in FLOATS:
            op = "+="
        update = Update(place, (value,), domain, op)
        if op != "+=":
            update = Update(place, (E(op, type, (E("read", type, place, (stage.name, None)), value)),), domain)
        self._with_updates(stage, [update], self.extents(left, 40))

    def brain_floats(self) -> None:
        """Return a stage of bf16, and maybe a sum of bf16 at places of any kind."""
        rng, values = self.rng, self.values
        rank = rng.choice([1, 2, 2, 3])
        extents, names = self.extents(rank, 400), tuple(NAMES[:rank])
        scope = Scope(tuple(var(n) for n in names))

        def narrow(scope: Scope, most: int) -> E:
            return cast("bf16", values.tamed(values.value("f32", scope, rng.choice([0, 1, 2])), most))

        stage, updates = Stage(self._name(), names, (narrow(scope, 1023),)), []
        if rng.random() < 0.6:
            domain = self.domain(extents)
            rvars = domain_vars(domain)
            places, _ = self.places(stage, rvars, extents)
            pure = [p for p, name in zip(places, names, strict=True) if p == var(name)]
            inner = Scope((*pure, *rvars))
            place = [self.scattered(inner, n) if p is None else p for p, n in zip(places, extents, strict=True)]
            updates.append(Update(tuple(place), (narrow(inner, 15),), domain, "+="))
        self.narrow.add(stage.name)
        self._with_updates(stage, updates, extents)

    def widened(self) -> None:
        """The last stage as f32."""
        last = self.stages[-1]
        assert isinstance(last, Stage)
        read = E("read", "bf16", tuple(var(n) for n in last.vars), (last.name, None))
        made = Stage(self._name(), last.vars, (cast("f32", read),))
        add_stage(self.ranges, made)
        self.add(made, self.extents_of[last.name])

    def products_of_tuples(self) -> None:
        """Return products of complex or dual numbers over a picture, its rows or its columns."""
        rng, values = self.rng, self.values
        domain = self._over(rng.choice(self.inputs))
        type = rng.choice(["u8", "u16", "u32", "f32"])
        names = tuple(NAMES[: rng.choice([0, 1, 1, 2])])
        place = tuple(var(n) for n in names)
        scope = Scope((*place, *domain_vars(domain)))
        if rng.random() < 0.3:
            domain = replace(domain, where=(values.condition(scope, 1),))
            self.ranges.domains[domain.name] = domain
        a, b = (values.tamed(values.value(type, scope, rng.choice([0, 1])), 1) for _ in range(2))
        stage = Stage(self._name(), names, (const(type, 1), const(type, rng.choice([0, 1]))))
        old = [E("read", type, place, (stage.name, k)) for k in range(2)]

        def join(op: str, p: E, q: E, r: E, s: E) -> E:
            return binary(op, binary("mul", p, q), binary("mul", r, s))

        real = binary("mul", old[0], a) if rng.random() < 0.3 else join("sub", old[0], a, old[1], b)
        update = Update(place, (real, join("add", old[0], b, old[1], a)), domain)
        self._with_updates(stage, [update], self.extents(len(names), 40))

    def window(self) -> None:
        """A sum or an extremum over a window around each point, a disk maybe."""
        rng = self.rng
        source = rng.choice(self.sources)
        rank = max(1, min(3, source.rank))
        count = rng.choice([1, min(2, rank)])
        sizes = [rng.choice([1, 2, 3, 5, 7]) for _ in range(count)]
        domain = self._new_domain(tuple((literal(-(n // 2)), literal(n)) for n in sizes))
        rvars = domain_vars(domain)
        if count == 2 and rng.random() < 0.4:
            square = [binary("mul", r, r) for r in rvars]
            domain = replace(domain, where=(binary("lt", binary("add", *square), literal(rng.choice([2, 5]))),))
            self.ranges.domains[domain.name] = domain
        type = rng.choice(["u8", "i32", "u16", "f32"])
        index = [binary("add", var(NAMES[d]), rvars[d]) if d < count else var(NAMES[d]) for d in range(rank)]
        value = self.values.tamed(self.values.read_at(source, index, type), 1023)
        names, place = tuple(NAMES[:rank]), tuple(var(n) for n in NAMES[:rank])
        stage = Stage(self._name(), names, (const(type, rng.choice([0, 255]) if type != "i32" else 99),))
        if rng.random() < 0.5:
            update = Update(place, (value,), domain, "+=")
        else:
            old = E("read", type, place, (stage.name, None))
            update = Update(place, (E(rng.choice(["min", "max"]), type, (old, value)),), domain)
        self._with_updates(stage, [update], self.extents(rank, 300))

    def _over(self, source: Input) -> Domain:
        """Return the whole of a picture, by its sizes."""
        name = f"r{self.domains}"
        over = source.name if self.rng.random() < 0.3 else None
        sizes = [E("size", "i32", (), (source.name, d, "extent")) for d in range(len(source.extents))]
        if over:
            sizes = [literal(n) for n in source.extents]
        return self._new_domain(tuple((literal(0), n) for n in sizes), over, name)

    def _new_domain(self, ranges: tuple[tuple[E, E], ...], over: str | None = None, name: str | None = None) -> Domain:
        made = Domain(name or f"r{self.domains}", ranges, (), over)
        self.domains += 1
        self.ranges.domains[made.name] = made
        return made

    def _with_updates(self, stage: Stage, updates: list[Update], extents: tuple[int, ...]) -> None:
        add_stage(self.ranges, stage)
        for update in updates:
            before = self.ranges.sources[stage.name]
            try:
                add_update(self.ranges, stage, update)
                stage = replace(stage, updates=(*stage.updates, update))
            except Beyond:
                self.ranges.sources[stage.name] = before
                self.ranges.forget()
        self.add(stage, extents)


def domain_vars(domain: Domain | None) -> tuple[E, ...]:
    """Return the coordinates of an RDom."""
    return tuple(rvar(domain.name, d) for d in range(len(domain.ranges))) if domain is not None else ()


__all__ = ["SIGNED", "UNSIGNED", "Drawer", "Source", "random_language"]
