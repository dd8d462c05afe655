// Signless integers: casts only where signedness or width can be told apart.

// RUN: pipeline-opt %S/../Inputs/sharpen_u8.mlir -t cuda | filecheck %s

// CHECK:      // compile with: nvrtc --std=c++17 --gpu-architecture=sm_90
// CHECK-NEXT: typedef int idx;
// CHECK-NEXT: typedef unsigned int uidx;
// CHECK-EMPTY:
// CHECK-NEXT: static __device__ __forceinline__ idx max_idx(idx a, idx b) { return a > b ? a : b; }
// CHECK-NEXT: static __device__ __forceinline__ short max_s16(short a, short b) { return a > b ? a : b; }
// CHECK-NEXT: static __device__ __forceinline__ short min_s16(short a, short b) { return a < b ? a : b; }
// CHECK-NEXT: static __device__ __forceinline__ unsigned char f32_to_u8(float a) {
// CHECK-NEXT:   int n;
// CHECK-NEXT:   asm("cvt.rzi.u8.f32 %0, %1;" : "=r"(n) : "f"(a));
// CHECK-NEXT:   return n;
// CHECK-NEXT: }
// CHECK-EMPTY:
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(256, 4) sharpen_fn(
// CHECK-NEXT:     const unsigned char* __restrict__ in_, idx in_n0_, idx in_n1_, idx in_s0_,
// CHECK-NEXT:     unsigned char* __restrict__ out_, idx out_n0_, idx out_n1_, idx out_s0_,
// CHECK-NEXT:     unsigned char* __restrict__ bright_, idx bright_n0_, idx bright_n1_, idx bright_s0_, float gain_) {
// CHECK-NEXT:   const idx by_ = blockIdx.y;
// CHECK-NEXT:   const idx bx_ = blockIdx.x;
// CHECK-NEXT:   const idx ty_ = threadIdx.y;
// CHECK-NEXT:   const idx tx_ = threadIdx.x;
// CHECK-NEXT:   const idx x_ = bx_ * 64 + tx_;
// CHECK-NEXT:   const idx y_ = by_ * 4 + ty_;
// CHECK-NEXT:   if (x_ < in_n1_ && y_ < in_n0_) {
// CHECK-NEXT:     const unsigned char a8_ = in_[y_ * in_s0_ + x_];
// CHECK-NEXT:     const unsigned short low_ = max_s16((a8_ << 1) - in_[y_ * in_s0_ + max_idx(x_ - 1, 0)], 0);
// CHECK-NEXT:     out_[y_ * out_s0_ + x_] = min_s16(low_, 255);
// CHECK-NEXT:     bright_[y_ * bright_s0_ + x_] = f32_to_u8((float)a8_ * gain_);
// CHECK-NEXT:   }
// CHECK-NEXT: }
