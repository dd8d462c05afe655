"""Random pipelines with small functions: tables read through data, rows, columns, points, factors, upsampled functions.

    check(17)

The same seed gives the same pipeline. Each small function is dear (at least DEAR instructions a point) or cheap, and of
integers, so that results are equal bit for bit. `check` holds the scheduled pipeline against the evaluator, and counts
how often each dear function is computed: not much more often than it has points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from random import Random

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import SSAValue

import tilefuse as hl
from tilefuse.analysis.bounds import required_boxes
from tilefuse.analysis.machine import machine
from tilefuse.analysis.model import extract, pipeline_of
from tilefuse.dialects.img.attrs import Memory
from tilefuse.dialects.img.ops import GroupOp, PipelineOp, ReadOp, StageOp
from tilefuse.evaluator import evaluate
from tilefuse.execution.block_tile.attribute import BlockSchedule
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.row_strip.attribute import StripSchedule
from tilefuse.execution.row_strip.planes import planes_at_once
from tilefuse.execution.row_strip.rows import rolling_rows
from tilefuse.passes.pipeline import run_passes, standard_passes

DEAR = 160
"""Instructions per point of a dear function, at least."""
ROUND = 4
"""Instructions of a round of what makes it dear."""
FACTOR = 2.5
"""Largest number of evaluations per point of an expensive function, including halos of tiles."""
BESIDE_LOADS = 8
"""Factor on the time of instructions that do not overlap with memory accesses."""
EXTENT = (1536, 2560)
SIZE = (37, 23)
"""Of the pictures that are computed, x first."""
_MARK = 1_000_003
"""The functions' own constants follow on it: they tell where a function has gone."""

x, y, c, i, j = (hl.Var(name) for name in "xycij")


@dataclass
class Small:
    """A function of few points, and its value for a picture's point."""

    func: hl.Func
    mark: int
    rounds: int
    read: Callable[[], hl.Expr]


class _Builder:
    def __init__(self, rng: Random):
        self.rng = rng
        self.bytes = hl.ImageParam(hl.UInt(8), 2, "bytes")
        self.words = hl.ImageParam(hl.Int(32), 2, "words")
        self.values = hl.ImageParam(hl.UInt(32), 1, "values")
        self.last = hl.Param(hl.Int(32), "last")
        self.planes = rng.random() < 0.25
        self.small: list[Small] = []

    def build(self) -> hl.Pipeline:
        """Return the pipeline."""
        number = hl.cast(hl.UInt(32), self.bytes[x, y])
        for n in range(self.rng.choice([1, 1, 2, 3])):
            self.small.append(self._small(n))
            for _ in range(self.rng.choice([1, 1, 1, 2])):
                number = number * 3 + self.small[-1].read()
        # so that no input is left out
        number = number + hl.cast(hl.UInt(32), self.words[x, y]) + self.values[0] + hl.cast(hl.UInt(32), self.last)
        picture = hl.Func("picture")
        at = (x, y, c) if self.planes else (x, y)
        picture[at] = number + hl.cast(hl.UInt(32), c) if self.planes else number
        if self.planes:
            picture.bound(c, 0, 3)
        if self.rng.random() < 0.7:
            return hl.Pipeline(picture)
        result, source = hl.Func("result"), picture
        if self.rng.random() < 0.6:
            source = hl.BoundaryConditions.repeat_edge(picture, [(0, self.bytes.width()), (0, self.bytes.height())])
        rest = (c,) if self.planes else ()
        result[at] = source[(x, y, *rest)] + source[(x + 1, y, *rest)] * 2
        if self.planes:
            result.bound(c, 0, 3)
        return hl.Pipeline(result)

    def _body(self, start: hl.Expr, mark: int, rounds: int) -> hl.Expr:
        value = hl.cast(hl.UInt(32), start) + mark
        for n in range(rounds):
            value = (value ^ (value >> 3)) * 5 + (2 * n + 1)
        return value

    def _small(self, number: int) -> Small:
        rounds = self.rng.choice([0, 1, 40, 60, 60])
        mark = _MARK + number
        func = hl.Func(f"small{number}")
        kinds = [
            "byte",
            "byte",
            "clamp",
            "size",
            "param",
            "square",
            "row",
            "column",
            "constant",
            "point",
            "half",
            "x_half",
        ]
        kind = self.rng.choice([*kinds, "channel"] if self.planes else kinds)
        vars, start, read = self._kind(kind)
        func[vars] = self._body(start, mark, rounds)
        last = func
        for n in range(self.rng.choice([0, 0, 0, 1, 3])):
            before, last = last, hl.Func(f"small{number}_{n}")
            last[vars] = before[vars] ^ (n + 5)
        return Small(func, mark, rounds, lambda: last[read()])

    def _kind(self, kind: str) -> tuple[tuple[hl.Var, ...], hl.Expr, Callable[[], tuple[hl.Expr, ...]]]:
        """Draw coordinates, the sources of the value, and the point at which a picture's point reads it."""
        byte, word = hl.cast(hl.Int(32), self.bytes[x, y]), self.words[x, y]
        some = self.rng.randrange(4)
        match kind:
            case "byte":
                return (i,), i, lambda: (byte + some,)
            case "clamp":
                low = self.rng.randrange(-50, 50)
                return (i,), i, lambda: (hl.clamp(word, low, low + self.rng.choice([7, 300, 5000])),)
            case "size":
                return (i,), self.values[i] + i, lambda: (hl.clamp(word, 0, self.values.width() - 1),)
            case "param":
                return (i,), i, lambda: (hl.clamp(word, 0, self.last),)
            case "square":
                return (i, j), i + 7 * j, lambda: (byte / 16, byte % 16 + some)
            case "row":
                return (x,), x, lambda: (x + some,)
            case "column":
                return (y,), y * 3, lambda: (y - some,)
            case "constant":
                return (x, y), self.words[x, y], lambda: (x, some)
            case "point":
                return (x, y), self.words[x, y], lambda: (some, 1)
            case "half":
                return (x, y), self.words[x, y] + x, lambda: (x / 2, y / 2)
            case "x_half":
                return (x, y), self.words[x, y], lambda: (x / 2, y)
        return (c,), c * 11, lambda: (c,)


