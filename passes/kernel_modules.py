"""Lookup of kernels and functions in scheduled and lowered modules."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.lowering.abi import groups_of, kernel_name
from tilefuse.passes.lower_groups import by_kernel


def pipeline_in(module: ModuleOp) -> PipelineOp:
    """Return the pipeline of a module that has one."""
    return next(op for op in module.body.block.ops if isinstance(op, PipelineOp))


def groups_in(module: ModuleOp) -> list[GroupOp]:
    """Return the groups of the module's pipeline, in program order."""
    return groups_of(pipeline_in(module))


def kernel_names(module: ModuleOp) -> list[str]:
    """Return the kernel name of each group."""
    groups = groups_in(module)
    names = {group: kernel_name(alike[0]) for alike in by_kernel(groups) for group in alike}
    return [names[group] for group in groups]


def functions_in(module: ModuleOp) -> dict[str, func.FuncOp]:
    """Return the functions of a module by name."""
    return {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, func.FuncOp)}


def with_callees(module: ModuleOp, kernel: str) -> list[func.FuncOp]:
    """Return a kernel and the functions that it calls, callees first."""
    functions, found = functions_in(module), {}

    def visit(name: str) -> None:
        if name in functions and name not in found:
            for op in functions[name].walk():
                if isinstance(op, func.CallOp):
                    visit(op.callee.string_value())
            found[name] = functions[name]

    visit(kernel)
    return list(found.values())
