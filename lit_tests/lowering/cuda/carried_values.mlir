// Values carried by a loop are variables, assigned all at once; infinity by its bits.

// RUN: pipeline-opt %S/../Inputs/rows.mlir -t cuda | filecheck %s

// CHECK:      // compile with: nvrtc --std=c++17 --gpu-architecture=sm_90
// CHECK-NEXT: typedef int idx;
// CHECK-NEXT: typedef unsigned int uidx;
// CHECK-EMPTY:
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(32) rows_fn(
// CHECK-NEXT:     const float* __restrict__ in_, idx in_n0_, idx in_n1_, idx in_s0_,
// CHECK-NEXT:     float* __restrict__ sum_, idx sum_n0_, unsigned int* __restrict__ where_, idx where_n0_,
// CHECK-NEXT:     unsigned int* __restrict__ fib_, idx fib_n0_) {
// CHECK-NEXT:   const idx bx_ = blockIdx.x;
// CHECK-NEXT:   const idx tx_ = threadIdx.x;
// CHECK-NEXT:   const idx y_ = bx_ * 32 + tx_;
// CHECK-NEXT:   if (y_ < in_n0_) {
// CHECK-NEXT:     float acc_ = 0.0f;
// CHECK-NEXT:     float max_ = __uint_as_float(0xff800000u);
// CHECK-NEXT:     unsigned int pos_ = 4294967295u;
// CHECK-NEXT:     for (idx x_ = 0; x_ < in_n1_; ++x_) {
// CHECK-NEXT:       const float v_ = in_[y_ * in_s0_ + x_];
// CHECK-NEXT:       const bool greater_ = v_ > max_;
// CHECK-NEXT:       acc_ = acc_ + v_;
// CHECK-NEXT:       max_ = greater_ ? v_ : max_;
// CHECK-NEXT:       pos_ = greater_ ? (unsigned int)x_ : pos_;
// CHECK-NEXT:     }
// CHECK-NEXT:     sum_[y_] = acc_;
// CHECK-NEXT:     where_[y_] = pos_;
// CHECK-NEXT:     unsigned int a_ = 0;
// CHECK-NEXT:     unsigned int b_ = 1;
// CHECK-NEXT:     for (idx i_ = 0; i_ < y_; ++i_) {
// CHECK-NEXT:       const unsigned int next_ = a_ + b_;
// CHECK-NEXT:       a_ = b_;
// CHECK-NEXT:       b_ = next_;
// CHECK-NEXT:     }
// CHECK-NEXT:     fib_[y_] = a_;
// CHECK-NEXT:   }
// CHECK-NEXT: }
