"""Random image-processing algorithms of usual stages, for tilefuse and for Halide: `random_example(17)`.

A stage is a filter of one or two functions before it: sums of neighbours with weights (separable or not), gradients
and their magnitude, extrema and medians of windows, curves, lookups, thresholds, products, ratios and blends, local
means over an `RDom`, and pyramids (a function at half the size, enlarged again). Pictures have one plane or three, of
floats, bytes or 16-bit numbers; integers are filtered as integers or as floats. The same seed gives the same algorithm;
seeds from 1000 on draw updates, too: recursive filters, running sums, histograms, and pictures read at warped places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from _run import Example, gray_floats, rgb_floats

import tilefuse

DTYPES = {"f32": np.float32, "u8": np.uint8, "u16": np.uint16}
STAGES = (3, 10)
"""Fewest and most stages."""
FIRST_WITH_UPDATES = 1000
"""The first seed of algorithms with updates."""
KERNELS = ((1, 2, 1), (1, 1, 1), (1, 4, 6, 4, 1), (1, 1, 1, 1, 1), (1, 6, 15, 20, 15, 6, 1), (1,) * 9)
"""Weights of neighbours along a dimension."""


def pixel_type(hl: Any, dtype: str) -> Any:
    """Return Halide's type of a pixel."""
    return hl.Float(32) if dtype == "f32" else hl.UInt(int(dtype[1:]))


@dataclass
class Value:
    """A function that stages may read: a Func or bounded image, and its number of planes (0: it has no such dimension).

    `whole`: its values are integers, from 0 to the largest pixel; else floats, for the most part in [0, 1].
    """

    func: Any
    planes: int
    whole: bool
    used: bool = False


