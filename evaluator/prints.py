"""Evaluation of `img.print`: a line at every point where the condition holds, x fastest."""

from __future__ import annotations

import sys

import numpy as np

from tilefuse.dialects.img.formats import kinds_of, unescaped
from tilefuse.dialects.img.ops import PrintOp
from tilefuse.evaluator.carriers import carried_signed, carried_unsigned


def print_lines(op: PrintOp, value: np.ndarray, condition: np.ndarray, *numbers: np.ndarray) -> np.ndarray:
    """Print to the standard output; return the value."""
    kinds = kinds_of(op.format.data) or []
    read = {"%lld": carried_signed, "%llu": carried_unsigned, "%f": lambda a: a}
    columns = [read[kind](np.asarray(n)) for kind, n in zip(kinds, numbers, strict=True)]
    holds, _, *columns = np.broadcast_arrays(condition, value, *columns)
    format = unescaped(op.format.data).replace("%lld", "%d").replace("%llu", "%d")
    for at in np.ndindex(holds.shape):
        if holds[at]:
            sys.stdout.write(format % tuple(c[at] for c in columns))
    return value
