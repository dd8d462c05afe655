"""What runs on a GPU: how many kernels, and that NVRTC compiles each without spilling registers in the interior."""

import pytest
import variants
from _all import EXAMPLES
from interior_spills import spilled_inside

from tilefuse.runtime.cuda.nvrtc import NvrtcNotFound, compile_report, supported_archs
from tilefuse.targets.gpus import gpu

KERNELS = {"blur_f32": 1, "blur_u8": 1, "blur_u16": 1, "unsharp": 1, "harris": 1, "stencil9": 1}
"""On an H200; the others are bounded below."""


@pytest.mark.parametrize("name", KERNELS)
def test_fused_into_one_kernel(name):
    assert len(EXAMPLES[name].pipeline().compile("h200").kernels) == KERNELS[name]


def test_canny_needs_at_most_two_kernels():
    assert 1 <= len(EXAMPLES["canny"].pipeline().compile("h200").kernels) <= 2


def archs():
    """The oldest that this NVRTC and we know, sm_80 and sm_90."""
    try:
        known = supported_archs()
    except NvrtcNotFound as error:
        pytest.skip(str(error))
    oldest = next(arch for arch in known if arch in ("sm_70", "sm_75", "sm_80"))
    return sorted({oldest, "sm_80", "sm_90"})


def check(example, arch):
    program = example.pipeline().compile(f"cuda:{arch}")
    report = compile_report(program.source(), gpu(arch).arch)
    kernels = program.kernels
    assert set(report.registers) == {kernel.name for kernel in kernels}
    module, spilled = program._current_kernels().module, [name for name, bytes in report.spill_bytes.items() if bytes]
    assert {spilled_inside(module, name, gpu(arch).arch) for name in spilled} <= {0}
    limit = gpu(arch).shared_bytes_per_block
    assert all(size <= limit for size in report.shared_bytes.values())


@pytest.mark.sweep
@pytest.mark.parametrize("name", variants.QUICK)
def test_nvrtc_compiles_every_kernel_without_spills(name):
    for arch in archs():
        check(variants.QUICK[name], arch)


def test_nvrtc_compiles_the_whole_chain_without_spills():
    check(EXAMPLES["stencil_chain"], "sm_90")
