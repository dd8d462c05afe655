// Shared arrays, phases with barriers, block and thread loops as built-in indices, comments.

// RUN: pipeline-opt %S/../Inputs/blur.mlir -t cuda | filecheck %s

// CHECK:      // compile with: nvrtc --std=c++17 --gpu-architecture=sm_90
// CHECK-NEXT: typedef int idx;
// CHECK-NEXT: typedef unsigned int uidx;
// CHECK-EMPTY:
// CHECK-NEXT: static __device__ __forceinline__ idx min_idx(idx a, idx b) { return a < b ? a : b; }
// CHECK-NEXT: static __device__ __forceinline__ idx max_idx(idx a, idx b) { return a > b ? a : b; }
// CHECK-NEXT: static __device__ __noinline__ float div_any_f32(
// CHECK:      static __device__ __forceinline__ float div_by_f32(
// CHECK:      }
// CHECK-EMPTY:
// CHECK-NEXT: static __device__ __forceinline__ void blur_tile_fn(
// CHECK-NEXT:     const float* __restrict__ photo_, idx photo_n0_, idx photo_n1_, idx photo_s0_,
// CHECK-NEXT:     float* __restrict__ out_, idx out_n0_, idx out_n1_, idx out_s0_, idx x0_, idx y0_, bool border_) {
// CHECK-NEXT:   // photo, with a halo of 1
// CHECK-NEXT:   __shared__ __align__(16) float tile_[10][34];
// CHECK-NEXT:   // blur_x
// CHECK-NEXT:   __shared__ __align__(16) float blur_x_[10][33];
// CHECK-NEXT:   // load photo
// CHECK-NEXT:   {
// CHECK-NEXT:     const idx ty_ = threadIdx.y;
// CHECK-NEXT:     const idx tx_ = threadIdx.x;
// CHECK-NEXT:     for (idx y_ = ty_; y_ < 10; y_ += 8) {
// CHECK-NEXT:       for (idx x_ = tx_; x_ < 34; x_ += 32) {
// CHECK-NEXT:         const idx gx1_ = x0_ + x_ - 1;
// CHECK-NEXT:         const idx gy1_ = y0_ + y_ - 1;
// CHECK-NEXT:         const idx gx_ = border_ ? max_idx(min_idx(gx1_, photo_n1_ - 1), 0) : gx1_;
// CHECK-NEXT:         const idx gy_ = border_ ? max_idx(min_idx(gy1_, photo_n0_ - 1), 0) : gy1_;
// CHECK-NEXT:         tile_[y_][x_] = photo_[gy_ * photo_s0_ + gx_];
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   __syncthreads();
// CHECK-NEXT:   // blur_x
// CHECK-NEXT:   {
// CHECK-NEXT:     const idx ty_ = threadIdx.y;
// CHECK-NEXT:     const idx tx_ = threadIdx.x;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (idx y_ = ty_; y_ < 10; y_ += 8) {
// CHECK-NEXT:       const float r_ = div_by_f32(tile_[y_][tx_] + tile_[y_][tx_ + 1] + tile_[y_][tx_ + 2], 3.0f, 0.3333333f, 1.9868216e-08f);
// CHECK-NEXT:       blur_x_[y_][tx_] = r_;
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   __syncthreads();
// CHECK-NEXT:   // blur_y
// CHECK-NEXT:   const idx ty_ = threadIdx.y;
// CHECK-NEXT:   const idx tx_ = threadIdx.x;
// CHECK-NEXT:   const idx x_ = x0_ + tx_;
// CHECK-NEXT:   const idx y_ = y0_ + ty_;
// CHECK-NEXT:   if (x_ < photo_n1_ && y_ < photo_n0_) {
// CHECK-NEXT:     const float abc_ = blur_x_[ty_][tx_] + blur_x_[ty_ + 1][tx_] + blur_x_[ty_ + 2][tx_];
// CHECK-NEXT:     out_[y_ * out_s0_ + x_] = div_by_f32(abc_, 3.0f, 0.3333333f, 1.9868216e-08f);
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-EMPTY:
// CHECK-NEXT: // blur_y(blur_x(photo))
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(256) blur_fn(
// CHECK-NEXT:     const float* __restrict__ photo_, idx photo_n0_, idx photo_n1_, idx photo_s0_,
// CHECK-NEXT:     float* __restrict__ out_, idx out_n0_, idx out_n1_, idx out_s0_) {
// CHECK-NEXT:   const idx by_ = blockIdx.y;
// CHECK-NEXT:   const idx bx_ = blockIdx.x;
// CHECK-NEXT:   const idx x0_ = bx_ * 32;
// CHECK-NEXT:   const idx y0_ = by_ * 8;
// CHECK-NEXT:   const bool interior_ = x0_ > 0 && y0_ > 0 && x0_ + 32 < out_n1_ && y0_ + 8 < out_n0_;
// CHECK-NEXT:   if (interior_) {
// CHECK-NEXT:     blur_tile_fn(photo_, photo_n0_, photo_n1_, photo_s0_, out_, out_n0_, out_n1_, out_s0_, x0_, y0_, false);
// CHECK-NEXT:   } else {
// CHECK-NEXT:     blur_tile_fn(photo_, photo_n0_, photo_n1_, photo_s0_, out_, out_n0_, out_n1_, out_s0_, x0_, y0_, true);
// CHECK-NEXT:   }
// CHECK-NEXT: }
