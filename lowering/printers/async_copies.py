"""Printing of asynchronous copies from global to shared memory (`nvgpu.device_async_*`).

cp.async where a GPU has it (sm_80 and later; one source serves all), ordinary copies elsewhere.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.nvgpu import COPY_BYTES, DeviceAsyncCopyOp, DeviceAsyncWaitOp
from tilefuse.lowering.printers.c_types import byte_size
from tilefuse.lowering.printers.function_text import FunctionText
from tilefuse.lowering.printers.helper import Helper
from tilefuse.lowering.printers.memory import element

MOST_PENDING = 4
"""Groups of copies that a wait may leave out."""

_WORDS = {4: "unsigned int", 8: "uint2", 16: "uint4"}


def cuda_copies() -> dict[str, Helper]:
    """Return CUDA's helpers."""
    found: dict[str, Helper] = {}
    for size in COPY_BYTES:
        for name, kind in ((f"copy_async_{size}", "ca"), (f"copy_async_{size}_l2", "cg")):
            word = _WORDS[size]
            found[name] = Helper(
                f"void {name}(void* to, const void* from) {{\n"
                "#if __CUDA_ARCH__ >= 800\n"
                f'  asm volatile("cp.async.{kind}.shared.global [%0], [%1], {size};"\n'
                '    :: "r"((unsigned int)__cvta_generic_to_shared(to)), "l"(from) : "memory");\n'
                "#else\n"
                f"  *reinterpret_cast<{word}*>(to) = *reinterpret_cast<const {word}*>(from);\n"
                "#endif\n"
                "}"
            )
    for n in range(MOST_PENDING + 1):
        found[f"wait_copies_{n}"] = _when_async(f"wait_copies_{n}", f"cp.async.wait_group {n};")
    found["commit_copies"] = _when_async("commit_copies", "cp.async.commit_group;")
    return found


def _when_async(name: str, instruction: str) -> Helper:
    return Helper(
        f'void {name}() {{\n#if __CUDA_ARCH__ >= 800\n  asm volatile("{instruction}" ::: "memory");\n#endif\n}}'
    )


def c_copies() -> dict[str, Helper]:
    """Return C's helpers: copies are synchronous, and waits do nothing."""
    names = [(f"copy_async_{size}{l2}", size) for size in COPY_BYTES for l2 in ("", "_l2")]
    return {
        name: Helper(f"void {name}(void* to, const void* from) {{ __builtin_memcpy(to, from, {size}); }}")
        for name, size in names
    }


def print_async_copy(p: FunctionText, op: Operation) -> None:
    """Print `copy_async_16_l2(&tile[i], &in[j]);`."""
    assert isinstance(op, DeviceAsyncCopyOp)
    source_type = op.src.type
    assert isinstance(source_type, MemRefType)
    size = op.elements * byte_size(source_type.element_type, op)
    if size not in COPY_BYTES or op.src_elements is not None:
        raise PipelineError(f"{op.name}: copies of {', '.join(map(str, COPY_BYTES))} bytes are printed, not {size}", op)
    name = p.library(f"copy_async_{size}{'_l2' if op.bypass_l1 is not None else ''}")
    source, target = (element(p, a, i, op) for a, i in ((op.src, op.src_indices), (op.dst, op.dst_indices)))
    p.flush_reads()
    p.line(f"{name}(&{target.text}, &{source.text});")


def print_async_group(p: FunctionText, op: Operation) -> None:
    """Print `commit_copies();`."""
    if "commit_copies" in p.language.library:
        p.line(f"{p.library('commit_copies')}();")


def print_async_wait(p: FunctionText, op: Operation) -> None:
    """Print `wait_copies_0();`."""
    assert isinstance(op, DeviceAsyncWaitOp)
    if op.pending > MOST_PENDING:
        raise PipelineError(f"{op.name}: at most {MOST_PENDING} groups can stay pending, not {op.pending}", op)
    p.flush_reads()
    if "wait_copies_0" in p.language.library:
        p.line(f"{p.library(f'wait_copies_{op.pending}')}();")
