"""A call of few points on a CPU: one thread, no waiting, few microseconds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json, os, sys, time
import numpy as np
from _all import EXAMPLES
photo = np.random.default_rng(0).integers(0, 256, (2048, 2048, 3)).astype(np.uint8)
tasks = lambda: len(os.listdir("/proc/self/task"))
found = {}
for name, size in zip(sys.argv[1::2], map(int, sys.argv[2::2])):
    example = EXAMPLES[name]
    program = example.pipeline().compile("cpu")
    before = tasks()
    small = example.prepare(photo[:size, :size])
    out, least = program(small), 1.0
    for _ in range(1000):
        start = time.perf_counter()
        program(small, out=out)
        least = min(least, time.perf_counter() - start)
    begun = tasks() - before
    if name == sys.argv[-2]:
        program(example.prepare(photo))
    found[name] = begun, tasks() - before, least
print(json.dumps([found, {k: os.environ[k] for k in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}]))
"""
STENCILS = ("blur_f32", "blur_u8", "unsharp", "canny", "binomial")
UPDATES = ("iir_blur",)
# Rows and columns: 64 x 64 points of an update, of three colours, are few on CPUs of wide vectors alone.
SIZES = dict.fromkeys(UPDATES, 32) | dict.fromkeys(STENCILS, 64)


@pytest.fixture(scope="module")
def measured():
    """Of each example: threads begun by calls of few points, by one of 2048 x 2048, seconds of the quickest; and of
    OpenMP what it is told."""
    if not os.path.isdir("/proc/self/task"):
        pytest.skip("the system does not say how many threads there are")
    paths = os.pathsep.join([str(ROOT), str(ROOT / "examples"), os.environ.get("PYTHONPATH", "")])
    told = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    env = {**told, "PYTHONPATH": paths, "OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SCRIPT, *(str(word) for pair in SIZES.items() for word in pair)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_few_points_are_computed_by_one_thread(measured):
    found, _ = measured
    assert {name: begun for name, (begun, _, _) in found.items()} == dict.fromkeys(SIZES, 0)
    assert found[STENCILS[-1]][1] == 3, "many points are shared by all"


def test_a_call_of_few_points_takes_few_microseconds(measured):
    """Of the stencils whose points take less than that."""
    found, _ = measured
    for name in ("blur_f32", "blur_u8", "binomial"):
        assert found[name][2] < 20e-6, name


def test_spinning_is_bounded(measured):
    """Some milliseconds at most, whatever number of cores there is."""
    _, told = measured
    assert told["OMP_WAIT_POLICY"] == "passive"
    assert 0 < int(told["GOMP_SPINCOUNT"]) <= 30_000
