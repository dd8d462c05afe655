// Loads stay before the stores that follow them; dynamic shared memory; a function with a result.

// RUN: pipeline-opt %S/../Inputs/phases.mlir -t cuda | filecheck %s

// CHECK:      // compile with: nvrtc --std=c++17 --gpu-architecture=sm_90
// CHECK-NEXT: typedef int idx;
// CHECK-NEXT: typedef unsigned int uidx;
// CHECK-EMPTY:
// CHECK-NEXT: static __device__ __forceinline__ float helper(float a, idx in) {
// CHECK-NEXT:   return a + (float)in;
// CHECK-NEXT: }
// CHECK-EMPTY:
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(64) phases(
// CHECK-NEXT:     float* __restrict__ x, float* __restrict__ float_1) {
// CHECK-NEXT:   extern __shared__ __align__(16) unsigned char tile_bytes[];
// CHECK-NEXT:   float* tile = (float*)tile_bytes;
// CHECK-NEXT:   {
// CHECK-NEXT:     const idx i = threadIdx.x;
// CHECK-NEXT:     const float w = helper(x[i], i);
// CHECK-NEXT:     tile[i] = w;
// CHECK-NEXT:   }
// CHECK-NEXT:   __syncthreads();
// CHECK-NEXT:   const idx i = threadIdx.x;
// CHECK-NEXT:   const float other = tile[63 - i];
// CHECK-NEXT:   const float before = x[i];
// CHECK-NEXT:   x[i] = other;
// CHECK-NEXT:   // what was there, and the mirror image
// CHECK-NEXT:   const float double_1 = before + other;
// CHECK-NEXT:   float_1[i] = double_1;
// CHECK-NEXT: }
