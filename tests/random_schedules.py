"""Random lists of passes: inlining, grouping, execution models, tiles by hand."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from xdsl.passes import ModulePass

from tilefuse.execution.registry import names
from tilefuse.passes.group_stages import GroupStages
from tilefuse.passes.group_updates import GroupUpdates
from tilefuse.passes.pipeline import standard_passes
from tilefuse.passes.tile import Tile

_OPTIONAL = ("inline-stages", "separate-kernels", "raise-clamps", "unroll-reductions")
"""Passes that a schedule may leave out."""


def random_passes(rng: Random, target: str) -> list[ModulePass]:
    """Return passes from the algorithm to a schedule for `target`, which is illegal for some pipelines."""
    left_out = {name for name in _OPTIONAL if rng.random() < 0.3}
    change: dict[str, ModulePass] = {}
    draw = rng.random()
    if draw < 0.6:
        standard = next(p for p in standard_passes(target) if isinstance(p, Tile))
        more = rng.choice(["", "exchange = 1", "exchange = 0"])
        shape = rng.choice(["auto", *names()])
        change["tile"] = replace(standard, shape=shape, more=more if shape == "warp_tile" else "")
    elif target != "cpu":
        change["tile"] = _by_hand(rng)
    # what is computed beside updates: nothing, what is short, anything; recurrences as on GPUs
    change["group-updates"] = GroupUpdates(max_instructions=rng.choice([0.0, 24.0, 1000.0]), max_steps=1 << 20)
    passes = standard_passes(target, algorithm=rng.choice(["none", "greedy", "all", "both"]))
    tables = rng.random() < 0.5
    passes = [replace(p, fuse_lookups=tables) if isinstance(p, GroupStages) else p for p in passes]
    return [change.get(p.name, p) for p in passes if p.name not in left_out]


def _by_hand(rng: Random) -> Tile:
    if rng.random() < 0.3:
        warps = rng.choice([1, 2, 4])
        rows = warps * rng.choice([1, 2, 3])
        return Tile(
            shape="warp_tile",
            sizes=(0, rows),
            threads=(32, warps),
            vector=rng.choice([1, 2, 4]),
            more=f"exchange = {int(rng.random() < 0.5)}",
        )
    rank = rng.choice([1, 2, 2, 3])
    threads = rng.choice([(32, 4, 1), (8, 2, 2), (1, 4, 4), (1, 1, 1), (16, 1, 1)])[:rank]
    vector = rng.choice([1, 1, 2])
    sizes = tuple(t * rng.choice([1, 2]) * (vector if d == 0 else 1) for d, t in enumerate(threads))
    return Tile(sizes=sizes, threads=threads, vector=vector)
