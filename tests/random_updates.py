"""Random programs with updates, by Halide's names: ranks 1 to 3, scatters, scans, `where`, tuples, several updates per
Func, RDoms of any extent down to 0.

For Halide integers only, and of i32 only small ones: it leaves their overflow undefined, and the rounding of floats.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

PICTURE = np.random.default_rng(7).integers(0, 256, (6, 8), dtype=np.uint8)
SIZES = (7, 5, 3)
INTEGERS = ("u8", "u16", "u32", "i32")
FLOATS = ("f32", "f64", "f16")


def random_update_program(hl: Any, im: Any, seed: int, types: tuple[str, ...] = INTEGERS) -> tuple[Any, list[int]]:
    """Return a Func of Halide's or ours, and the sizes to realize it on."""
    return _Program(hl, im, random.Random(seed), types).build()


class _Program:
    def __init__(self, hl: Any, im: Any, rng: random.Random, types: tuple[str, ...]):
        self.hl, self.im, self.rng = hl, im, rng
        self.rank = rng.choice((1, 1, 2, 2, 3))
        self.vars = [hl.Var(name) for name in "xyz"[: self.rank]]
        self.types = [rng.choice(types) for _ in range(rng.choice((1, 1, 1, 2)))]

    def build(self) -> tuple[Any, list[int]]:
        f = self.hl.Func("f")
        start = [self.small(t, self.vars) for t in self.types]
        f[tuple(self.vars)] = start[0] if len(start) == 1 else tuple(start)
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            self.update(f)
        sizes = list(SIZES[: self.rank])
        if self.rng.random() < 0.4:
            return self.read(f), sizes
        return f, sizes

    def read(self, f: Any) -> Any:
        """Return a stage that reads the updated Func, also at a data-dependent place."""
        if self.hl.__name__ == "halide":
            f.compute_root()
        g = self.hl.Func("g")
        at = [self.hl.clamp(self.hl.i32(self.pixel(self.vars)), 0, n - 1) for n in SIZES[: self.rank]]
        here, there = self.values(f, self.vars), self.values(f, at)
        g[tuple(self.vars)] = self.narrowed("u32", here[0]) + self.narrowed("u32", there[-1])
        return g

    def update(self, f: Any) -> None:
        rng = self.rng
        extents = [rng.choice((0, 1, 2, 3, 4, 5)) if rng.random() < 0.3 else rng.randint(1, 5) for _ in range(3)]
        r = self.hl.RDom([(rng.randint(-1, 2), n) for n in extents[: rng.randint(1, 3)]])
        rvars = [r[i] for i in range(len(extents[: r.dimensions()]))]
        place, others = [], []
        for d in range(self.rank):
            way = rng.choice(("pure", "scan", "scan", "scatter", "constant", "mirrored"))
            v = rng.choice(rvars)
            place.append(
                {
                    "pure": self.vars[d],
                    "scan": v + rng.randint(-1, 1),
                    "mirrored": 4 - v,
                    "constant": rng.randint(0, SIZES[d] - 1),
                    "scatter": None,
                }[way]
            )
            others.append(self.vars[d] if way == "pure" else (v + rng.randint(-2, 0) if rng.random() < 0.6 else None))
        pure = [v for v, p in zip(self.vars, place, strict=True) if p is v]
        known = [*pure, *rvars]
        place = [self.scattered(known, d) if p is None else p for d, p in enumerate(place)]
        others = [rng.randint(-1, 3) if o is None else o for o in others]
        if rng.random() < 0.35:
            r.where(self.condition(known))
        old, beside = self.values(f, place), self.values(f, others)
        reads_beside = rng.random() < 0.5
        new = []
        for number, t in enumerate(self.types):
            term = self.small(t, known)
            if reads_beside:
                term = self.joined(t, term, beside[rng.randrange(len(beside))])
            new.append(term if rng.random() < 0.3 else self.joined(t, old[number], term))
        f[tuple(place)] = new[0] if len(new) == 1 else tuple(new)

    def values(self, f: Any, at: list[Any]) -> list[Any]:
        found = f[tuple(at)]
        return [found] if len(self.types) == 1 else [found[i] for i in range(len(self.types))]

    def scattered(self, known: list[Any], d: int) -> Any:
        return self.hl.clamp(self.hl.i32(self.pixel(known)) / 32, 0, SIZES[d] - 1)

    def pixel(self, known: list[Any]) -> Any:
        hl, rng = self.hl, self.rng
        x, y = (rng.choice(known) + rng.randint(-1, 2) for _ in range(2))
        return self.im[hl.clamp(x, 0, 7), hl.clamp(y, 0, 5)]

    def condition(self, known: list[Any]) -> Any:
        rng = self.rng
        a = rng.choice(known)
        return rng.choice(
            (
                lambda: (a + rng.randint(0, 3)) % 2 == 0,
                lambda: self.pixel(known) > self.hl.u8(rng.randint(30, 200)),
                lambda: a < rng.choice(known) + 1,
            )
        )()

    def small(self, t: str, known: list[Any]) -> Any:
        """Return a value of a few bits."""
        rng = self.rng
        if rng.random() < 0.3 or not known:
            return self.narrowed(t, self.hl.i32(rng.randint(0, 9)))
        if rng.random() < 0.5:
            return self.narrowed(t, self.hl.i32(self.pixel(known)))
        return self.narrowed(t, rng.choice(known) * rng.randint(1, 3) + rng.randint(0, 5))

    def joined(self, t: str, a: Any, b: Any) -> Any:
        hl, rng = self.hl, self.rng
        b = self.narrowed(t, b)
        made = rng.choice(
            (lambda: a + b, lambda: a + b, lambda: a - b, lambda: hl.min(a, b), lambda: hl.max(a, b), lambda: a * b)
        )()
        return made & 1023 if t == "i32" else made

    def narrowed(self, t: str, value: Any) -> Any:
        made = getattr(self.hl, t)(value)
        return made & 1023 if t == "i32" else made
