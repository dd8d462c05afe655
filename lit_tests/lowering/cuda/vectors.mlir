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
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(32) vectors(
// CHECK-NEXT:     const float* __restrict__ in, idx in_n0, idx in_n1, idx in_s0,
// CHECK-NEXT:     float* __restrict__ out, idx out_n0, idx out_n1, idx out_s0,
// CHECK-NEXT:     const unsigned char* __restrict__ bytes, idx bytes_n0,
// CHECK-NEXT:     unsigned char* __restrict__ inverted, idx inverted_n0) {
// CHECK-NEXT:   const idx by = blockIdx.x;
// CHECK-NEXT:   __shared__ __align__(16) unsigned char pool[1024];
// CHECK-NEXT:   float (*row)[4] = (float (*)[4])pool;
// CHECK-NEXT:   float* line = (float*)(pool + 512);
// CHECK-NEXT:   {
// CHECK-NEXT:     const idx tx = threadIdx.x;
// CHECK-NEXT:     const idx x = tx * 4;
// CHECK-NEXT:     const float4 v = load_f32x4(&in[by * in_s0 + x]);
// CHECK-NEXT:     store_f32x4(&row[tx][0], v);
// CHECK-NEXT:     store_f32x4(&line[x], splat_f32x4(v.x + v.w));
// CHECK-NEXT:   }
// CHECK-NEXT:   __syncthreads();
// CHECK-NEXT:   const idx tx = threadIdx.x;
// CHECK-NEXT:   const idx x = tx * 4;
// CHECK-NEXT:   __align__(16) float pixel[4];
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (idx i = 0; i < 4; ++i) {
// CHECK-NEXT:     pixel[i] = row[tx][i] * 2.0f + line[x + i];
// CHECK-NEXT:   }
// CHECK-NEXT:   const float4 whole = load_f32x4(&pixel[0]);
// CHECK-NEXT:   store_f32x4(&out[by * out_s0 + x], make_f32x4(whole.w, whole.z, whole.y, pixel[0]));
// CHECK-NEXT:   const idx at = tx * 16;
// CHECK-NEXT:   const uint4 bs = load_u8x16(&bytes[at]);
// CHECK-NEXT:   const uint4 splat = splat_u8x16(255 - bs.x + (unsigned char)(bs.w >> 24));
// CHECK-NEXT:   store_u8x16(&inverted[at], splat);
// CHECK-NEXT: }
