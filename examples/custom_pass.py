"""A custom pass pipeline: one standard pass is replaced, and one schedule is written by hand.

Runs Harris so, compares the corners with those of the standard passes, and prints both reports.
"""

import argparse
from dataclasses import dataclass, replace

import numpy as np
from _run import read_photo, rgb_floats
from harris import pipeline
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.block_tile.attribute import BlockSchedule
from tilefuse.passes.group_stages import GroupStages
from tilefuse.passes.pipeline import standard_passes
from tilefuse.passes.tile import Tile


@dataclass(frozen=True)
class ScheduleByHand(ModulePass):
    """Give every group of two-dimensional functions a block tile; later passes keep these schedules."""

    name = "schedule-by-hand"

    tile: tuple[int, ...] = (64, 16)
    threads: tuple[int, ...] = (32, 8)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for group in op.walk():
            if not isinstance(group, GroupOp) or group.update is not None:
                continue  # `tile` schedules the updates
            if len(self.tile) == group.anchor.rank:
                group.schedule = BlockSchedule(tile=self.tile, threads=self.threads)


def passes(target: str) -> list[ModulePass]:
    """Return the standard passes, with groups by dynamic programming, and our schedule before `tile`.

    `target`: `cpu`, or a GPU's model or architecture.
    """
    chosen: list[ModulePass] = []
    for standard in standard_passes(target):
        if isinstance(standard, GroupStages):
            standard = replace(standard, algorithm="dp")
        if isinstance(standard, Tile):
            chosen.append(ScheduleByHand())
        chosen.append(standard)
    return chosen


def main(argv: list[str] | None = None) -> None:
    """Run on the CPU."""
    parser = argparse.ArgumentParser(description=passes.__doc__)
    parser.add_argument("--input", help="a picture; without it, one that comes with scikit-image")
    photo = rgb_floats(read_photo(parser.parse_args(argv).input))
    standard = pipeline().compile("cpu", strict_float=True)
    ours = pipeline().compile("cpu", strict_float=True, passes=passes("cpu"))
    same = np.array_equal(standard(photo), ours(photo))
    print(standard.report())
    print(ours.report())
    print("passes:", ", ".join(ours.passes[1:]))
    print("the results are", "the same" if same else "different")


if __name__ == "__main__":
    main()
