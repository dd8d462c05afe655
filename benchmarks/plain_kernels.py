"""Short CUDA kernels by hand for the algorithms of `algorithms.py`: a thread or block does the plain thing, well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

SOURCE = r"""
extern "C" {
// a thread goes down a column and up again, eight loads on their way
__global__ void recursive_blur(const float* __restrict__ in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= w) return;
  float last = in[x];
  out[x] = last;
  int y = 1;
  for (; y + 8 <= h; y += 8) {
    float v[8];
#pragma unroll
    for (int k = 0; k < 8; k++) v[k] = in[(size_t)(y + k) * w + x];
#pragma unroll
    for (int k = 0; k < 8; k++) out[(size_t)(y + k) * w + x] = last = last * 0.7f + v[k] * 0.3f;
  }
  for (; y < h; y++) out[(size_t)y * w + x] = last = last * 0.7f + in[(size_t)y * w + x] * 0.3f;
  for (y = h - 2; y >= 7; y -= 8) {
    float v[8];
#pragma unroll
    for (int k = 0; k < 8; k++) v[k] = out[(size_t)(y - k) * w + x];
#pragma unroll
    for (int k = 0; k < 8; k++) out[(size_t)(y - k) * w + x] = last = last * 0.7f + v[k] * 0.3f;
  }
  for (; y >= 0; y--) out[(size_t)y * w + x] = last = last * 0.7f + out[(size_t)y * w + x] * 0.3f;
}

// minima of the four widths of rows once per staged row, four bytes at a time
__global__ void disk_minimum(const unsigned char* __restrict__ in, unsigned char* out, int w, int h) {
  __shared__ __align__(16) unsigned char tile[40][144];
  int x0 = blockIdx.x * 128 - 8, y0 = blockIdx.y * 32 - 4, t = threadIdx.y * 32 + threadIdx.x;
  for (int i = t; i < 40 * 144; i += 256) {
    int x = min(max(x0 + i % 144, 0), w - 1), y = min(max(y0 + i / 144, 0), h - 1);
    tile[i / 144][i % 144] = in[(size_t)y * w + x];
  }
  __syncthreads();
  int lx = threadIdx.x * 4 + 8;
  const int reach[9] = {0, 2, 3, 3, 4, 3, 3, 2, 0};
  for (int r = threadIdx.y; r < 32; r += 8) {
    unsigned best = 0xffffffffu;
#pragma unroll
    for (int j = 0; j < 9; j++) {
      const unsigned* row = (const unsigned*)&tile[r + j][lx - 4];
      unsigned a = row[0], b = row[1], c = row[2];
      best = __vminu4(best, b);
#pragma unroll
      for (int k = 1; k <= 4; k++)
        if (k <= reach[j]) {
          best = __vminu4(best, k == 4 ? a : __funnelshift_r(a, b, 32 - 8 * k));
          best = __vminu4(best, k == 4 ? c : __funnelshift_r(b, c, 8 * k));
        }
    }
    int x = blockIdx.x * 128 + threadIdx.x * 4, y = blockIdx.y * 32 + r;
    if (y < h && x < w) *(unsigned*)(out + (size_t)y * w + x) = best;
  }
}

// sixteen points a thread, each plane read once
__global__ void brightest_channel(const uint4* __restrict__ in, uint4* out, long n) {
  long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 a = in[i], b = in[i + n], c = in[i + 2 * n], r;
  unsigned *pa = &a.x, *pb = &b.x, *pc = &c.x, *pr = &r.x;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    unsigned second = __vcmpgtu4(pb[k], pa[k]), most = __vmaxu4(pa[k], pb[k]), third = __vcmpgtu4(pc[k], most);
    pr[k] = (second & ~third & 0x01010101u) | (third & 0x02020202u);
  }
  out[i] = r;
}