class Algorithm:
    """One algorithm being built: stages are drawn, and defined in the language of `hl`."""

    def __init__(self, seed: int, dtype: str, planes: int, hl: Any):
        self.rng, self.hl, self.dtype, self.planes = Random(seed), hl, dtype, planes
        self.has_updates = seed >= FIRST_WITH_UPDATES
        self.sizes: tuple[Any, Any] = ()  # type: ignore[assignment]
        self.x, self.y, self.c = hl.Var("x"), hl.Var("y"), hl.Var("c")
        self.values: list[Value] = []
        self.names = 0

    def func(self, name: str) -> Any:
        """Make a Func with a name of its own."""
        self.names += 1
        return self.hl.Func(f"{name}_{self.names}")

    def define(self, name: str, planes: int, whole: bool, body: Callable[[Any, Any, list[Any]], Any]) -> Value:
        """Define a Func by its value at (x, y), with its plane, if any, in a list."""
        f, plane = self.func(name), [self.c] if planes else []
        f[(self.x, self.y, *plane)] = body(self.x, self.y, plane)
        return Value(f, planes, whole)

    def picked(self) -> Value:
        """Draw a function to read: often the last one, or one that nothing reads yet."""
        unused = [v for v in self.values if not v.used]
        pool = self.values[-1:] if self.rng.random() < 0.5 else unused or self.values
        found = self.rng.choice(pool)
        found.used = True
        return found

    def number(self, value: float, whole: bool) -> Any:
        """Return a constant of the type that stages compute with."""
        return self.hl.i32(int(value * self.largest)) if whole else self.hl.f32(value)

    @property
    def largest(self) -> int:
        """The largest integer pixel."""
        return 255 if self.dtype == "u8" else 65535

    def at(self, v: Value, x: Any, y: Any, plane: Sequence[Any]) -> Any:
        """Return a function's value as an i32 or a float; `plane` is dropped by functions without planes."""
        read = v.func[(x, y, *(plane if v.planes else ()))]
        return self.hl.cast(self.hl.Int(32), read) if v.whole else read

    def stored(self, e: Any, whole: bool) -> Any:
        """Return an expression as a pixel: integers are clamped and cut to their type."""
        hl = self.hl
        return hl.cast(pixel_type(hl, self.dtype), hl.clamp(e, 0, self.largest)) if whole else e

    def weighted(self, terms: Sequence[tuple[float, Any]], whole: bool) -> Any:
        """Return the weighted mean of terms."""
        total = sum(w for w, _ in terms)
        if not whole:
            parts = [e * self.hl.f32(w / total) for w, e in terms]
        else:
            parts = [e * self.hl.i32(int(w)) for w, e in terms]
        found = parts[0]
        for part in parts[1:]:
            found = found + part
        return (found + int(total) // 2) / int(total) if whole else found

    def separable(self, v: Value) -> Value:
        """Filter along x, then along y."""
        kernel = self.rng.choice(KERNELS)
        middle = len(kernel) // 2
        for dim in self.rng.sample("xy", 2):
            source = v

            def body(x: Any, y: Any, p: list[Any], dim: str = dim, source: Value = source) -> Any:
                steps = [(i - middle if dim == "x" else 0, i - middle if dim == "y" else 0) for i in range(len(kernel))]
                terms = [(w, self.at(source, x + i, y + j, p)) for w, (i, j) in zip(kernel, steps, strict=True)]
                return self.stored(self.weighted(terms, source.whole), source.whole)

            v = self.define(f"along_{dim}", source.planes, source.whole, body)
        return v

    def convolved(self, v: Value) -> Value:
        """Filter by a window of weights."""
        radius = self.rng.choice((1, 1, 2))
        window = [(i, j) for j in range(-radius, radius + 1) for i in range(-radius, radius + 1)]
        weights = [self.rng.randint(1, 9) for _ in window]

        def body(x: Any, y: Any, p: list[Any]) -> Any:
            terms = [(w, self.at(v, x + i, y + j, p)) for w, (i, j) in zip(weights, window, strict=True)]
            return self.stored(self.weighted(terms, v.whole), v.whole)

        return self.define("convolved", v.planes, v.whole, body)

    def edges(self, v: Value) -> Value:
        """Return the magnitude of two gradients, which are Funcs of their own."""
        hl = self.hl

        def gradient(dim: str) -> Value:
            def body(x: Any, y: Any, p: list[Any]) -> Any:
                def step(i: int, j: int) -> Any:
                    return self.at(v, x + i, y + j, p) if dim == "x" else self.at(v, x + j, y + i, p)

                return (step(1, -1) - step(-1, -1)) + (step(1, 0) - step(-1, 0)) * 2 + (step(1, 1) - step(-1, 1))

            return self.define(f"d{dim}", v.planes, v.whole, body)

        dx, dy = gradient("x"), gradient("y")
        exact = self.rng.random() < 0.5

        def body(x: Any, y: Any, p: list[Any]) -> Any:
            a, b = self.at(dx, x, y, p), self.at(dy, x, y, p)
            if exact and not v.whole:
                return hl.sqrt(a * a + b * b)
            a, b = hl.cast(hl.Int(32), hl.abs(a)) if v.whole else hl.abs(a), hl.abs(b)
            return self.stored(a + (hl.cast(hl.Int(32), b) if v.whole else b), v.whole)

        return self.define("edges", v.planes, v.whole, body)

    def extremum(self, v: Value) -> Value:
        """Return the least or largest value of a window: a cross, a row, a column or a square."""
        hl, (across, down) = self.hl, self.rng.choice(((1, 1), (2, 0), (0, 2), (3, 0), (0, 4)))
        window = [(i, j) for j in range(-down, down + 1) for i in range(-across, across + 1)]
        pick = self.rng.choice(("min", "max"))

        def body(x: Any, y: Any, p: list[Any]) -> Any:
            found = v.func[(x, y, *p)]
            for i, j in window:
                if (i, j) != (0, 0):
                    found = getattr(hl, pick)(found, v.func[(x + i, y + j, *p)])
            return found

        return self.define(pick, v.planes, v.whole, body)

    def median(self, v: Value) -> Value:
        """Return the median of three points, along x, then along y."""
        hl = self.hl
        for dim in "xy":
            source = v

            def body(x: Any, y: Any, p: list[Any], dim: str = dim, source: Value = source) -> Any:
                i, j = (1, 0) if dim == "x" else (0, 1)
                a, b, c = (source.func[(x + k * i, y + k * j, *p)] for k in (-1, 0, 1))
                return hl.max(hl.min(a, b), hl.min(hl.max(a, b), c))

            v = self.define(f"median_{dim}", source.planes, source.whole, body)
        return v

    def curve(self, v: Value) -> Value:
        """Return a curve of each pixel: a polynomial, a root, a gain with a limit, or a table of bytes."""
        hl, kind = self.hl, self.rng.choice(("smooth", "root", "gain", "table"))
        gain = self.rng.uniform(0.5, 2.0)
        if kind == "table" and v.whole and self.dtype == "u8":
            table = self.func("table")
            table[self.x] = hl.cast(hl.UInt(8), hl.clamp(hl.f32(self.x) * hl.f32(gain) + hl.f32(0.5), 0, 255))
            return self.define(
                "looked_up", v.planes, True, lambda x, y, p: table[hl.cast(hl.Int(32), v.func[(x, y, *p)])]
            )

        def body(x: Any, y: Any, p: list[Any]) -> Any:
            e = self.at(v, x, y, p)
            if v.whole:
                return self.stored((e * int(gain * 256) + 128) / 256, True)
            if kind == "smooth":
                return e * e * (hl.f32(3) - hl.f32(2) * e)
            if kind == "root":
                return hl.sqrt(hl.max(e, hl.f32(0)))
            return hl.clamp(e * hl.f32(gain) - hl.f32(0.1), hl.f32(0), hl.f32(1))

        return self.define("curve", v.planes, v.whole, body)

    def combined(self, v: Value) -> Value:
        """Combine two functions, of which one may have no planes."""
        hl, others = self.hl, [other for other in self.values if other is not v]
        if not others:
            return self.curve(v)
        w = self.rng.choice([o for o in others if not o.used] or others)
        w.used = True
        kind = self.rng.choice(("difference", "product", "blend", "ratio", "threshold", "sharpened"))
        whole = v.whole and w.whole
        scale = hl.f32(1 / self.largest)

        def body(x: Any, y: Any, p: list[Any]) -> Any:
            a, b = self.at(v, x, y, p), self.at(w, x, y, p)
            if v.whole and not whole:
                a = hl.f32(a) * scale
            if w.whole and not whole:
                b = hl.f32(b) * scale
            if kind == "difference":
                return self.stored(hl.cast(hl.Int(32), hl.abs(a - b)) if whole else hl.abs(a - b), whole)
            if kind == "product":
                if not whole:
                    return a * b
                return self.stored(a * b / self.largest if self.dtype == "u8" else (a >> 8) * (b >> 8), True)
            if kind == "ratio" and not whole:
                return a / (b + hl.f32(0.01))
            if kind == "threshold":
                return self.stored(hl.select(a > b, a, b / 2 if whole else b * hl.f32(0.5)), whole)
            if kind == "sharpened":
                return self.stored(a + (a - b), whole)
            return self.stored((a * 3 + b * 5 + 4) / 8, True) if whole else hl.lerp(a, b, hl.f32(0.3))

        return self.define(kind, max(v.planes, w.planes), whole, body)

    def local_mean(self, v: Value) -> Value:
        """Return the mean of a window, by a sum over an RDom."""
        hl, radius = self.hl, self.rng.choice((1, 2, 3))
        side = 2 * radius + 1
        r = hl.RDom([(-radius, side), (-radius, side)])

        def body(x: Any, y: Any, p: list[Any]) -> Any:
            total = hl.sum(self.at(v, x + r.x, y + r.y, p))
            return (
                self.stored((total + side * side // 2) / (side * side), True)
                if v.whole
                else (total * hl.f32(1 / side**2))
            )

        return self.define("local_mean", v.planes, v.whole, body)

    def pyramid(self, v: Value) -> Value:
        """Filter a function at half of its size, and enlarge the result again."""
        levels = self.rng.choice((1, 1, 2, 3))
        for level in range(levels):
            source = v

            def half(x: Any, y: Any, p: list[Any], source: Value = source) -> Any:
                terms = [(1, self.at(source, 2 * x + i, 2 * y + j, p)) for j in (0, 1) for i in (0, 1)]
                return self.stored(self.weighted(terms, source.whole), source.whole)

            v = self.define(f"half_{level}", source.planes, source.whole, half)
        v = self.rng.choice((self.separable, self.convolved, self.curve))(v)
        for level in range(levels):
            source = v

            def double(x: Any, y: Any, p: list[Any], source: Value = source) -> Any:
                i, j = 2 * (x % 2) - 1, 2 * (y % 2) - 1
                near, across = self.at(source, x / 2, y / 2, p), self.at(source, x / 2 + i, y / 2, p)
                down, far = self.at(source, x / 2, y / 2 + j, p), self.at(source, x / 2 + i, y / 2 + j, p)
                terms = [(9, near), (3, across), (3, down), (1, far)]
                return self.stored(self.weighted(terms, source.whole), source.whole)

            v = self.define(f"double_{level}", source.planes, source.whole, double)
        return v

    def level(self, v: Value, x: Any, y: Any, plane: Sequence[Any]) -> Any:
        """Return a function's value as a float, for the most part in [0, 1]."""
        hl, value = self.hl, self.at(v, x, y, plane)
        return hl.f32(value) * hl.f32(1 / self.largest) if v.whole else value

    def recursive(self, v: Value) -> Value:
        """Filter recursively down all columns, and up again, or along all rows and back."""
        hl, dim, keep = self.hl, self.rng.choice((0, 1)), self.rng.uniform(0.3, 0.9)
        size = self.sizes[dim]
        found = self.define("recursive", v.planes, False, lambda x, y, p: self.level(v, x, y, p))
        f, plane, r = found.func, [self.c] if v.planes else [], hl.RDom([(1, size - 1)])
        for place, before in ((r.x, r.x - 1), (size - 1 - r.x, size - r.x)):
            at, last = ((place, self.y), (before, self.y)) if dim == 0 else ((self.x, place), (self.x, before))
            f[(*at, *plane)] = f[(*last, *plane)] * hl.f32(keep) + f[(*at, *plane)] * hl.f32(1 - keep)
        return found

    def running_mean(self, v: Value) -> Value:
        """Return the mean of a window along one dimension, by differences of running sums."""
        hl, dim, radius = self.hl, self.rng.choice((0, 1)), self.rng.choice((2, 5, 9))
        size = self.sizes[dim]
        sums = self.define("sums", v.planes, False, lambda x, y, p: self.level(v, x, y, p))
        f, plane, r = sums.func, [self.c] if v.planes else [], hl.RDom([(1, size - 1)])
        at, last = ((r.x, self.y), (r.x - 1, self.y)) if dim == 0 else ((self.x, r.x), (self.x, r.x - 1))
        f[(*at, *plane)] = f[(*last, *plane)] + f[(*at, *plane)]

        def body(x: Any, y: Any, p: list[Any]) -> Any:
            here = x if dim == 0 else y
            ends = [hl.clamp(here + i, 0, size - 1) for i in (radius, -radius)]
            high, low = (f[(e, y, *p) if dim == 0 else (x, e, *p)] for e in ends)
            return (high - low) * hl.f32(1 / (2 * radius))

        return self.define("running_mean", v.planes, False, body)

    def equalised(self, v: Value) -> Value:
        """Return pixels by their rank: a histogram of all, its running sum, and a lookup."""
        hl, plane = self.hl, [self.c] if v.planes else []
        bins = self.define(
            "bins", v.planes, False, lambda x, y, p: hl.i32(hl.clamp(self.level(v, x, y, p), 0.0, 1.0) * hl.f32(255))
        ).func
        r, i = hl.RDom([(0, self.sizes[0]), (0, self.sizes[1])]), hl.RDom([(1, 255)])
        counts, ranks = self.func("counts"), self.func("ranks")
        counts[(self.x, *plane)] = hl.i32(0)
        counts[(hl.clamp(bins[(r.x, r.y, *plane)], 0, 255), *plane)] += 1
        ranks[(self.x, *plane)] = counts[(self.x, *plane)]
        ranks[(i.x, *plane)] += ranks[(i.x - 1, *plane)]
        scale = hl.f32(1) / hl.f32(self.sizes[0] * self.sizes[1])

        def body(x: Any, y: Any, p: list[Any]) -> Any:
            return hl.f32(ranks[(hl.clamp(bins[(x, y, *p)], 0, 255), *p)]) * scale

        return self.define("equalised", v.planes, False, body)

    def warped(self, v: Value) -> Value:
        """Return the picture turned by a small angle, by bilinear interpolation."""
        hl, slope = self.hl, self.rng.uniform(0.01, 0.2)
        stored = self.define("stored", v.planes, False, lambda x, y, p: self.level(v, x, y, p)).func

        def body(x: Any, y: Any, p: list[Any]) -> Any:
            at = [hl.f32(x) + hl.f32(y) * hl.f32(slope), hl.f32(y) - hl.f32(x) * hl.f32(slope)]
            first = [hl.i32(hl.floor(a)) for a in at]
            tx, ty = (a - hl.f32(i) for a, i in zip(at, first, strict=True))

            def sample(i: int, j: int) -> Any:
                places = [hl.clamp(n + k, 0, size - 1) for n, k, size in zip(first, (i, j), self.sizes, strict=True)]
                return stored[(*places, *p)]

            return hl.lerp(hl.lerp(sample(0, 0), sample(1, 0), tx), hl.lerp(sample(0, 1), sample(1, 1), tx), ty)

        return self.define("warped", v.planes, False, body)

    def gray(self, v: Value) -> Value:
        """Return the brightness of three planes."""
        if v.planes != 3:
            return self.curve(v)

        def body(x: Any, y: Any, p: list[Any]) -> Any:
            terms = [(w, self.at(v, x, y, [i])) for i, w in enumerate((3, 6, 1))]
            return self.stored(self.weighted(terms, v.whole), v.whole)

        return self.define("gray", 0, v.whole, body)

    def output(self) -> Any:
        """Define the output: a blend of all functions that nothing reads."""
        hl, left = self.hl, [v for v in self.values if not v.used]
        planes = max(v.planes for v in left)

        def body(x: Any, y: Any, p: list[Any]) -> Any:
            parts = [
                hl.f32(self.at(v, x, y, p)) * hl.f32(1 / self.largest) if v.whole else self.at(v, x, y, p) for v in left
            ]
            if len(left) == 1 and left[0].whole:
                return left[0].func[(x, y, *p)]
            found = parts[0]
            for part in parts[1:]:
                found = found + part
            found = found * hl.f32(1 / len(left))
            if self.dtype == "f32":
                return found
            level = hl.clamp(found, hl.f32(0), hl.f32(1)) * hl.f32(self.largest)
            return hl.cast(pixel_type(hl, self.dtype), level + hl.f32(0.5))

        out = self.define("out", planes, self.dtype != "f32", body).func
        if planes:
            out.bound(self.c, 0, planes)
        return out

    def build(self, image: Any) -> Any:
        """Draw all stages, and return the output."""
        hl, rng, self.sizes = self.hl, self.rng, (image.dim(0).extent(), image.dim(1).extent())
        edged = hl.BoundaryConditions.repeat_edge(image)
        whole = self.dtype != "f32" and rng.random() < 0.7
        first = Value(edged, self.planes, self.dtype != "f32")
        if self.dtype != "f32" and not whole:
            scale = hl.f32(1 / self.largest)
            first = self.define("level", self.planes, False, lambda x, y, p: hl.f32(edged[(x, y, *p)]) * scale)
        self.values.append(first)
        kinds = [
            self.separable, self.convolved, self.edges, self.extremum, self.median, self.curve, self.combined,
            self.combined, self.local_mean, self.pyramid, self.gray,
        ]  # fmt: skip
        if self.has_updates:
            kinds += 2 * [self.recursive, self.running_mean, self.equalised, self.warped]
        for _ in range(rng.randint(*STAGES)):
            self.values.append(rng.choice(kinds)(self.picked()))
        return self.output()


def random_example(seed: int) -> Example:
    """Return the example of a seed, called `random_<seed>`; its picture is a photograph's planes or its brightness."""
    rng = Random(f"{seed} picture")
    dtype, planes = rng.choice(list(DTYPES)), rng.choice((0, 0, 3))

    def algorithm(image: Any, hl: Any) -> Any:
        return Algorithm(seed, dtype, planes, hl).build(image)

    def pipeline() -> tilefuse.Pipeline:
        image = tilefuse.ImageParam(pixel_type(tilefuse, dtype), 3 if planes else 2, "image")
        return tilefuse.Pipeline(algorithm(image, tilefuse))

    def prepare(photo: np.ndarray) -> np.ndarray:
        levels = rgb_floats(photo) if planes else gray_floats(photo)
        largest = {"f32": 1.0, "u8": 255, "u16": 65535}[dtype]
        return np.ascontiguousarray((levels * np.float32(largest)).astype(DTYPES[dtype]))

    return Example(f"random_{seed}", pipeline, algorithm, prepare)