def marked(pipeline: PipelineOp, mark: int) -> Iterator[StageOp]:
    """Yield the stages in which a function has gone."""
    for stage in pipeline.walk():
        if isinstance(stage, StageOp) and any(
            isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr) and op.value.value.data == mark
            for op in stage.body.block.ops
        ):
            yield stage


def evaluations(stage: StageOp, boxes: dict[SSAValue, tuple[tuple[int, int], ...]], mark: int, on_gpu: bool) -> float:
    """Count how often the schedule computes the function of `mark` in a stage, from the tiles and their reads."""
    group = stage.parent_op()
    assert isinstance(group, GroupOp)
    stored = dict(zip(group.yield_op.operands, group.funcs, strict=True))
    if stage is not group.anchor and stage.funcs[0] in stored:
        # where a tile owns its points; what neighbours compute once more beside them is little
        return math.prod(n for _, n in boxes[stored[stage.funcs[0]]])
    box = boxes[group.funcs[-1]]
    points = math.prod(n for _, n in box)
    if stage is group.anchor:
        # of planes in one tile a thread of a GPU, or one loop of a strip, computes once what they share
        return points / (box[2][1] if len(box) > 2 and (on_gpu or _planes_share_a_loop(group)) else 1)
    assert group.schedule is not None
    assert stage.place is not None
    if stage.place.where[1] is Memory.Register and not on_gpu:
        return points * len(distinct_reads(stage))
    tile = group.schedule.tile_sizes
    tiles = math.prod(-(-n // t) for (_, n), t in zip(box, tile, strict=True))
    if stage.place.where[1] is Memory.Register and isinstance(group.schedule, BlockSchedule):
        tile = group.schedule.micro_tile
        tiles = points // math.prod(tile)
    return tiles * math.prod(high - low + 1 for low, high in of_tile(group, tile)[stage])


def _planes_share_a_loop(group: GroupOp) -> bool:
    """Whether the group is a strip whose loops along rows compute all planes of its output."""
    if not isinstance(group.schedule, StripSchedule):
        return False
    model = extract(pipeline_of(group))
    output = model.node_of[group.anchor.funcs[0]]
    rows = rolling_rows(GroupFacts.of(group, model), group.schedule.tile_sizes[2:], group.schedule.rows_per_loop)
    return bool(planes_at_once(model.nodes[output], rows[output]))


def distinct_reads(stage: StageOp) -> set[object]:
    """Return the distinct indices of the reads of a stage, at each of which its value is computed."""
    uses = (use.operation for f in stage.funcs for use in f.uses)
    return {(op.parent_op(), op.map.data, tuple(op.indices)) for op in uses if isinstance(op, ReadOp)}


def of_tile(group: GroupOp, tile: tuple[int, ...]) -> dict[StageOp, list[tuple[int, int]]]:
    """Return (first, last) per dimension of each stage's region for a tile at the origin, by its readers' corners."""
    found = {group.anchor: [(0, n - 1) for n in tile]}
    for stage in reversed(group.stages):
        if stage not in found:
            continue  # it is only stored
        spans = dict(zip(stage.body.block.args, found[stage], strict=True))
        for op in stage.body.block.ops:
            if (
                isinstance(op, ReadOp)
                and isinstance(source := op.source.owner, StageOp)
                and source.parent_op() is group
            ):
                corners = [op.map.data.eval(list(p), []) for p in product(*(spans[v] for v in op.indices))]
                box = [(min(v), max(v)) for v in zip(*corners, strict=True)]
                old = found.get(source, box)
                found[source] = [(min(a, p), max(b, q)) for (a, b), (p, q) in zip(old, box, strict=True)]
    return found


def check_counts(builder: _Builder, module: ModuleOp, target: str) -> None:
    """Raise AssertionError if an expensive function is computed much more often than it has points."""
    on = machine(target)
    box = [(0, n) for n in EXTENT] + ([(0, 3)] if builder.planes else [])
    inputs = {"bytes": box[:2], "words": box[:2], "values": [(0, EXTENT[0])]}
    given = {"last": 900}

    def needed(pipeline: PipelineOp) -> dict[SSAValue, tuple[tuple[int, int], ...]]:
        ((name, _),) = pipeline.return_op.outputs
        return required_boxes(pipeline, {name: tuple(box)}, {k: tuple(b) for k, b in inputs.items()}, given)

    (before,) = (op for op in module.walk() if isinstance(op, PipelineOp))
    scheduled = run_passes(module, standard_passes(target, extent=EXTENT))
    (after,) = (op for op in scheduled.walk() if isinstance(op, PipelineOp))
    own, boxes = needed(before), needed(after)
    for small in builder.small:
        cost = small.rounds * ROUND
        if cost < DEAR:
            continue
        (stage,) = marked(before, small.mark)
        points = math.prod(n for _, n in own[stage.funcs[0]])
        computed = sum(evaluations(s, boxes, small.mark, on.is_gpu) for s in marked(after, small.mark))
        # below that, a kernel of its own takes longer; instructions take little time beside loads
        kernel = on.launch_us * on.instructions_per_us / (cost - 8) * BESIDE_LOADS
        assert computed <= FACTOR * points + kernel, f"{small.func.name()}: {computed} for {points} points on {target}"


def check_results(builder: _Builder, module: ModuleOp, target: str, compiled: bool) -> None:
    """Raise AssertionError unless the scheduled and the compiled pipeline agree with the evaluator."""
    random = np.random.default_rng(builder.rng.randrange(1 << 30))
    width, height = SIZE
    grids = {
        "bytes": random.integers(0, 256, (height + 8, width + 8), dtype=np.uint8),
        "words": random.integers(-(2**31), 2**31 - 1, (height + 8, width + 8), dtype=np.int32),
        "values": random.integers(0, 2**32, 90, dtype=np.uint32),
    }
    mins = {"bytes": (-4, -4), "words": (-4, -4), "values": (0,)}
    (pipeline,) = (op for op in module.walk() if isinstance(op, PipelineOp))
    ((name, _),) = pipeline.return_op.outputs
    box = tuple((0, n) for n in SIZE) + (((0, 3),) if builder.planes else ())
    params = {"last": 70}
    expected = evaluate(module, grids, params, {name: box}, mins)
    scheduled = run_passes(module, standard_passes(target, extent=EXTENT))
    found = evaluate(scheduled, grids, params, {name: box}, mins)
    np.testing.assert_array_equal(found[name], expected[name])
    if compiled:
        from tilefuse.runtime.program import compile_pipeline

        program = compile_pipeline(module, "cpu", extent=EXTENT)
        mins[name] = tuple(low for low, _ in box)
        sizes = tuple(n for _, n in box)
        np.testing.assert_array_equal(program(**grids, **params, sizes=sizes, mins=mins), expected[name])


def check(seed: int) -> None:
    """Raise AssertionError if the pipeline of a seed is computed wrongly, or too often."""
    builder = _Builder(Random(seed))
    module = builder.build().to_module()
    for target in ("cpu", "h200"):
        check_counts(builder, module, target)
    check_results(builder, module, builder.rng.choice(["cpu", "h200"]), compiled=builder.rng.random() < 0.1)
