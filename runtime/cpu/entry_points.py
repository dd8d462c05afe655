"""Entry points of kernels in C: functions that take all arguments as one array of words."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import Float64Type, IndexType, IntegerType
from xdsl.ir import Attribute

from tilefuse.analysis.strides import static_strides
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.registry import model_of
from tilefuse.lowering.abi import kernel_args, kernel_name
from tilefuse.lowering.symbols import c_function_name


def entry_point(name: str) -> str:
    """Return the C function that takes a kernel's arguments as an array of 64-bit words."""
    return entry_of(c_function_name(name))


def entry_of(function: str) -> str:
    """Return the entry point of a kernel, from its C name."""
    return f"{function}_words"


def c_entry_points(groups: Sequence[GroupOp]) -> str:
    """Return the C text of an entry point for each kernel, to be placed after the kernels."""
    text = ["", "// Called by the runtime: the arguments of a kernel, as an array of 64-bit words."]
    # groups that one kernel serves have one entry point
    for group in {kernel_name(g): g for g in groups}.values():
        arguments: list[str] = []
        lines: list[str] = []
        count = 0

        def number(arguments: list[str] = arguments) -> None:
            arguments.append(f"(long long)a[{len(arguments)}]")

        for arg in kernel_args(group):
            if arg.kind == "scalar":
                kind = _float_type(arg.value.type)
                if kind is None:
                    number()
                    continue
                lines.append(f"  {kind} v{count}; __builtin_memcpy(&v{count}, a + {len(arguments)}, sizeof v{count});")
                arguments.append(f"v{count}")
                count += 1
                continue
            fixed = static_strides(arg.value)
            arguments.append(f"(void*)a[{len(arguments)}]")
            for _ in range(2 * len(fixed) + sum(f is None for f in fixed)):
                number()
        for workspace in model_of(group).workspaces(group):
            arguments.append(f"(void*)a[{len(arguments)}]")
            for _ in workspace.open_dims:
                number()
        name = kernel_name(group)
        text.append(f"void {entry_point(name)}(const unsigned long long* a) {{")
        text.extend(lines)
        text.append(f"  {c_function_name(name)}({', '.join(arguments)});\n}}")
    return "\n".join(text) + "\n"


def _float_type(type_: Attribute) -> str | None:
    if isinstance(type_, IntegerType | IndexType):
        return None
    return "double" if isinstance(type_, Float64Type) else "float"
