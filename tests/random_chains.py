"""Random chains of similar stages, such as time steps, for `roll-stages`."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

import tilefuse as hl

Step = Callable[[hl.Func, hl.Func, int], hl.Func]
"""(what the step before made, what the one before that made, number of the step) -> what this one makes."""


def _stage(name: str, value: Callable[[hl.Var, hl.Var], hl.Expr]) -> hl.Func:
    x, y = hl.Var("x"), hl.Var("y")
    made = hl.Func(name)
    made[x, y] = value(x, y)
    return made


def _separable(kind: hl.Type, mean: Callable[[hl.Expr], hl.Expr], reach: int) -> Step:
    def step(now: hl.Func, before: hl.Func, i: int) -> hl.Func:
        def total(read: Callable[[int], hl.Expr]) -> hl.Expr:
            sum = read(-reach)
            for d in range(1 - reach, reach + 1):
                sum = sum + read(d)
            return sum

        rows = _stage(f"rows_{i}", lambda x, y: total(lambda d: hl.cast(kind, now[x + d, y])))
        return _stage(f"step_{i}", lambda x, y: mean(total(lambda d: rows[x, y + d])))

    return step


def _wave(now: hl.Func, before: hl.Func, i: int) -> hl.Func:
    def value(x: hl.Var, y: hl.Var) -> hl.Expr:
        around = now[x - 1, y] + now[x + 1, y] + now[x, y - 1] + now[x, y + 1]
        return now[x, y] * 1.5 - before[x, y] * 0.75 + (around - now[x, y] * 4.0) * 0.125

    return _stage(f"step_{i}", value)


def pipeline(seed: int) -> tuple[hl.Pipeline, np.ndarray, int]:
    """Return a chain of 3 to 9 steps, a picture of odd size, and how many points of it a vector may hold."""
    random = Random(seed)
    kind = random.choice(["f32", "u16", "wave"])
    image = hl.ImageParam(hl.UInt(16) if kind == "u16" else hl.Float(32), 2, "image")
    whole = [(0, image.width()), (0, image.height())]
    zeros_around = random.random() < 0.5
    count = random.randrange(3, 10)
    start: hl.Func = hl.BoundaryConditions.repeat_edge(image)
    reach = random.choice([1, 2]) if kind == "u16" else 1
    points = (2 * reach + 1) ** 2
    step: Step
    if kind == "u16":
        step = _separable(hl.UInt(16), lambda sum: sum // hl.cast(hl.UInt(16), points), reach)
    elif kind == "f32":
        step = _separable(hl.Float(32), lambda sum: sum * hl.f32(1 / 9), reach)
    else:
        step = _wave
    before, now = start, start
    for i in range(count):
        made = step(now, before, i)
        if zeros_around and i + 1 < count:
            made = hl.BoundaryConditions.constant_exterior(made, hl.cast(image.type(), 0), whole)
        before, now = now, made
    shape = (random.choice([1, 7, 33, 61, 130]), random.choice([1, 30, 64, 129, 256, 501]))
    generator = np.random.default_rng(seed)
    if kind == "u16":
        picture = generator.integers(0, 65536 // points, shape, np.uint16)
    else:
        picture = generator.random(shape, np.float32)
    return hl.Pipeline(now), picture, 8 if kind == "u16" else 4
