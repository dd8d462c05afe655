// Signless integers: casts only where signedness or width can be told apart.

// RUN: pipeline-opt %S/../Inputs/sharpen_u8.mlir -t cuda | filecheck %s

// CHECK:      // compile with: nvrtc --std=c++17 --gpu-architecture=sm_90
// CHECK-NEXT: typedef int idx;
// CHECK-NEXT: typedef unsigned int uidx;
// CHECK-EMPTY:
// CHECK-NEXT: static __device__ __forceinline__ idx max_idx(idx a, idx b) { return a > b ? a : b; }
// CHECK-NEXT: static __device__ __forceinline__ short max_s16(short a, short b) { return a > b ? a : b; }
// CHECK-NEXT: static __device__ __forceinline__ short min_s16(short a, short b) { return a < b ? a : b; }
// CHECK-NEXT: static __device__ __forceinline__ unsigned char f32_to_u8(float a) { return min(__float2uint_rz(a), 255u); }
// CHECK-EMPTY:
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(256, 4) sharpen(
// CHECK-NEXT:     const unsigned char* __restrict__ in, idx in_n0, idx in_n1, idx in_s0,
// CHECK-NEXT:     unsigned char* __restrict__ out, idx out_n0, idx out_n1, idx out_s0,
// CHECK-NEXT:     unsigned char* __restrict__ bright, idx bright_n0, idx bright_n1, idx bright_s0, float gain) {
// CHECK-NEXT:   const idx by = blockIdx.y;
// CHECK-NEXT:   const idx bx = blockIdx.x;
// CHECK-NEXT:   const idx ty = threadIdx.y;
// CHECK-NEXT:   const idx tx = threadIdx.x;
// CHECK-NEXT:   const idx x = bx * 64 + tx;
// CHECK-NEXT:   const idx y = by * 4 + ty;
// CHECK-NEXT:   if (x < in_n1 && y < in_n0) {
// CHECK-NEXT:     const unsigned char a8 = in[y * in_s0 + x];
// CHECK-NEXT:     const unsigned short low = max_s16((a8 << 1) - in[y * in_s0 + max_idx(x - 1, 0)], 0);
// CHECK-NEXT:     out[y * out_s0 + x] = min_s16(low, 255);
// CHECK-NEXT:     bright[y * bright_s0 + x] = f32_to_u8((float)a8 * gain);
// CHECK-NEXT:   }
// CHECK-NEXT: }
