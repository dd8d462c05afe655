// Loads stay before the stores that follow them; dynamic shared memory; a function with a result.

// RUN: pipeline-opt %S/../Inputs/phases.mlir -t cuda | filecheck %s

// CHECK:      // compile with: nvrtc --std=c++17 --gpu-architecture=sm_90
// CHECK-NEXT: typedef int idx;
// CHECK-NEXT: typedef unsigned int uidx;
// CHECK-EMPTY:
// CHECK-NEXT: static __device__ __forceinline__ float helper_fn(float a_, idx in_) {
// CHECK-NEXT:   return a_ + (float)in_;
// CHECK-NEXT: }
// CHECK-EMPTY:
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(64) phases_fn(
// CHECK-NEXT:     float* __restrict__ x_, float* __restrict__ float_) {
// CHECK-NEXT:   extern __shared__ __align__(16) unsigned char tile_bytes_[];
// CHECK-NEXT:   float* tile_ = (float*)tile_bytes_;
// CHECK-NEXT:   {
// CHECK-NEXT:     const idx i_ = threadIdx.x;
// CHECK-NEXT:     const float w_ = helper_fn(x_[i_], i_);
// CHECK-NEXT:     tile_[i_] = w_;
// CHECK-NEXT:   }
// CHECK-NEXT:   __syncthreads();
// CHECK-NEXT:   const idx i_ = threadIdx.x;
// CHECK-NEXT:   const float other_ = tile_[63 - i_];
// CHECK-NEXT:   const float before_ = x_[i_];
// CHECK-NEXT:   x_[i_] = other_;
// CHECK-NEXT:   // what was there, and the mirror image
// CHECK-NEXT:   const float double_ = before_ + other_;
// CHECK-NEXT:   float_[i_] = double_;
// CHECK-NEXT: }