// a point a thread, its four neighbours by way of the cache
__global__ void resized(const float* __restrict__ in, float* out, int w, int h, int ow, int oh, float factor) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= ow || y >= oh) return;
  float ax = (x + 0.5f) / factor - 0.5f, ay = (y + 0.5f) / factor - 0.5f;
  int i = (int)floorf(ax), j = (int)floorf(ay);
  float u = ax - i, v = ay - j;
  int i0 = min(max(i, 0), w - 1), i1 = min(max(i + 1, 0), w - 1);
  const float *r0 = in + (size_t)min(max(j, 0), h - 1) * w, *r1 = in + (size_t)min(max(j + 1, 0), h - 1) * w;
  float a = r0[i0] * (1 - u) + r0[i1] * u, b = r1[i0] * (1 - u) + r1[i1] * u;
  out[(size_t)y * ow + x] = a * (1 - v) + b * v;
}

// one block: a thread a row, two columns behind the thread above it; h is at most 1024
__global__ void dithered(const unsigned char* __restrict__ in, unsigned char* out, int w, int h) {
  extern __shared__ short errors[];  // per row, of three columns round and round
  int y = threadIdx.x, left = 0, above0 = 0, above1 = 0;
  for (int s = 0; s < w + 2 * h; s++) {
    int x = s - 2 * y;
    if (x >= 0 && x < w) {
      int above2 = y > 0 && x + 1 < w ? errors[(y - 1) * 4 + (x + 1) % 4] : 0;
      if (x == 0) above1 = y > 0 ? errors[(y - 1) * 4] : 0;
      int sum = left * 7 + above2 * 3 + above1 * 5 + above0;
      int value = in[y * w + x] + (sum >> 4), dot = value > 127 ? 255 : 0;
      left = value - dot;
      errors[y * 4 + x % 4] = left;
      out[y * w + x] = dot;
      above0 = above1;
      above1 = above2;
    }
    __syncthreads();
  }
}
}
"""

FACTOR = np.float32(0.75)


def _columns(w: int, h: int, *_: int) -> tuple[Any, ...]:
    return ((w + 31) // 32,), (32,), (np.int32(w), np.int32(h))


def _tiles(w: int, h: int, *_: int) -> tuple[Any, ...]:
    return ((w + 127) // 128, (h + 31) // 32), (32, 8), (np.int32(w), np.int32(h))


def _vectors(w: int, h: int, *_: int) -> tuple[Any, ...]:
    n = w * h // 16
    return ((n + 255) // 256,), (256,), (np.int64(n),)


def _points(w: int, h: int, ow: int, oh: int) -> tuple[Any, ...]:
    return ((ow + 31) // 32, (oh + 7) // 8), (32, 8), (*map(np.int32, (w, h, ow, oh)), FACTOR)


def _one_block(w: int, h: int, *_: int) -> tuple[Any, ...]:
    return (1,), (h,), (np.int32(w), np.int32(h))


_LAUNCHES: dict[str, Callable[..., tuple[Any, ...]]] = {
    "recursive_blur": _columns,
    "disk_minimum": _tiles,
    "brightest_channel": _vectors,
    "resized": _points,
    "dithered": _one_block,
}
"""From the sizes of the input and of the output: grid, block, and the arguments behind the pointers."""


def plain_kernel(name: str, sizes: tuple[int, int], results: tuple[int, int]) -> Callable[..., None] | None:
    """Return a call (inputs, out) of the kernel for an algorithm; None where there is none."""
    import cupy

    if name == "summed_area":  # two calls of a library
        return lambda inputs, out: cupy.cumsum(cupy.cumsum(inputs[0], 1), 0, out=out)
    if name not in _LAUNCHES:
        return None
    kernel = cupy.RawModule(code=SOURCE, options=("-std=c++17",)).get_function(name)
    grid, block, rest = _LAUNCHES[name](*sizes, *results)
    shared = 8 * sizes[1] if name == "dithered" else 0
    return lambda inputs, out: kernel(grid, block, (*inputs, out, *rest), shared_mem=shared)
