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
// CHECK-NEXT: void choose_fn(
// CHECK-NEXT:     const float* __restrict__ in_, idx in_n0_, float* __restrict__ out_, idx out_n0_,
// CHECK-NEXT:     unsigned int* __restrict__ low_, idx low_n0_) {
// CHECK-NEXT:   const idx nbx_ = ceildiv_idx(in_n0_, 128);
// CHECK-NEXT:   #pragma omp parallel for schedule(static)
// CHECK-NEXT:   for (idx bx_ = 0; bx_ < nbx_; ++bx_) {
// CHECK-NEXT:     for (idx tx_ = 0; tx_ < 128; ++tx_) {
// CHECK-NEXT:       const idx x_ = bx_ * 128 + tx_;
// CHECK-NEXT:       if (x_ < in_n0_) {
// CHECK-NEXT:         const float v_ = in_[x_];
// CHECK-NEXT:         const bool positive_ = v_ > 0.0f;
// CHECK-NEXT:         float r_;
// CHECK-NEXT:         if (positive_) {
// CHECK-NEXT:           float root_;
// CHECK-NEXT:           if (v_ > 1.0f) {
// CHECK-NEXT:             root_ = sqrtf(v_);
// CHECK-NEXT:           } else {
// CHECK-NEXT:             root_ = v_;
// CHECK-NEXT:           }
// CHECK-NEXT:           r_ = root_;
// CHECK-NEXT:         } else {
// CHECK-NEXT:           r_ = -(v_ * 0.5f);
// CHECK-NEXT:         }
// CHECK-NEXT:         out_[x_] = r_;
// CHECK-NEXT:         if (!positive_) {
// CHECK-NEXT:           low_[x_] = 1;
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
