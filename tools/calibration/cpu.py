"""Measurement of this machine's CPU: the rates of a row of `targets/cpus.toml`."""

from __future__ import annotations

import ctypes
from dataclasses import replace

from tilefuse.runtime.cpu.c_compiler import load_library
from tilefuse.targets.cpus import RATES, Cpu, host_cpu

COPIED = 4
"""Copied bytes over those of the last cache, at least; of each of both arrays."""
MOST_COPIED = 1 << 29
COUNTED = 19
"""Operations that the cost model counts for a point of a box of 3 x 3: loads, sums, a product, a store."""
ROW_POINTS = 1024
"""Points of a row of the box: all that it reads stays in the L1 cache."""

SOURCE = r"""
#include <omp.h>
#include <time.h>

static double now_(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double least_(double a, double b) { return a < b ? a : b; }

/* Seconds to read n floats and to write as many, by all threads. The first time they get the pages. */
double copy(float* restrict from, float* restrict to, long long n, int threads, int repeat) {
  double best = 1e9;
  for (int r = 0; r <= repeat; ++r) {
    double start = now_();
    #pragma omp parallel for simd schedule(static) num_threads(threads)
    for (long long i = 0; i < n; ++i) { to[i] = from[i] + (r ? 1.0f : 0.0f); }
    if (r) best = least_(best, now_() - start);
  }
  return best;
}

/* Seconds of 1000 rows of a box of 3 x 3 points. */
double box(const float* restrict rows, float* restrict out, long long n, int repeat) {
  double best = 1e9;
  const float *a = rows, *b = a + n + 2, *c = b + n + 2;
  for (int r = 0; r < repeat; ++r) {
    double start = now_();
    for (int k = 0; k < 1000; ++k) {
      #pragma omp simd
      for (long long i = 0; i < n; ++i)
        out[i] = (a[i] + a[i + 1] + a[i + 2] + b[i] + b[i + 1] + b[i + 2] + c[i] + c[i + 1] + c[i + 2]) * 0.1f;
      __asm__ volatile("" ::: "memory");
    }
    best = least_(best, now_() - start);
  }
  return best;
}

/* Seconds of 8 million additions, of which each waits for the one before: a cycle each. */
double chain(int repeat) {
  double best = 1e9;
  for (int r = 0; r < repeat; ++r) {
    unsigned long long x = 1, step = (unsigned long long)repeat;
    double start = now_();
    for (int k = 0; k < 1000000; ++k) {
#define ADD_ x += step; __asm__ volatile("" : "+r"(x));
      ADD_ ADD_ ADD_ ADD_ ADD_ ADD_ ADD_ ADD_
    }
    best = least_(best, now_() - start);
  }
  return best;
}

/* Seconds of a loop on all threads in which nothing is done. */
double start(int threads, int repeat) {
  double best = 1e9;
  for (int r = 0; r < repeat; ++r) {
    double start = now_();
    for (int k = 0; k < 10; ++k) {
      #pragma omp parallel num_threads(threads)
      __asm__ volatile("" ::: "memory");
    }
    best = least_(best, (now_() - start) / 10);
  }
  return best;
}
"""


def measured_cpu(repeat: int) -> Cpu:
    """Measure this machine's CPU; the best of `repeats` counts."""
    cpu = host_cpu()
    library = load_library(SOURCE, strict_float=False)
    for name in ("copy", "box", "chain", "start"):
        getattr(library, name).restype = ctypes.c_double
    floats = min(MOST_COPIED, max(1 << 26, COPIED * cpu.l3_bytes)) // 4
    a, b = (ctypes.c_float * floats)(), (ctypes.c_float * floats)()
    seconds = library.copy(a, b, ctypes.c_longlong(floats), cpu.cores, repeat)
    gbps = 8 * floats / seconds * 1e-9
    vector = COUNTED * ROW_POINTS * 1000 / library.box(a, b, ctypes.c_longlong(ROW_POINTS), 4 * repeat)
    return replace(
        cpu,
        gbps=gbps,
        core_gbps=gbps / cpu.cores,
        strip_vectors_per_ns=vector * 1e-9 / (cpu.vector_bytes / 4),
        clock_ghz=8e6 / library.chain(4 * repeat) * 1e-9,
        start_us=library.start(cpu.cores, 10 * repeat) * 1e6,
    )


def rates_text(cpu: Cpu, origin: str) -> str:
    """Format these rates as a file, with a comment that says where they come from."""
    return "\n".join([f"# {origin}", *(f"{name} = {getattr(cpu, name):.4g}" for name in RATES)]) + "\n"
