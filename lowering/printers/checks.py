"""Checks of the kernel-level rules that printers rely on, reported at the offending operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.dialects import arith, func, gpu, memref, scf
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, MemRefType, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.lowering.emit import PRIVATE, SHARED
from tilefuse.lowering.printers.memrefs import memref_bytes, space_of, stored_to
from tilefuse.targets.limits import MAX_THREADS_PER_BLOCK, STATIC_SHARED_LIMIT


def constant_value(value: SSAValue) -> int | None:
    """Return the value of an integer constant; None for any other value."""
    if isinstance(owner := value.owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def block_threads(kernel: func.FuncOp) -> tuple[int, int, int]:
    """Return the block's sizes, `kernel.threads`; PipelineError unless three, with a product of at most 1024."""
    attribute = kernel.attributes.get("kernel.threads")
    sizes = tuple(attribute.get_values()) if isinstance(attribute, DenseArrayBase) else ()
    if len(sizes) != 3 or any(int(n) < 1 for n in sizes) or prod(sizes) > MAX_THREADS_PER_BLOCK:
        raise PipelineError(
            f"@{kernel.sym_name.data}: kernel.threads must be array<i64: x, y, z>, "
            f"1 to {MAX_THREADS_PER_BLOCK} threads",
            kernel,
        )
    return int(sizes[0]), int(sizes[1]), int(sizes[2])


class ParallelThreshold(NamedTuple):
    """Least work for which several threads run a kernel: a product of numbers known at the call."""

    least: int
    factors: tuple[tuple[int, int], ...]
    """Arguments by number, each with the axis whose extent counts, or -1 where it is a number itself."""


def read_parallel_threshold(kernel: func.FuncOp | None) -> ParallelThreshold | None:
    """Read `kernel.parallel_threshold`, the least work for several threads; PipelineError if it is malformed."""
    attribute = kernel.attributes.get("kernel.parallel_threshold") if kernel is not None else None
    if kernel is None or attribute is None:
        return None
    found = tuple(map(int, attribute.get_values())) if isinstance(attribute, DenseArrayBase) else ()
    factors = tuple(zip(found[1::2], found[2::2], strict=False))
    types = kernel.function_type.inputs.data
    if len(found) != 1 + 2 * len(factors) or not all(_is_factor(types, *factor) for factor in factors):
        raise PipelineError(
            f"@{kernel.sym_name.data}: kernel.parallel_threshold must be array<i64: the least work, then per factor "
            "the number of an argument and an axis of it, -1 for an index>",
            kernel,
        )
    return ParallelThreshold(found[0], factors)


def _is_factor(types: Sequence[Attribute], number: int, axis: int) -> bool:
    if not 0 <= number < len(types):
        return False
    type = types[number]
    if isinstance(type, MemRefType):
        return 0 <= axis < type.get_num_dims()
    return axis == -1 and isinstance(type, IndexType)


@dataclass(frozen=True, slots=True)
class NestedOp:
    """An operation of a kernel or of its callees, with the levels of the enclosing loops."""

    op: Operation
    levels: frozenset[str]


def places_of(kernel: func.FuncOp, functions: dict[str, func.FuncOp]) -> list[NestedOp]:
    """List the operations of a kernel and of its callees, a callee once per list of enclosing loop levels."""
    found: list[NestedOp] = []
    called: set[tuple[func.FuncOp, frozenset[str]]] = set()

    def visit(block: Block, levels: frozenset[str]) -> None:
        for op in block.ops:
            found.append(NestedOp(op, levels))
            if op.regions:
                inner = levels
                level = op.attributes.get("kernel.level")
                if isinstance(level, StringAttr) and isinstance(op, scf.ForOp):
                    inner = levels | {level.data}
                for region in op.regions:
                    for child in region.blocks:
                        visit(child, inner)
            elif type(op) is func.CallOp and (callee := functions.get(op.callee.string_value())):
                if not callee.is_declaration and (callee, levels) not in called:
                    called.add((callee, levels))
                    visit(callee.body.block, levels)

    visit(kernel.body.block, frozenset())
    return found


def check_barriers(places: Sequence[NestedOp]) -> None:
    """Check that barriers stand between thread loops, not inside: a CPU runs threads one after the other."""
    for place in places:
        if type(place.op) is gpu.BarrierOp and _threads_of(place.levels):
            raise PipelineError("gpu.barrier inside of a thread loop; move it between thread loops", place.op)


def check_threads(kernel: func.FuncOp, places: Sequence[NestedOp]) -> None:
    """Check that thread loops cover the block exactly, and that each shared store in them is one thread's."""
    threads = block_threads(kernel)
    sizes = {f"thread_{axis}": size for axis, size in zip("xyz", threads, strict=True)}
    needed = {level for level, size in sizes.items() if size > 1}
    for place in places:
        level = place.op.attributes.get("kernel.level")
        if isinstance(level, StringAttr) and level.data in sizes and isinstance(place.op, scf.ForOp):
            if (upper := constant_value(place.op.ub)) != sizes[level.data]:
                found = "a bound that is not constant" if upper is None else f"{upper} iterations"
                raise PipelineError(
                    f"scf.for: the {level.data} loop has {found}, but kernel.threads of "
                    f"@{kernel.sym_name.data} says {sizes[level.data]}",
                    place.op,
                )
        target = stored_to(place.op)
        if target is not None and space_of(target.type) != PRIVATE and (missing := needed - place.levels):
            raise PipelineError(
                f"{place.op.name}: every thread of {', '.join(sorted(missing))} would store here; "
                "put it inside thread loops",
                place.op,
            )


def check_static_shared(kernel: func.FuncOp, places: Sequence[NestedOp]) -> None:
    """Check that static shared arrays fit in CUDA's 48 KiB; a kernel must request more at the launch."""
    arrays = {
        place.op: memref_bytes(place.op.memref.type, place.op)
        for place in places
        if isinstance(place.op, memref.AllocaOp) and space_of(place.op.memref.type) == SHARED
    }
    dynamic = [op for op in arrays if "kernel.dynamic_shared" in op.attributes]
    if len(dynamic) > 1:
        raise PipelineError("memref.alloca: only one array of a kernel can be kernel.dynamic_shared", dynamic[1])
    static = sum(size for op, size in arrays.items() if op not in dynamic)
    if static > STATIC_SHARED_LIMIT:
        raise PipelineError(
            f"@{kernel.sym_name.data} holds {static} bytes in static shared arrays, and CUDA allows "
            f"{STATIC_SHARED_LIMIT}; mark one memref.alloca with kernel.dynamic_shared",
            next(op for op in arrays if op not in dynamic),
        )


def _threads_of(levels: frozenset[str]) -> list[str]:
    return [level for level in levels if level.startswith("thread_")]
