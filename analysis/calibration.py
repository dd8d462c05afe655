"""Constants of the cost model of GPUs, fitted to timings of warp tiles; a GPU may have a file of its own.

A file is TOML, one `name = number` a line; what it leaves out keeps its default. `targets/calibration/<model>.toml`
comes with the package; the user's own, `calibration/<model>.toml` in the user's configuration folder, goes before it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from tilefuse.dialects.diagnostics import PipelineError


@dataclass(frozen=True)
class Calibration:
    """Constants of the cost model; the defaults were fitted on an H200.

    Block tiles read `code_limit`, `code_penalty` and `block_us`, warp tiles all.
    """

    exchange_row: float = 0.31
    """Instructions to write, or read, a lane's part of a row that goes from warp to warp."""
    barrier: float = 155.0
    """Cost of waiting at a barrier, in instructions of a thread, where one block has a multiprocessor to itself."""
    base_registers: float = 12.0
    """Registers of a thread beside those that it computes with."""
    exchange_registers: float = 22.5
    """Registers of a thread beside those that it computes with, where rows are exchanged."""
    least_registers: float = 32.0
    """Registers of a thread that the compiler is always left."""
    live_window: float = 0.42
    """Registers that a sweep needs, per value of the windows of rows: sums take the place of rows."""
    live_loads: float = 1.06
    """Registers that a sweep needs, per value loaded."""
    live_terms: float = 0.07
    """Registers per value read by the stage that reads most: the compiler mixes neighbouring points."""
    packed_rows: float = 1.7
    """Registers to take apart and join rows of V points, two to a register, over (V / 2 - 2) * V / 8."""
    at_barrier: float = 1.13
    """Registers per value that is live across a barrier, if rows are exchanged."""
    at_barrier_terms: float = 0.07
    """Registers per value read by the stage with most reads, if rows are exchanged."""
    code_limit: float = 3000.0
    """Instructions of one thread's straight-line code from which fetching them costs."""
    code_penalty: float = 1.63
    """Share of time that each further CODE_LIMIT of instructions adds."""
    issue_overhead: float = 0.793
    """Instructions issued over instructions counted: addresses, moves, waits."""
    border: float = 0.105
    """Instructions that tiles at the edges of a picture take beyond those of others, as a share."""
    tail_us: float = 0.00208
    """Microseconds that the last block takes per instruction of a thread: nothing hides its latency."""
    guarded_tail: float = 0.268
    """Share by which that is longer where rows are not aligned to vectors: of the last blocks many are at edges of the
    picture, and guard each element."""
    full_issue_threads: float = 640.0
    """Threads resident on a multiprocessor from which instructions issue at full rate."""
    full_issue_power: float = 0.1
    """Exponent with which the rate falls with fewer."""
    cache_over_dram: float = 1.5
    """Rate of the L2 cache over that of DRAM, read and written together (copies: 6.1 against 4.28 TB/s)."""
    load_bytes_per_instruction: float = 0.64
    """Bytes that the first-level caches give in the time of one thread instruction: 128 against 128 x 0.72 a cycle."""
    touched_again: float = 0.05
    """Cost of loading bytes of lines that an earlier access of the lane touched, over loading them once: rows that
    are not aligned to vectors are loaded by several accesses."""
    store_again: float = 0.554
    """Share of a row's bytes by which each further access that stores it loads the L2 cache."""
    store_over_dram: float = 0.955
    """Rate at which the L2 cache takes stores, over that of DRAM."""
    in_flight: float = 34700.0
    """Bytes of loads in flight per multiprocessor from which DRAM is saturated."""
    narrow_rows: float = 0.0903
    """Share by which DRAM takes longer in tall blocks with rows half as long as 16 bytes per lane."""
    block_us: float = 0.0158
    """Microseconds that a multiprocessor takes to begin a block."""
    desynchronized: float = 0.114
    """Share of the shorter of loading and computing that a single wave of blocks does not hide behind the other."""
    overlap: float = 14.4
    """Overlap of the shorter with the longer: the power of their mean, with 1024 threads on a multiprocessor."""
    overlap_power: float = 1.42
    """Growth of that with the threads."""
    imbalance: float = 2.34
    """Share of the multiprocessors' time left idle by a last wave that is lost."""
    overlap_miss: float = 0.00005
    """Share of the overlapping part of input tiles that comes from DRAM and not from a cache."""


REGISTER_CONSTANTS = (
    "base_registers", "exchange_registers", "least_registers", "live_window", "live_loads", "live_terms",
    "packed_rows", "at_barrier", "at_barrier_terms",
)  # fmt: skip
"""Constants of registers, not of time."""

DEFAULTS = Calibration()


def user_file(model: str) -> Path:
    """Return the path of the user's constants for a GPU or for this machine's `cpu`, if the file exists."""
    from platformdirs import user_config_dir

    return Path(user_config_dir("tilefuse")) / "calibration" / f"{model}.toml"


@cache
def calibration(model: str) -> Calibration:
    """Return the constants for a GPU, by its name in `targets/gpus.toml`.

    Raises PipelineError, naming the file, for one that cannot be read.
    """
    from tilefuse import targets

    shipped = Path(targets.__file__).parent / "calibration" / f"{model}.toml"
    return next((read_calibration(path) for path in (user_file(model), shipped) if path.exists()), DEFAULTS)


def read_calibration(path: Path) -> Calibration:
    """Read constants from a file. Raises PipelineError, which names the file, if the contents are invalid."""
    return Calibration(**_numbers(path, {f.name for f in fields(Calibration)}))


def _numbers(path: Path, known: Collection[str]) -> dict[str, float]:
    try:
        found = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise PipelineError(f"{path}: {error}; mend the file, or remove it for the default constants") from error
    for name, value in found.items():
        if name not in known:
            raise PipelineError(f"{path}: no constant is called '{name}'; there are {', '.join(sorted(known))}")
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise PipelineError(f"{path}: {name} is {value!r}; it takes a number that is not negative")
    return {name: float(value) for name, value in found.items()}


@cache
def cpu_rates() -> dict[str, float]:
    """Return the rates of this machine's CPU that the user has measured, by their names in `targets/cpus.toml`."""
    from tilefuse.targets.cpus import RATES

    path = user_file("cpu")
    rates = _numbers(path, RATES) if path.exists() else {}
    if wrong := [name for name, rate in rates.items() if not rate]:
        raise PipelineError(f"{path}: {wrong[0]} is 0; it takes a number above")
    return rates


def calibration_text(constants: Calibration, origin: str) -> str:
    """Format `constants` as a calibration file, with a comment that gives their origin."""
    lines = [f"{f.name} = {getattr(constants, f.name):.5g}" for f in fields(constants)]
    return "\n".join([f"# {origin}", *lines]) + "\n"
