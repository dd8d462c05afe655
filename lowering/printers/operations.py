"""Flat lists of a function's operations: printers iterate several times, and xDSL's walk is slow in deep nests."""

from __future__ import annotations

from xdsl.ir import Block, Operation


def operations_in(function: Operation) -> list[Operation]:
    """List the operations in the regions of an operation, each before its own nested ones."""
    found: list[Operation] = []

    def visit(block: Block) -> None:
        for op in block.ops:
            found.append(op)
            for region in op.regions:
                for inner in region.blocks:
                    visit(inner)

    for region in function.regions:
        for block in region.blocks:
            visit(block)
    return found
