"""The tables of GPUs and of the host's CPU."""

import subprocess
import sys

import pytest

from tilefuse.targets.cpus import host_cpu, vector_bytes
from tilefuse.targets.gpus import UnknownGpu, gpu, gpu_names, read_table


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("h200", "h200"),
        ("H200", "h200"),
        ("sm_90", "h100"),
        ("sm_70", "v100"),
        ("NVIDIA H200", "h200"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("NVIDIA GeForce RTX 4090", "rtx_4090"),
        ("Tesla V100-SXM2-16GB", "v100"),
        ("NVIDIA A10", "a10"),
    ],
)
def test_lookup(name, model):
    assert gpu(name).name == model


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(UnknownGpu, match=r"unknown GPU 'h20'; did you mean h200\?; known are v100, .*sm_121"):
        gpu("h20")
    with pytest.raises(UnknownGpu, match="unknown GPU 'abacus'; known are"):
        gpu("abacus")
    for name in ("", "cpu:h200", "h200:sm_75", "h200:"):
        with pytest.raises(UnknownGpu):
            gpu(name)


def test_all_rows_are_plausible():
    for name in gpu_names():
        row = gpu(name)
        assert row.shared_bytes_per_block <= row.shared_bytes_optin
        assert row.shared_bytes_optin + row.shared_bytes_reserved <= row.shared_bytes_per_sm
        assert row.max_threads_per_sm == 32 * row.max_warps_per_sm
        assert 0.5 * row.peak_dram_gbps < row.dram_gbps < row.peak_dram_gbps


def test_h200_has_the_bandwidth_that_was_measured():
    assert gpu("h200").dram_gbps == 4280
    assert gpu("h200").peak_dram_gbps == 4800


def test_host_cpu():
    cpu = host_cpu()
    assert cpu.cores >= 1
    assert 8 * 2**10 <= cpu.l1_bytes < cpu.l2_bytes
    assert cpu.vector_bytes in (16, 32, 64)


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("flags : sse2 avx2 avx512f", 64),
        ("flags\t\t: fpu sse2 avx avx2", 32),
        ("Features : fp asimd", 16),
        ("", 16),
    ],
)
def test_vector_width(line, size):
    assert vector_bytes(f"processor : 0\n{line}\n") == size


def test_the_tables_import_nothing_else_of_ours():
    program = (
        "import sys, tilefuse.targets.gpus as g, tilefuse.targets.cpus, tilefuse.targets.occupancy;"
        "g.gpu('h200');"
        "ours = [m for m in sys.modules if m.startswith('tilefuse.')];"
        "print([m for m in ours if not m.startswith('tilefuse.targets')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


ARCH = (
    "[arch]\nsm_90 = { blocks = 32, warps = 64, shared_kib = 228, shared_optin_kib = 227, shared_reserved = 1024, "
    "shared_unit = 128, lanes = 128 }\n"
)
GPU = (
    "[gpu]\nmine = { arch = 'sm_90', sms = 10, clock_ghz = 1.0, peak_dram_gbps = 100, l2_mib = 5, "
    "memory_gb = 8, launch_us = 2 }\n"
)


def test_a_row_of_a_gpu():
    assert read_table(ARCH + GPU)["mine"].sms == 10


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sms = 10, ", "", r"gpus.toml: \[gpu\] mine needs sms"),
        ("launch_us", "measured_gbps = 90, launch_us", "no key is called 'measured_gbps'; there are arch, clock_ghz"),
        ("'sm_90'", "'sm_91'", r"mine: there is no sm_91 under \[arch\]; add that row"),
        ("lanes = 128", "lane = 128", r"\[arch\] sm_90 needs lanes"),
    ],
)
def test_a_wrong_row_is_named(old, new, message):
    with pytest.raises(ValueError, match=message):
        read_table((ARCH + GPU).replace(old, new))
