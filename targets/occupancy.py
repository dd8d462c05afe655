"""Occupancy, the blocks of a kernel that an SM holds at once: NVIDIA's rules, with their allocation granularities."""

from __future__ import annotations

from dataclasses import dataclass

from tilefuse.targets.gpus import Gpu


class OccupancyError(ValueError):
    """Error: a block does not fit on an SM at all. `limits` has one sentence for each exceeded limit."""

    def __init__(self, gpu: Gpu, limits: tuple[str, ...]) -> None:
        super().__init__(f"the block does not fit on {gpu.name} ({gpu.arch}): {'; '.join(limits)}")
        self.limits = limits


@dataclass(frozen=True)
class Occupancy:
    """Blocks and warps that are resident on one SM."""

    blocks_per_sm: int
    fraction: float
    """Fraction of the warps that a multiprocessor can hold."""
    limited_by: str
    """`warps`, `blocks`, `registers` or `shared memory`: what allows the fewest blocks."""


def occupancy(gpu: Gpu, threads: int, registers_per_thread: int, shared_bytes: int) -> Occupancy:
    """Compute the occupancy for blocks of `threads` threads and `shared_bytes` of shared memory, static plus dynamic.

    `shared_bytes` is what the kernel asks for; what the system reserves is added here. Assumes the largest
    share of the SM's memory for shared memory. Raises OccupancyError if not even one block fits.
    """
    if limits := exceeded_limits(gpu, threads, registers_per_thread, shared_bytes):
        raise OccupancyError(gpu, limits)
    warps = -(-threads // gpu.warp_size)
    allowed = {
        "warps": gpu.max_warps_per_sm // warps,
        "blocks": gpu.max_blocks_per_sm,
        "registers": _warps_with_registers(gpu, registers_per_thread) // warps,
        "shared memory": gpu.shared_bytes_per_sm // max(_shared_allocation(gpu, shared_bytes), 1),
    }
    limited_by = min(allowed, key=lambda name: allowed[name])
    blocks = allowed[limited_by]
    return Occupancy(blocks, blocks * warps / gpu.max_warps_per_sm, limited_by)


def exceeded_limits(gpu: Gpu, threads: int, registers_per_thread: int, shared_bytes: int) -> tuple[str, ...]:
    """Return one sentence for each limit that a block exceeds; none if it can be launched."""
    found: list[str] = []
    if not 1 <= threads <= gpu.max_threads_per_block:
        found.append(f"{threads} threads, where a block has 1 to {gpu.max_threads_per_block}")
    if registers_per_thread > gpu.max_registers_per_thread:
        found.append(f"{registers_per_thread} registers per thread, at most {gpu.max_registers_per_thread}")
    else:
        # The hardware checks as if each partition got the same number of warps.
        warps = _round_up(-(-threads // gpu.warp_size), gpu.partitions)
        registers = warps * _registers_of_warp(gpu, registers_per_thread)
        if registers > gpu.registers_per_block:
            found.append(
                f"{registers} registers per block ({threads} threads of {registers_per_thread}), "
                f"at most {gpu.registers_per_block}"
            )
    if shared_bytes > gpu.shared_bytes_optin:
        found.append(f"{shared_bytes} bytes of shared memory, at most {gpu.shared_bytes_optin}")
    return tuple(found)


def _round_up(n: int, unit: int) -> int:
    return -(-n // unit) * unit


def _registers_of_warp(gpu: Gpu, registers_per_thread: int) -> int:
    return _round_up(registers_per_thread * gpu.warp_size, gpu.register_unit)


def _warps_with_registers(gpu: Gpu, registers_per_thread: int) -> int:
    """Return the warps that the register files of an SM hold, each partition on its own."""
    per_warp = max(_registers_of_warp(gpu, registers_per_thread), gpu.register_unit)
    return gpu.registers_per_sm // gpu.partitions // per_warp * gpu.partitions


def _shared_allocation(gpu: Gpu, shared_bytes: int) -> int:
    return _round_up(shared_bytes + gpu.shared_bytes_reserved, gpu.shared_unit)
