// Shared arrays, phases with barriers, block and thread loops as built-in indices, comments.

// RUN: pipeline-opt %S/../Inputs/blur.mlir -t cuda | filecheck %s

// CHECK:      // compile with: nvrtc --std=c++17 --gpu-architecture=sm_90
// CHECK-NEXT: typedef int idx;
// CHECK-NEXT: typedef unsigned int uidx;
// CHECK-EMPTY:
// CHECK-NEXT: static __device__ __forceinline__ idx min_idx(idx a, idx b) { return a < b ? a : b; }
// CHECK-NEXT: static __device__ __forceinline__ idx max_idx(idx a, idx b) { return a > b ? a : b; }
// CHECK-EMPTY:
// CHECK-NEXT: static __device__ __forceinline__ void blur_tile(
// CHECK-NEXT:     const float* __restrict__ photo, idx photo_n0, idx photo_n1, idx photo_s0,
// CHECK-NEXT:     float* __restrict__ out, idx out_n0, idx out_n1, idx out_s0, idx x0, idx y0, bool border) {
// CHECK-NEXT:   // photo, with a halo of 1
// CHECK-NEXT:   __shared__ __align__(16) float tile[10][34];
// CHECK-NEXT:   // blur_x
// CHECK-NEXT:   __shared__ __align__(16) float blur_x[10][33];
// CHECK-NEXT:   // load photo
// CHECK-NEXT:   {
// CHECK-NEXT:     const idx ty = threadIdx.y;
// CHECK-NEXT:     const idx tx = threadIdx.x;
// CHECK-NEXT:     for (idx y = ty; y < 10; y += 8) {
// CHECK-NEXT:       for (idx x = tx; x < 34; x += 32) {
// CHECK-NEXT:         const idx gx1 = x0 + x - 1;
// CHECK-NEXT:         const idx gy1 = y0 + y - 1;
// CHECK-NEXT:         const idx gx = border ? max_idx(min_idx(gx1, photo_n1 - 1), 0) : gx1;
// CHECK-NEXT:         const idx gy = border ? max_idx(min_idx(gy1, photo_n0 - 1), 0) : gy1;
// CHECK-NEXT:         tile[y][x] = photo[gy * photo_s0 + gx];
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   __syncthreads();
// CHECK-NEXT:   // blur_x
// CHECK-NEXT:   {
// CHECK-NEXT:     const idx ty = threadIdx.y;
// CHECK-NEXT:     const idx tx = threadIdx.x;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (idx y = ty; y < 10; y += 8) {
// CHECK-NEXT:       blur_x[y][tx] = (tile[y][tx] + tile[y][tx + 1] + tile[y][tx + 2]) / 3.0f;
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   __syncthreads();
// CHECK-NEXT:   // blur_y
// CHECK-NEXT:   const idx ty = threadIdx.y;
// CHECK-NEXT:   const idx tx = threadIdx.x;
// CHECK-NEXT:   const idx x = x0 + tx;
// CHECK-NEXT:   const idx y = y0 + ty;
// CHECK-NEXT:   if (x < photo_n1 && y < photo_n0) {
// CHECK-NEXT:     const float abc = blur_x[ty][tx] + blur_x[ty + 1][tx] + blur_x[ty + 2][tx];
// CHECK-NEXT:     out[y * out_s0 + x] = abc / 3.0f;
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-EMPTY:
// CHECK-NEXT: // blur_y(blur_x(photo))
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(256) blur(
// CHECK-NEXT:     const float* __restrict__ photo, idx photo_n0, idx photo_n1, idx photo_s0,
// CHECK-NEXT:     float* __restrict__ out, idx out_n0, idx out_n1, idx out_s0) {
// CHECK-NEXT:   const idx by = blockIdx.y;
// CHECK-NEXT:   const idx bx = blockIdx.x;
// CHECK-NEXT:   const idx x0 = bx * 32;
// CHECK-NEXT:   const idx y0 = by * 8;
// CHECK-NEXT:   const bool interior = x0 > 0 && y0 > 0 && x0 + 32 < out_n1 && y0 + 8 < out_n0;
// CHECK-NEXT:   if (interior) {
// CHECK-NEXT:     blur_tile(photo, photo_n0, photo_n1, photo_s0, out, out_n0, out_n1, out_s0, x0, y0, false);
// CHECK-NEXT:   } else {
// CHECK-NEXT:     blur_tile(photo, photo_n0, photo_n1, photo_s0, out, out_n0, out_n1, out_s0, x0, y0, true);
// CHECK-NEXT:   }
// CHECK-NEXT: }
