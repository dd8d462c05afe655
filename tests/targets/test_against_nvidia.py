"""Occupancy against NVIDIA's own `cuda_occupancy.h`, on random blocks; where a CUDA toolkit is installed."""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tilefuse.targets.gpus import gpu, gpu_names
from tilefuse.targets.occupancy import exceeded_limits, occupancy

PROGRAM = r"""
#include <cuda_occupancy.h>
#include <cstdio>
int main() {
  int major, minor, threads_sm, shared_sm, optin, reserved, threads, registers, shared;
  while (scanf("%d %d %d %d %d %d %d %d %d", &major, &minor, &threads_sm, &shared_sm, &optin, &reserved,
               &threads, &registers, &shared) == 9) {
    cudaOccDeviceProp device;
    device.computeMajor = major;
    device.computeMinor = minor;
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = threads_sm;
    device.regsPerBlock = device.regsPerMultiprocessor = 65536;
    device.warpSize = 32;
    device.sharedMemPerBlock = 49152;
    device.sharedMemPerMultiprocessor = shared_sm;
    device.numSms = 1;
    device.sharedMemPerBlockOptin = optin;
    device.reservedSharedMemPerBlock = reserved;
    cudaOccFuncAttributes kernel;
    kernel.maxThreadsPerBlock = 1024;
    kernel.numRegs = registers;
    kernel.sharedSizeBytes = 0;
    kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = optin;
    kernel.numBlockBarriers = 1;
    cudaOccDeviceState state;
    state.cacheConfig = CACHE_PREFER_SHARED;
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    cudaOccResult result;
    int error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, shared);
    printf("%d\n", error ? -1 : result.activeBlocksPerMultiprocessor);
  }
}
"""


def toolkit_include() -> Path | None:
    roots = [Path(os.environ["CUDA_HOME"])] if "CUDA_HOME" in os.environ else []
    roots += sorted(Path("/usr/local").glob("cuda*"), reverse=True)
    found = [path for root in roots for path in (root / "include", root / "targets/x86_64-linux/include")]
    return next((path for path in found if (path / "cuda_occupancy.h").exists()), None)


def test_random_blocks(tmp_path):
    include, compiler = toolkit_include(), shutil.which("c++")
    if include is None or compiler is None:
        pytest.skip("no CUDA toolkit with cuda_occupancy.h, or no C++ compiler, on this machine")
    rng = random.Random(3)
    cases, expected = [], []
    for arch in (name for name in gpu_names() if name.startswith("sm_")):
        row = gpu(arch)
        for _ in range(1000):
            threads = rng.choice([rng.randrange(1, 1025), 32 * rng.randrange(1, 33)])
            registers = rng.randrange(1, 256)
            shared = rng.choice([0, rng.randrange(row.shared_bytes_optin + 1) // 128 * 128])
            limits = exceeded_limits(row, threads, registers, shared)
            expected.append(0 if limits else occupancy(row, threads, registers, shared).blocks_per_sm)
            device = (*divmod(int(arch[3:]), 10), row.max_threads_per_sm, row.shared_bytes_per_sm)
            block = (row.shared_bytes_optin, row.shared_bytes_reserved, threads, registers, shared)
            cases.append(" ".join(map(str, (*device, *block))))
    (tmp_path / "occupancy.cpp").write_text(PROGRAM)
    command = [
        compiler,
        "-w",
        f"-I{include}",
        str(tmp_path / "occupancy.cpp"),
        "-o",
        str(tmp_path / "occupancy"),
    ]
    subprocess.run(command, check=True)
    done = subprocess.run([tmp_path / "occupancy"], input="\n".join(cases), capture_output=True, text=True, check=True)
    assert [int(line) for line in done.stdout.split()] == expected
