"""Rare numbers from a seed, and a check that all back ends agree on a program with them."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
from emulated_cuda import emulated
from random_programs import passes

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.runtime.errors import BuildError, CallError, CallTypeError

WIDTH = 37
"""Points of the pictures."""
_REFUSALS = (PipelineError, CallError, CallTypeError)

Make = Callable[..., Callable[[], np.ndarray]]
"""`make(target=..., ...)` compiles, with options as `hl.compile` has them; what it gives calls the program."""


def number(rng: Random, bits: int = 70) -> int:
    """Return a power of two or near one, of up to `bits` bits; sometimes an ordinary number, or a monster."""
    if rng.random() < 0.05:
        return rng.choice([-1, 1]) * 10 ** rng.choice([19, 20, 40, 400])
    near = rng.choice([-1, 0, 1, rng.randint(-40, 40)])
    return rng.choice([-1, 1]) * (1 << rng.randrange(bits)) + near


def moderate(rng: Random) -> int:
    """Return a number as `number` does, more often an ordinary one."""
    return rng.randint(-50, 50) if rng.random() < 0.4 else number(rng, rng.choice([8, 31, 34, 63, 70]))


def held(rng: Random, bits: int) -> list[int]:
    """Return numbers for all points of a picture of signed elements of `bits` bits, the ends of the type among them."""
    half = 1 << (bits - 1)
    return [-half, half - 1, *(max(-half, min(half - 1, number(rng, bits))) for _ in range(WIDTH - 2))]


def wrapped(n: int, bits: int) -> int:
    """Return `n` modulo 2^bits, signed."""
    half = 1 << (bits - 1)
    return (n + half) % (2 * half) - half


@contextlib.contextmanager
def refusal_allowed(where: str) -> Iterator[None]:
    """Lets an error of the project's own pass as an outcome."""
    try:
        yield
    except BuildError as error:
        raise AssertionError(f"{where}: a compiler's error") from error
    except _REFUSALS as error:
        text = str(error)
        assert text, where
        assert "Traceback" not in text, where


def _back_ends(rng: Random) -> list[str]:
    """Return the evaluator, and at random a back end that compiles: C, or CUDA on the emulated GPU."""
    draw = rng.random()
    if draw < 0.3:
        return ["reference", "cpu"]
    return ["reference", "emulated"] if draw < 0.45 and shutil.which("g++") else ["reference"]


def check_same(
    rng: Random,
    make: Make,
    model: Callable[[], np.ndarray],
    where: str,
    same: Callable[..., None] | None = None,
    *,
    large: bool = False,
) -> bool:
    """Assert that drawn back ends give the model's result; return True if all of them refuse the program.

    `large`: it may need more than the memory or the grids of some of them.
    """
    refused: dict[str, bool] = {}
    for name in _back_ends(rng):
        refused[name] = True
        with refusal_allowed(f"{where}, {name}"), _on(name) as options:
            found = make(**options)()
            refused[name] = False
            (same or np.testing.assert_array_equal)(found, model(), err_msg=f"{where}, {name}")
    assert large or len(set(refused.values())) == 1, f"{where}: refused by some only: {refused}"
    return any(refused.values())


@contextlib.contextmanager
def _on(name: str) -> Iterator[dict[str, Any]]:
    """The options to compile with for a back end."""
    if name != "emulated":
        yield {"target": name}
        return
    with emulated() as misaligned:
        yield {"target": "cpu", "passes": passes("h200")}
        assert not any(misaligned)
