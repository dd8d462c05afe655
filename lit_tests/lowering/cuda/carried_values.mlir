// Values carried by a loop are variables, assigned all at once; infinity by its bits.

// RUN: pipeline-opt %S/../Inputs/rows.mlir -t cuda | filecheck %s

// CHECK:      // compile with: nvrtc --std=c++17 --gpu-architecture=sm_90
// CHECK-NEXT: typedef int idx;
// CHECK-NEXT: typedef unsigned int uidx;
// CHECK-EMPTY:
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(32) rows(
// CHECK-NEXT:     const float* __restrict__ in, idx in_n0, idx in_n1, idx in_s0,
// CHECK-NEXT:     float* __restrict__ sum, idx sum_n0, unsigned int* __restrict__ where, idx where_n0,
// CHECK-NEXT:     unsigned int* __restrict__ fib, idx fib_n0) {
// CHECK-NEXT:   const idx bx = blockIdx.x;
// CHECK-NEXT:   const idx tx = threadIdx.x;
// CHECK-NEXT:   const idx y = bx * 32 + tx;
// CHECK-NEXT:   if (y < in_n0) {
// CHECK-NEXT:     float acc = 0.0f;
// CHECK-NEXT:     float max_1 = __uint_as_float(0xff800000u);
// CHECK-NEXT:     unsigned int pos = 4294967295u;
// CHECK-NEXT:     for (idx x = 0; x < in_n1; ++x) {
// CHECK-NEXT:       const float v = in[y * in_s0 + x];
// CHECK-NEXT:       const bool greater = v > max_1;
// CHECK-NEXT:       acc = acc + v;
// CHECK-NEXT:       max_1 = greater ? v : max_1;
// CHECK-NEXT:       pos = greater ? (unsigned int)x : pos;
// CHECK-NEXT:     }
// CHECK-NEXT:     sum[y] = acc;
// CHECK-NEXT:     where[y] = pos;
// CHECK-NEXT:     unsigned int a = 0;
// CHECK-NEXT:     unsigned int b = 1;
// CHECK-NEXT:     for (idx i = 0; i < y; ++i) {
// CHECK-NEXT:       const unsigned int next = a + b;
// CHECK-NEXT:       a = b;
// CHECK-NEXT:       b = next;
// CHECK-NEXT:     }
// CHECK-NEXT:     fib[y] = a;
// CHECK-NEXT:   }
// CHECK-NEXT: }
