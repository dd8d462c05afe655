// Two points to a register: rows taken apart and joined, halves of neighbours, sums, and a division by a product.

// RUN: pipeline-opt %S/../Inputs/pairs.mlir -p lower-warp-tiles -t cuda | filecheck %s

// CHECK:      static __device__ __forceinline__ unsigned int load_u8x4(const unsigned char* p) { return *reinterpret_cast<const unsigned int*>(p); }
// CHECK-NEXT: static __device__ __forceinline__ unsigned int make_u16x2(
// CHECK-NEXT:     unsigned short a0, unsigned short a1) {
// CHECK-NEXT:   return (unsigned int)a0 | (unsigned int)a1 << 16;
// CHECK-NEXT: }
// CHECK-NEXT: static __device__ __forceinline__ unsigned int upper_u16x2(unsigned int a, unsigned int b) {
// CHECK-NEXT:   return __byte_perm((a & 0xffffu) * (b & 0xffffu), (a >> 16) * (b >> 16), 0x7632);
// CHECK-NEXT: }
// CHECK-NEXT: static __device__ __forceinline__ void store_u8x4(unsigned char* p, unsigned int v) { *reinterpret_cast<unsigned int*>(p) = v; }
// CHECK-EMPTY:
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(128) mean(
// CHECK-NEXT:     const unsigned char* __restrict__ in, idx in_n0, idx in_n1, idx in_s0,
// CHECK-NEXT:     unsigned char* __restrict__ out, idx out_n0, idx out_n1, idx out_s0, bool border, bool aligned) {
// CHECK-NEXT:   unsigned int w_a[1][4];
// CHECK-NEXT:   unsigned int w_c[1][2];
// CHECK-NEXT:   const idx warp = threadIdx.y;
// CHECK-NEXT:   const idx lane = threadIdx.x;
// CHECK-NEXT:   if (aligned) {
// CHECK-NEXT:     const unsigned int v = load_u8x4(&in[(0 + warp) * in_s0 + 0 + (lane * 4 - 4)]);
// CHECK-NEXT:     const unsigned int v_1 = v;
// CHECK-NEXT:     w_a[0][1] = v_1 & 0xff00ffu;
// CHECK-NEXT:     w_a[0][2] = __byte_perm(v_1, 0u, 0x4341u);
// CHECK-NEXT:   } else {
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (idx v = 0; v < 2; ++v) {
// CHECK-NEXT:       const idx i = lane * 4;
// CHECK-NEXT:       const idx i_1 = 0 + warp;
// CHECK-NEXT:       const unsigned int v_1 = make_u16x2(in[i_1 * in_s0 + 0 + (i + v - 4)], in[i_1 * in_s0 + 0 + (i + (v + 2) - 4)]);
// CHECK-NEXT:       w_a[0][v + 1] = v_1;
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   const unsigned int v = w_a[0][2];
// CHECK-NEXT:   const unsigned int v_1 = __shfl_up_sync(0xffffffffu, v, 1, 32);
// CHECK-NEXT:   w_a[0][0] = __byte_perm(v_1, v, 0x5432);
// CHECK-NEXT:   const unsigned int v_2 = w_a[0][1];
// CHECK-NEXT:   const unsigned int v_3 = __shfl_down_sync(0xffffffffu, v_2, 1, 32);
// CHECK-NEXT:   w_a[0][3] = __byte_perm(v_2, v_3, 0x5432);
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (idx v_4 = 0; v_4 < 2; ++v_4) {
// CHECK-NEXT:     const unsigned int v_5 = upper_u16x2(w_a[0][v_4] + w_a[0][v_4 + 1] + w_a[0][v_4 + 2], 0xaaabaaabu);
// CHECK-NEXT:     w_c[0][v_4] = (v_5 >> 1) & 0x7fff7fffu;
// CHECK-NEXT:   }
// CHECK-NEXT:   const idx i = lane * 4;
// CHECK-NEXT:   const idx i_1 = i - 4;
// CHECK-NEXT:   const bool test = lane >= 1 && lane < 31;
// CHECK-NEXT:   if (border) {
// CHECK-NEXT:     if (test) {
// CHECK-NEXT:       if (aligned) {
// CHECK:              store_u8x4(&out[i_2 * out_s0 + i_3], __byte_perm(v_{{[0-9]+}}, v_{{[0-9]+}}, 0x6240));
// CHECK:              out[i_2 * out_s0 + i_6] = (unsigned short)(v_{{[0-9]+}} >> 16);
