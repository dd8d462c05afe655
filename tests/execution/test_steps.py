"""Stages that each step of an update computes: random programs under random schedules, to the bit as the evaluator."""

import random
from dataclasses import dataclass

import numpy as np
import pytest
from emulated_cuda import emulated
from random_programs import passes
from xdsl.passes import ModulePass

import tilefuse as hl
from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.execution.block_tile.attribute import BlockSchedule
from tilefuse.passes.compute_in_steps import ComputeInSteps
from tilefuse.passes.inline_stages import InlineStages
from tilefuse.passes.pipeline import run_passes, standard_passes
from tilefuse.passes.tile import Tile
from tilefuse.passes.unroll_reductions import UnrollReductions

INTEGERS = np.random.default_rng(5).integers(0, 256, (3, 19, 23), dtype=np.uint8)
FLOATS = INTEGERS.astype(np.float32) / 32


class _Drawn:
    """A Func whose update reads stages at its reduction variables, and the arguments of a call."""

    def __init__(self, seed: int):
        self.rng = rng = random.Random(seed)
        picture = rng.choice([INTEGERS, FLOATS])
        self.type = hl.Int(32) if picture is INTEGERS else hl.Float(32)
        self.image = hl.ImageParam(hl.UInt(8) if picture is INTEGERS else hl.Float(32), 3, "image")
        self.arguments = {"image": picture}
        self.edge = hl.BoundaryConditions.repeat_edge(self.image)
        if rng.random() < 0.3:
            self.edge = hl.BoundaryConditions.constant_exterior(self.image, 3)
        self.pure = [hl.Var("x"), hl.Var("y")][: rng.choice([1, 2, 2, 2])]
        self.channel = hl.Var("c") if rng.random() < 0.5 else None
        extents = [rng.choice([1, 2, 3, 4]) for _ in range(rng.choice([1, 2]))]
        if rng.random() < 0.1:
            extents[0] = 0
        self.r = hl.RDom([(rng.randint(-3, 2), n) for n in extents])
        self.over = [self.r[d] for d in range(len(extents))]
        self.sizes = [17, 9][: len(self.pure)]
        self.func = self.finished(self.updated())

    def pixel(self, x, y, c):
        return hl.cast(self.type, self.edge[x, y, c])

    def producer(self, name: str):
        """A chain of stages over the pure coordinates and those of the domain, in some order; gives a read of it."""
        rng = self.rng
        k = [hl.Var(f"k{d}") for d in range(len(self.over))]
        row = self.pure[1] if len(self.pure) > 1 else 1
        last_first = rng.random() < 0.2

        def place(pure, steps):
            return (*steps, *pure) if last_first else (*pure, *steps)

        func = hl.Func(f"{name}0")
        far = self.pixel(self.pure[0] + k[0], row + (k[1] if len(k) > 1 else 0), 1)
        func[place(self.pure, k)] = (self.pixel(self.pure[0], row, 0) - far) * (k[-1] + 5)
        for number in range(rng.choice([0, 1, 1, 2])):
            d, before = rng.randrange(len(self.pure)), func
            func = hl.Func(f"{name}{number + 1}")
            moved = [[v + o if v is self.pure[d] else v for v in self.pure] for o in (-1, 0, 2)]
            a, b, c = (before[place(m, k)] for m in moved)
            func[place(self.pure, k)] = a + b - c
        shift = [v + rng.choice([0, 0, 1, -2]) for v in self.pure]
        return func[place(shift, self.over)]

    def updated(self):
        rng = self.rng
        at = (*self.pure, self.channel) if self.channel is not None else tuple(self.pure)
        term = self.producer("a")
        if rng.random() < 0.3:
            term = term + self.producer("b")
        if rng.random() < 0.6:
            row = self.pure[1] if len(self.pure) > 1 else 2
            term = term * self.pixel(self.pure[0] + self.over[0], row, 1 if self.channel is None else self.channel)
        func = hl.Func("f")
        func[at] = hl.cast(self.type, self.pure[0] * 3)
        way = rng.choice(["add", "add", "min", "max"])
        if way == "add":
            func[at] += term
        else:
            func[at] = getattr(hl, way)(func[at], term)
        return func

    def finished(self, func):
        g = hl.Func("g")
        if self.channel is not None and self.rng.random() < 0.5:
            first, count = self.rng.choice([(0, 3), (0, 2), (1, 2)])
            at = (*self.pure, self.channel)
            g[at] = func[at] * 2 - func[(*self.pure, 2)] + self.pixel(self.pure[0], 0, self.channel)
            g.bound(self.channel, first, count)
            self.sizes = [*self.sizes, count]
        elif self.channel is not None:
            g[tuple(self.pure)] = func[(*self.pure, 0)] - func[(*self.pure, 2)]
        elif self.rng.random() < 0.6:
            g[tuple(self.pure)] = func[tuple(self.pure)] * 2 + self.pixel(self.pure[0], 0, 0)
        else:
            return func
        return g

    def schedule(self, rank: int, fixed: dict[int, int], domain: int) -> BlockSchedule:
        """A schedule of a tile of `rank` dimensions; `fixed`: the extents of those that are not tiled."""
        rng = self.rng
        vector = rng.choice([1, 2, 4])
        tile, threads, unroll = [], [], []
        for d in range(rank):
            if d >= rank - domain or d in fixed:
                n = fixed.get(d, 1)
                sizes = n, 1, n
            else:
                count, rounds = rng.choice([2, 4]), rng.choice([1, 2, 3])
                sizes = count * rounds * (vector if d == 0 else 1), count, rounds
            for of, n in zip((tile, threads, unroll), sizes, strict=True):
                of.append(n)
        more = (
            {"unroll": [n if d in fixed else rng.choice([1, n]) for d, n in enumerate(unroll)]}
            if rng.random() < 0.3
            else {}
        )
        return BlockSchedule(tile=tile, threads=threads, vector=vector, cache_inputs=rng.choice([0, 1]), **more)


