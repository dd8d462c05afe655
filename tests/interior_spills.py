"""Registers that kernels spill in interior tiles, which are the majority."""

from xdsl.dialects import func

from tilefuse.execution.versions import leave_interior
from tilefuse.lowering.printers import print_cuda
from tilefuse.runtime.cuda.nvrtc import compile_report


def spilled_inside(module, name, arch):
    """Return the spilled bytes of a lowered kernel for `arch`, with the interior version alone."""
    module = module.clone()
    (kernel,) = (f for f in module.body.block.ops if isinstance(f, func.FuncOp) and f.sym_name.data == name)
    assert leave_interior(kernel)
    return compile_report(print_cuda(module, kernel=name), arch).spill_bytes[name]
