// One instruction moves a vector; views of a byte pool; a private array.

// RUN: pipeline-opt %S/../Inputs/vectors.mlir -t cuda | filecheck %s

// CHECK:      // compile with: nvrtc --std=c++17 --gpu-architecture=sm_90
// CHECK-NEXT: typedef int idx;
// CHECK-NEXT: typedef unsigned int uidx;
// CHECK-EMPTY:
// CHECK-NEXT: static __device__ __forceinline__ float4 load_f32x4(const float* p) { return *reinterpret_cast<const float4*>(p); }
// CHECK-NEXT: static __device__ __forceinline__ void store_f32x4(float* p, float4 v) { *reinterpret_cast<float4*>(p) = v; }
// CHECK-NEXT: static __device__ __forceinline__ float4 splat_f32x4(float a) { return make_float4(a, a, a, a); }
// CHECK-NEXT: static __device__ __forceinline__ float4 make_f32x4(float a0, float a1, float a2, float a3) { return make_float4(a0, a1, a2, a3); }
// CHECK-NEXT: static __device__ __forceinline__ uint4 load_u8x16(const unsigned char* p) { return *reinterpret_cast<const uint4*>(p); }
// CHECK-NEXT: static __device__ __forceinline__ uint4 splat_u8x16(unsigned char a) {
// CHECK-NEXT:   const unsigned int w = a * 0x01010101u;
// CHECK-NEXT:   return make_uint4(w, w, w, w);
// CHECK-NEXT: }
// CHECK-NEXT: static __device__ __forceinline__ void store_u8x16(unsigned char* p, uint4 v) { *reinterpret_cast<uint4*>(p) = v; }
// CHECK-EMPTY:
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(32) vectors_fn(
// CHECK-NEXT:     const float* __restrict__ in_, idx in_n0_, idx in_n1_, idx in_s0_,
// CHECK-NEXT:     float* __restrict__ out_, idx out_n0_, idx out_n1_, idx out_s0_,
// CHECK-NEXT:     const unsigned char* __restrict__ bytes_, idx bytes_n0_,
// CHECK-NEXT:     unsigned char* __restrict__ inverted_, idx inverted_n0_) {
// CHECK-NEXT:   const idx by_ = blockIdx.x;
// CHECK-NEXT:   __shared__ __align__(16) unsigned char pool_[1024];
// CHECK-NEXT:   float (*row_)[4] = (float (*)[4])pool_;
// CHECK-NEXT:   float* line_ = (float*)(pool_ + 512);
// CHECK-NEXT:   {
// CHECK-NEXT:     const idx tx_ = threadIdx.x;
// CHECK-NEXT:     const idx x_ = tx_ * 4;
// CHECK-NEXT:     const float4 v_ = load_f32x4(&in_[by_ * in_s0_ + x_]);
// CHECK-NEXT:     store_f32x4(&row_[tx_][0], v_);
// CHECK-NEXT:     store_f32x4(&line_[x_], splat_f32x4(v_.x + v_.w));
// CHECK-NEXT:   }
// CHECK-NEXT:   __syncthreads();
// CHECK-NEXT:   const idx tx_ = threadIdx.x;
// CHECK-NEXT:   const idx x_ = tx_ * 4;
// CHECK-NEXT:   __align__(16) float pixel_[4];
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (idx i_ = 0; i_ < 4; ++i_) {
// CHECK-NEXT:     pixel_[i_] = row_[tx_][i_] * 2.0f + line_[x_ + i_];
// CHECK-NEXT:   }
// CHECK-NEXT:   const float4 whole_ = load_f32x4(&pixel_[0]);
// CHECK-NEXT:   store_f32x4(&out_[by_ * out_s0_ + x_], make_f32x4(whole_.w, whole_.z, whole_.y, pixel_[0]));
// CHECK-NEXT:   const idx at_ = tx_ * 16;
// CHECK-NEXT:   const uint4 bs_ = load_u8x16(&bytes_[at_]);
// CHECK-NEXT:   const uint4 splat_ = splat_u8x16(255 - bs_.x + (unsigned char)(bs_.w >> 24));
// CHECK-NEXT:   store_u8x16(&inverted_[at_], splat_);
// CHECK-NEXT: }
