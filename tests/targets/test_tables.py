"""The tables of GPUs and of the host's CPU."""

import subprocess
import sys

import pytest

from tilefuse.analysis.machine import is_cpu, machine
from tilefuse.targets import cpus
from tilefuse.targets.cpus import UnknownCpu, cpu, cpu_names, host_cpu, of_cpuinfo
from tilefuse.targets.gpus import UnknownGpu, gpu, gpu_names, read_gpus


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


@pytest.mark.parametrize(("told", "cores"), [("1", 1), ("1,4", 1), ("9999", None), ("", None), ("all", None)])
def test_host_cpu_has_no_more_cores_than_openmp_uses(monkeypatch, told, cores):
    host_cpu.cache_clear()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    all_cores = host_cpu().cores
    host_cpu.cache_clear()
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    found = host_cpu().cores
    host_cpu.cache_clear()
    assert found == (cores or all_cores)


INTEL = "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 143\nmodel name : Intel(R) Xeon(R) Processor\n"
WIDE = "avx512f avx512bw avx512dq avx512vl"


@pytest.mark.parametrize(
    ("info", "machine", "row", "isa", "size"),
    [
        (f"{INTEL}flags : sse2 avx2 fma {WIDE}", "x86_64", "sapphire_rapids", "avx512", 64),
        (f"{INTEL}flags\t\t: sse2 avx2 fma", "x86_64", "sapphire_rapids", "avx2", 32),
        (f"flags : sse2 avx2 fma {WIDE}", "AMD64", "x86_64_avx512", "avx512", 64),
        ("flags\t\t: fpu sse2 avx", "x86_64", "x86_64", "x86_64", 16),
        ("Features : fp asimd\nCPU implementer : 0x41\nCPU part : 0xd40", "aarch64", "neoverse_v1", "neon", 16),
        ("", "arm64", "aarch64", "neon", 16),
        ("", "riscv64", "x86_64", "x86_64", 16),
    ],
)
def test_a_processor_has_a_row(info, machine, row, isa, size):
    found = of_cpuinfo(f"processor : 0\n{info}\n", machine)
    assert (found.name, found.isa, found.vector_bytes) == (row, isa, size)


def test_all_rows_of_cpus_are_plausible():
    for name in cpu_names():
        row = cpu(name)
        assert row.l1_bytes < row.l2_bytes < row.l3_bytes
        assert row.gbps / row.cores <= row.core_gbps < row.gbps
        assert row.vectors_per_ns <= row.strip_vectors_per_ns <= 3 * row.clock_ghz
        assert is_cpu(name)
        assert machine(name).instructions_per_us > machine(name).bytes_per_us


def test_unknown_cpus_are_answered_with_the_known_ones():
    with pytest.raises(UnknownCpu, match=r"unknown CPU 'zen9'; did you mean zen\d\?; known are x86_64, .*apple_m1"):
        cpu("zen9")


ISA = "[isa]\nmine = { vector_bytes = 16, registers = 16, machine = 'm', march = 'm', flags = [] }\n"
CPU = (
    "[cpu]\nmine = { isa = 'mine', ids = [], tune = '', cores = 2, l1_kib = 32, l2_kib = 64, l3_mib = 1, "
    "clock_ghz = 3, gbps = 8, core_gbps = 4, vectors_per_ns = 3, strip_vectors_per_ns = 3, start_us = 5 }\n"
)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cores = 2, ", "", r"cpus.toml: \[cpu\] mine needs cores"),
        ("start_us", "begin_us", r"\[cpu\] mine needs start_us"),
        ("cores = 2", "cores = 2, sockets = 1", "no key is called 'sockets'; there are clock_ghz"),
        ("isa = 'mine'", "isa = 'yours'", r"mine: there is no yours under \[isa\]; add that row"),
        ("registers = 16, ", "", r"\[isa\] mine needs registers"),
    ],
)
def test_a_wrong_row_of_a_cpu_is_named(old, new, message):
    assert cpus.read_cpus(ISA + CPU).cpus["mine"].cores == 2
    with pytest.raises(ValueError, match=message):
        cpus.read_cpus((ISA + CPU).replace(old, new))


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
    assert read_gpus(ARCH + GPU)["mine"].sms == 10


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
        read_gpus((ARCH + GPU).replace(old, new))
