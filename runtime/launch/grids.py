"""Grid limits of a GPU, and grids folded into x."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tilefuse.runtime.errors import CallError
from tilefuse.runtime.launch.plan import KernelLaunch, Plan

Grid = tuple[int, int, int]
"""Blocks along x, y and z."""


def fits(plan: Plan, most: Grid | None) -> bool:
    """Whether every launch has at most `most` blocks per dimension; None: no limit, as on a CPU."""
    return most is None or not any(_is_over(launch.grid, most) for launch in plan.launches)


def fold_plan(plan: Plan, most: Grid) -> Plan:
    """Return the plan of kernels after `fold-grids`, whose blocks all count along x.

    Raises CallError if there are more blocks than a launch may have along x.
    """
    return replace(plan, launches=tuple(_folded(launch, most[0]) for launch in plan.launches))


def _is_over(grid: Grid, most: Grid) -> bool:
    return any(n > m for n, m in zip(grid, most, strict=True))


def _folded(launch: KernelLaunch, most: int) -> KernelLaunch:
    blocks = prod(launch.grid)
    if blocks > most:
        name, schedule = launch.group.sym_name.data, launch.group.schedule
        tile = " x ".join(map(str, schedule.tile_sizes or ())) if schedule is not None else ""
        raise CallError(
            f"group '{name}': tiles of {tile} points take {blocks} blocks for these sizes, and a GPU launches at most "
            f"{most}; give the group a larger tile, or compute the output in parts with sizes= and mins="
        )
    return replace(launch, grid=(blocks, 1, 1))
