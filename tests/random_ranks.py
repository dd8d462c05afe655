"""Random pipelines of 1 to 8 dimensions: reads across ranks, boundaries over some dimensions, tiles by hand.

Stages of different ranks read each other with dimensions exchanged, dropped or fixed. A seed is computed by the
evaluator and, by lot, by C, by the emulated GPU (with limits on the grid that small pictures exceed, too), or compiled
by NVRTC.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import Any

import numpy as np
from emulated_cuda import MOST_BLOCKS, emulated
from random_case import RandomPipeline
from random_programs import assert_equal, call, evaluated, passes, pieces
from xdsl.passes import ModulePass

import tilefuse as hl
from tilefuse.analysis.bounds import required_boxes
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import GroupOp, InputOp
from tilefuse.dialects.img.types import MAX_RANK
from tilefuse.passes.pipeline import run_passes
from tilefuse.passes.tile import Tile
from tilefuse.runtime.cuda.nvrtc import NvrtcNotFound, supported_archs
from tilefuse.runtime.program import compile_pipeline

_TYPES = {hl.UInt(8): np.uint8, hl.UInt(16): np.uint16, hl.Int(32): np.int32, hl.Float(32): np.float32}
_MOST_POINTS = 1500
"""Of an output, about."""


@dataclass
class _Picture:
    """A function and its rank."""

    func: hl.Func | hl.ImageParam
    rank: int


@dataclass
class _Inputs:
    params: list[hl.ImageParam] = field(default_factory=list)
    extents: dict[str, tuple[int, ...]] = field(default_factory=dict)
    free: dict[str, set[int]] = field(default_factory=dict)
    """Dimensions without a boundary: arrays are made to hold what is read."""


def _extents(rng: Random, rank: int) -> tuple[int, ...]:
    """Tiny ones, and often a long one; the product is bounded."""
    extents = [rng.choice([1, 1, 2, 2, 3, 4, 5, 7]) for _ in range(rank)]
    long = rng.randrange(rank) if rng.random() < 0.6 else 0
    while prod(extents) > _MOST_POINTS // 4:
        extents[rng.randrange(rank)] = rng.choice([1, 2])
    room = _MOST_POINTS // (prod(extents) // extents[long])
    extents[long] = max(1, min(room, rng.choice([7, 33, 130, 257, 700])))
    return tuple(extents)


def _bounded(rng: Random, source: hl.Func | hl.ImageParam, bounds: list[tuple[object, object] | None]) -> hl.Func:
    conditions = hl.BoundaryConditions
    kinds = [conditions.repeat_edge, conditions.mirror_image, conditions.mirror_interior, conditions.repeat_image]
    if rng.random() < 0.3:
        return conditions.constant_exterior(source, hl.cast(source.type(), rng.choice([0, 3])), bounds)
    return rng.choice(kinds)(source, bounds)


def _input(rng: Random, inputs: _Inputs, number: int, rank: int) -> _Picture:
    name = f"in{number}"
    param = hl.ImageParam(rng.choice(list(_TYPES)), rank, name, layout="planar" if rank == 3 else "auto")
    inputs.params.append(param)
    inputs.extents[name] = _extents(rng, rank)
    free = {d for d in range(rank) if rng.random() < 0.2}
    inputs.free[name] = free
    if len(free) == rank:
        return _Picture(param, rank)
    bounds: list[tuple[object, object] | None] = [
        None if d in free else (param.dim(d).min(), param.dim(d).extent()) for d in range(rank)
    ]
    return _Picture(_bounded(rng, param, bounds), rank)


def _read(rng: Random, source: _Picture, point: list[hl.Var]) -> hl.Expr:
    """Return one to three reads around a point, at dimensions in some order, some of them fixed."""
    places = list(range(len(point)))
    if rng.random() < 0.35:
        rng.shuffle(places)
    fixed = {d: rng.choice([0, 0, 1]) for d in range(source.rank) if d >= len(point) or rng.random() < 0.07}
    total: hl.Expr | None = None
    for _ in range(rng.choice([1, 2, 3])):
        near = rng.randrange(source.rank)
        index = [fixed[d] if d in fixed else point[places[d]] for d in range(source.rank)]
        if near not in fixed:
            index[near] = index[near] + rng.choice([-2, -1, 0, 1, 1])
        value = hl.cast(hl.Int(32), source.func[tuple(index)])
        total = value if total is None else total + value * rng.choice([1, 2, -1])
    assert total is not None
    return total


def _stage(rng: Random, name: str, known: list[_Picture], rank: int) -> _Picture:
    point = [hl.Var(f"v{d}") for d in range(rank)]
    sources = [known[-1], *([rng.choice(known)] if rng.random() < 0.4 else [])]
    value = _read(rng, sources[0], point)
    for source in sources[1:]:
        value = value + _read(rng, source, point)
    func = hl.Func(name)
    # small enough for the sums after it to be exact in all types
    func[tuple(point)] = hl.cast(rng.choice(list(_TYPES)), value % hl.cast(hl.Int(32), 251))
    return _Picture(func, rank)


def random_ranks(seed: int) -> RandomPipeline:
    """Return the pipeline of a seed, and a call of it."""
    rng = Random(seed)
    inputs = _Inputs()
    rank = rng.randint(1, MAX_RANK)
    known = [_input(rng, inputs, n, rank if n == 0 else rng.randint(1, MAX_RANK)) for n in range(rng.choice([1, 1, 2]))]
    count = rng.choice([1, 2, 2, 3])
    for number in range(count):
        rank = max(1, min(MAX_RANK, rank + rng.choice([0, 0, 0, -1, 1, 2])))
        made = _stage(rng, f"f{number}", known, rank)
        last = number + 1 == count
        if not last and rng.random() < 0.3:
            some = [None if rng.random() < 0.3 else (rng.choice([0, -1]), e) for e in _extents(rng, rank)]
            if any(some):
                made = _Picture(_bounded(rng, made.func, some), rank)
        known.append(made)
    output = known[-1].func
    extents = _extents(rng, rank)
    low = tuple(rng.choice([0, 0, -3, 2]) for _ in range(rank))
    if rng.random() < 0.6:
        least = rng.choice([1, 2, 2, 2])  # warp tiles move along x and y
        for d, n in enumerate(extents):
            if d >= least and n <= 7 and prod(extents[least:]) <= 32:
                output.bound(output.args()[d], low[d], n)
    return _case(rng, hl.Pipeline(output), inputs, output.name(), low, extents)


def _along(rng: Random, source: _Picture, point: list[hl.Var], extents: tuple[int, ...], anywhere: bool) -> hl.Expr:
    """Reads beside a point along x and y; in the small dimensions at the point, at a fixed one or with two exchanged.

    With `anywhere` beside it in these, too, as a boundary allows.
    """
    total: hl.Expr | None = None
    for _ in range(rng.choice([1, 2, 3, 4])):
        index: list[Any] = [point[d] + (rng.choice([-2, -1, 0, 0, 1, 1]) if d < 2 else 0) for d in range(len(point))]
        for d in range(2, len(point)):
            same = [e for e in range(2, len(point)) if extents[e] == extents[d]]
            draw = rng.random()
            if draw < 0.15:
                index[d] = rng.randrange(extents[d])
            elif draw < 0.3:
                index[d] = point[rng.choice(same)]
            elif anywhere and draw < 0.5:
                index[d] = point[d] + rng.choice([-1, 1])
        value = hl.cast(hl.Int(32), source.func[tuple(index)])
        total = value if total is None else total + value * rng.choice([1, 2, -1])
    assert total is not None
    return total


def random_warps(seed: int) -> RandomPipeline:
    """A pipeline of 2 to 8 dimensions that warp tiles are legal for: all but x and y are small, and declared so."""
    rng = Random(f"warps {seed}")
    inputs = _Inputs()
    rank = rng.choice([2, *range(3, MAX_RANK + 1)])
    small = [rng.choice([1, 2, 2, 3, 4]) for _ in range(rank - 2)]
    while prod(small) > 12:
        small[rng.randrange(rank - 2)] = rng.choice([1, 2])
    extents = (rng.choice([1, 7, 31, 33, 64, 130, 257]), rng.choice([1, 2, 5, 9, 17]), *small)
    known = []
    for n in range(rng.choice([1, 1, 2])):
        name = f"in{n}"
        param = hl.ImageParam(rng.choice(list(_TYPES)), rank, name, layout="planar" if rank == 3 else "auto")
        inputs.params.append(param)
        inputs.extents[name], inputs.free[name] = extents, set()
        whole = [(param.dim(d).min(), param.dim(d).extent()) for d in range(rank)]
        known.append((_Picture(_bounded(rng, param, whole), rank), True))
    for number in range(rng.choice([1, 2, 2, 3, 4])):
        point = [hl.Var(f"v{d}") for d in range(rank)]
        source, anywhere = known[-1]
        value = _along(rng, source, point, extents, anywhere)
        if rng.random() < 0.4:
            other, beside = rng.choice(known)
            value = value + _along(rng, other, point, extents, beside)
        func = hl.Func(f"f{number}")
        func[tuple(point)] = hl.cast(rng.choice(list(_TYPES)), value % hl.cast(hl.Int(32), 251))
        for d in range(2, rank):
            func.bound(point[d], 0, extents[d])
        known.append((_Picture(func, rank), False))
    low = (rng.choice([0, 0, -3, 2]), rng.choice([0, 1, -5]), *[0] * (rank - 2))
    output = known[-1][0].func
    return _case(rng, hl.Pipeline(output), inputs, output.name(), low, extents)


def _warp_schedule(rng: Random) -> list[ModulePass]:
    """Warp tiles: searched, with rows that go from warp to warp or without, or by hand."""
    shape = rng.choice(["warp_tile", "warp_exchange", "hand", "hand"])
    if shape != "hand":
        return passes("h200", shape=shape, algorithm=rng.choice(["none", "greedy", "all"]))
    warps = rng.choice([1, 2, 4, 8])
    sizes = (0, warps * rng.choice([1, 2, 3, 4]))
    tile = Tile(
        shape="warp_tile",
        sizes=sizes,
        threads=(32, warps),
        vector=rng.choice([1, 2, 4]),
        more=f"exchange = {int(rng.random() < 0.5)}",
    )
    return pieces("h200", tile)


def _case(
    rng: Random, pipeline: hl.Pipeline, inputs: _Inputs, name: str, low: tuple[int, ...], extents: tuple[int, ...]
) -> RandomPipeline:
    case = RandomPipeline(pipeline.to_module())
    case.sizes[name], case.mins[name] = extents, low
    ops = {op.sym_name.data: op for op in case.pipeline.body.block.ops if isinstance(op, InputOp)}
    types = {p.name(): _TYPES[p.type()] for p in inputs.params}
    boxes = {n: tuple((rng.choice([0, 0, 0, -2, 3]), e) for e in inputs.extents[n]) for n in ops}
    needed = required_boxes(case.pipeline, case.output_boxes, boxes, {})
    generator = np.random.default_rng(rng.randrange(2**32))
    for n, op in ops.items():
        read = needed.get(op.func, boxes[n])
        box = [read[d] if d in inputs.free[n] else own for d, own in enumerate(boxes[n])]
        case.mins[n] = tuple(first for first, _ in box)
        shape = tuple(extent for _, extent in reversed(box))
        case.inputs[n] = generator.integers(0, 120, shape).astype(types[n])
    return case


def _schedule(rng: Random) -> list[ModulePass]:
    """Return passes for a GPU: searched tiles of one kind, or tiles by hand."""
    shape = rng.choice(["auto", "block_tile", "warp_tile", "hand", "hand"])
    if shape != "hand":
        return passes("h200", shape=shape, algorithm=rng.choice(["none", "greedy", "all"]))
    counts = rng.choice([(32, 4, 1), (8, 2, 2), (1, 4, 4), (1, 1, 1), (16, 1, 1)])
    more = [rng.choice([1, 2]) for _ in range(MAX_RANK)]
    vector = rng.choice([1, 1, 2])
    # what is left out is tiled as it must be; what is given may not fit dimensions that are small
    threads = (*counts, *(1,) * (MAX_RANK - 3))[: rng.choice([2, 2, 3, MAX_RANK])]
    sizes = tuple(t * m * (vector if d == 0 else 1) for d, (t, m) in enumerate(zip(threads, more, strict=False)))
    return pieces("h200", Tile(sizes=sizes, threads=threads, vector=vector))


def _on_gpu(
    rng: Random,
    case: RandomPipeline,
    expected: dict[str, np.ndarray],
    where: str,
    schedule: Callable[[Random], list[ModulePass]] = _schedule,
) -> bool:
    """Whether a schedule was drawn that these stages can have."""
    most = rng.choice([MOST_BLOCKS, (MOST_BLOCKS[0], 1, 1), (MOST_BLOCKS[0], 2, 3)])
    with emulated(most_blocks=most) as misaligned:
        for _ in range(4):
            try:
                program = compile_pipeline(case.module, "cpu", strict_float=True, passes=schedule(rng))
                found = call(program, case)
            except PipelineError:
                continue  # a schedule that these stages cannot have
            assert_equal(found, expected, where)
            assert not any(misaligned), where
            return True
    return False


def _through_nvrtc(rng: Random, case: RandomPipeline) -> None:
    try:
        supported_archs()
    except NvrtcNotFound:
        return
    program = compile_pipeline(case.module, "cuda:h200", verify=True)
    for folded in (False, rng.random() < 0.5):
        built = program._current().kernels(rng.choice([32, 64]), "sm_90", folded=folded)
        assert built.cubin is not None


def check_warps(seed: int) -> bool:
    """Compute a pipeline in warp tiles of any rank on the emulated GPU, and by the evaluator. Whether there was one."""
    case = random_warps(seed)
    rng = Random(f"how warps {seed}")
    where = f"random warps {seed}"
    expected = evaluated(case)
    if rng.random() < 0.2:
        _through_nvrtc(rng, case)
    return bool(shutil.which("g++")) and _on_gpu(rng, case, expected, where, _warp_schedule)


def check(seed: int) -> None:
    """Compute the pipeline of a seed by the evaluator and by a drawn back end; raise AssertionError if they differ."""
    case = random_ranks(seed)
    where = f"random ranks {seed}"
    expected = evaluated(case)
    rng = Random(f"how {seed}")
    assert_equal(call(compile_pipeline(case.module, "reference"), case), expected, where)
    draw = rng.random()
    if draw < 0.35 and shutil.which("g++"):
        _on_gpu(rng, case, expected, f"{where} on the emulated GPU")
    elif draw < 0.65 and shutil.which("cc"):
        program = compile_pipeline(case.module, "cpu", strict_float=True, verify=True)
        assert_equal(call(program, case), expected, f"{where} on the CPU")
    elif draw < 0.8:
        _through_nvrtc(rng, case)
    else:
        lowered = run_passes(case.module, passes("h200", shape="block_tile"))
        assert any(isinstance(op, GroupOp) for op in lowered.walk())
