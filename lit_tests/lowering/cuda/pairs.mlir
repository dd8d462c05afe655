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
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(128) mean_fn(
// CHECK-NEXT:     const unsigned char* __restrict__ in_, idx in_n0_, idx in_n1_, idx in_s0_,
// CHECK-NEXT:     unsigned char* __restrict__ out_, idx out_n0_, idx out_n1_, idx out_s0_, bool border_, bool aligned_) {
// CHECK-NEXT:   unsigned int w_a_[1][4];
// CHECK-NEXT:   unsigned int w_c_[1][2];
// CHECK-NEXT:   const idx warp_ = threadIdx.y;
// CHECK-NEXT:   const idx lane_ = threadIdx.x;
// CHECK-NEXT:   if (aligned_) {
// CHECK-NEXT:     const unsigned int v_ = load_u8x4(&in_[(0 + warp_) * in_s0_ + 0 + (lane_ * 4 - 4)]);
// CHECK-NEXT:     const unsigned int v_1_ = v_;
// CHECK-NEXT:     w_a_[0][1] = v_1_ & 0xff00ffu;
// CHECK-NEXT:     w_a_[0][2] = __byte_perm(v_1_, 0u, 0x4341u);
// CHECK-NEXT:   } else {
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (idx v_ = 0; v_ < 2; ++v_) {
// CHECK-NEXT:       const idx i_ = lane_ * 4;
// CHECK-NEXT:       const idx i_1_ = 0 + warp_;
// CHECK-NEXT:       const unsigned int v_1_ = make_u16x2(in_[i_1_ * in_s0_ + 0 + (i_ + v_ - 4)], in_[i_1_ * in_s0_ + 0 + (i_ + (v_ + 2) - 4)]);
// CHECK-NEXT:       w_a_[0][v_ + 1] = v_1_;
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   const unsigned int v_ = w_a_[0][2];
// CHECK-NEXT:   const unsigned int v_1_ = __shfl_up_sync(0xffffffffu, v_, 1, 32);
// CHECK-NEXT:   w_a_[0][0] = __byte_perm(v_1_, v_, 0x5432);
// CHECK-NEXT:   const unsigned int v_2_ = w_a_[0][1];
// CHECK-NEXT:   const unsigned int v_3_ = __shfl_down_sync(0xffffffffu, v_2_, 1, 32);
// CHECK-NEXT:   w_a_[0][3] = __byte_perm(v_2_, v_3_, 0x5432);
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (idx v_4_ = 0; v_4_ < 2; ++v_4_) {
// CHECK-NEXT:     const unsigned int v_5_ = upper_u16x2(w_a_[0][v_4_] + w_a_[0][v_4_ + 1] + w_a_[0][v_4_ + 2], 0xaaabaaabu);
// CHECK-NEXT:     w_c_[0][v_4_] = (v_5_ >> 1) & 0x7fff7fffu;
// CHECK-NEXT:   }
// CHECK-NEXT:   const idx i_ = lane_ * 4;
// CHECK-NEXT:   const idx i_1_ = i_ - 4;
// CHECK-NEXT:   const bool test_ = lane_ >= 1 && lane_ < 31;
// CHECK-NEXT:   if (border_) {
// CHECK-NEXT:     if (test_) {
// CHECK-NEXT:       if (aligned_) {
// CHECK:              store_u8x4(&out_[i_2_ * out_s0_ + i_3_], __byte_perm(v_{{[0-9]+}}_, v_{{[0-9]+}}_, 0x6240));
// CHECK:              out_[i_2_ * out_s0_ + i_6_] = (unsigned short)(v_{{[0-9]+}}_ >> 16);
