// Results of scf.if: unused ones are not printed; an empty branch turns the condition around.

// RUN: pipeline-opt %S/../Inputs/choose.mlir -t c | filecheck %s

// CHECK:      // compile with: cc -O3 -march=native -fopenmp -fno-math-errno -ffp-contract=fast
// CHECK-NEXT: #include <math.h>
// CHECK-NEXT: #include <stdbool.h>
// CHECK-NEXT: typedef int idx;
// CHECK-NEXT: typedef unsigned int uidx;
// CHECK-EMPTY:
// CHECK-NEXT: static inline idx ceildiv_idx(idx a, idx b) { return a / b + ((a % b != 0) & ((a < 0) == (b < 0))); }
// CHECK-EMPTY:
// CHECK-NEXT: void choose(
// CHECK-NEXT:     const float* __restrict__ in, idx in_n0, float* __restrict__ out, idx out_n0,
// CHECK-NEXT:     unsigned int* __restrict__ low, idx low_n0) {
// CHECK-NEXT:   #pragma omp parallel for schedule(static)
// CHECK-NEXT:   for (idx bx = 0; bx < ceildiv_idx(in_n0, 128); ++bx) {
// CHECK-NEXT:     for (idx tx = 0; tx < 128; ++tx) {
// CHECK-NEXT:       const idx x = bx * 128 + tx;
// CHECK-NEXT:       if (x < in_n0) {
// CHECK-NEXT:         const float v = in[x];
// CHECK-NEXT:         const bool positive = v > 0.0f;
// CHECK-NEXT:         float r;
// CHECK-NEXT:         if (positive) {
// CHECK-NEXT:           float root;
// CHECK-NEXT:           if (v > 1.0f) {
// CHECK-NEXT:             root = sqrtf(v);
// CHECK-NEXT:           } else {
// CHECK-NEXT:             root = v;
// CHECK-NEXT:           }
// CHECK-NEXT:           r = root;
// CHECK-NEXT:         } else {
// CHECK-NEXT:           r = -(v * 0.5f);
// CHECK-NEXT:         }
// CHECK-NEXT:         out[x] = r;
// CHECK-NEXT:         if (!positive) {
// CHECK-NEXT:           low[x] = 1;
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