@dataclass(frozen=True)
class _Given(ModulePass):
    """Gives groups whose updates have stages for each step a schedule."""

    name = "given"
    drawn: _Drawn

    def apply(self, ctx, op):
        for group in [g for g in op.walk() if isinstance(g, GroupOp) and g.steps]:
            bounds = group.anchor.bounds.data if group.anchor.bounds is not None else ()
            fixed = {d: b[1] for d, b in enumerate(bounds) if b is not None}
            group.schedule = self.drawn.schedule(group.anchor.rank, fixed, len(group.update.domain))


def _passes(drawn: _Drawn, standard):
    left = [p for p in standard if not isinstance(p, UnrollReductions | InlineStages)]
    always = [ComputeInSteps(force=True) if isinstance(p, ComputeInSteps) else p for p in left]
    return [p for q in always for p in ((_Given(drawn), q) if isinstance(q, Tile) else (q,))]


def _with_steps(drawn: _Drawn) -> int:
    """How many stages the steps of an update compute."""
    module = run_passes(hl.Pipeline(drawn.func).to_module("f"), _passes(drawn, standard_passes("h200")))
    (pipeline,) = (p for p in module.body.block.ops if isinstance(p, PipelineOp))
    return sum(len(g.steps) for g in pipeline.body.block.ops if isinstance(g, GroupOp))


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(40))
def test_random_steps(seed):
    drawn = _Drawn(seed)
    expected = hl.Pipeline(drawn.func).compile("reference")(**drawn.arguments, sizes=drawn.sizes)
    with emulated():
        program = hl.Pipeline(drawn.func).compile("cpu", passes=_passes(drawn, passes("h200")))
        np.testing.assert_array_equal(program(**drawn.arguments, sizes=drawn.sizes), expected)
    program = hl.Pipeline(drawn.func).compile("cpu", strict_float=True, passes=_passes(drawn, standard_passes("h200")))
    np.testing.assert_array_equal(program(**drawn.arguments, sizes=drawn.sizes), expected)


def test_most_have_stages_for_each_step():
    assert sum(_with_steps(_Drawn(seed)) > 1 for seed in range(40)) >= 30


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(60))
def test_random_steps_on_gpu(seed):
    drawn = _Drawn(seed)
    expected = hl.Pipeline(drawn.func).compile("reference")(**drawn.arguments, sizes=drawn.sizes)
    cupy = pytest.importorskip("cupy")
    program = hl.Pipeline(drawn.func).compile("cuda", strict_float=True, passes=_passes(drawn, standard_passes("h200")))
    found = program(image=cupy.asarray(drawn.arguments["image"]), sizes=drawn.sizes)
    np.testing.assert_array_equal(found.get(), expected)
