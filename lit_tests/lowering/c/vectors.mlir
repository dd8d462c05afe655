// Vector types of GCC and Clang, moved without alignment.

// RUN: pipeline-opt %S/../Inputs/vectors.mlir -t c | filecheck %s

// CHECK:      // compile with: cc -O3 -march=native -fopenmp -fno-math-errno -ffp-contract=fast
// CHECK-NEXT: #include <stdbool.h>
// CHECK-NEXT: typedef int idx;
// CHECK-NEXT: typedef unsigned int uidx;
// CHECK-EMPTY:
// CHECK-NEXT: typedef float f32x4 __attribute__((vector_size(16)));
// CHECK-EMPTY:
// CHECK-NEXT: typedef unsigned char u8x16 __attribute__((vector_size(16)));
// CHECK-EMPTY:
// CHECK-NEXT: static inline f32x4 load_f32x4(const float* p) { f32x4 v; __builtin_memcpy(&v, p, sizeof v); return v; }
// CHECK-NEXT: static inline void store_f32x4(float* p, f32x4 v) { __builtin_memcpy(p, &v, sizeof v); }
// CHECK-NEXT: static inline f32x4 splat_f32x4(float a) {
// CHECK-NEXT:   return (f32x4){a, a, a, a};
// CHECK-NEXT: }
// CHECK-NEXT: static inline f32x4 make_f32x4(float a0, float a1, float a2, float a3) {
// CHECK-NEXT:   return (f32x4){a0, a1, a2, a3};
// CHECK-NEXT: }
// CHECK-NEXT: static inline u8x16 load_u8x16(const unsigned char* p) { u8x16 v; __builtin_memcpy(&v, p, sizeof v); return v; }
// CHECK-NEXT: static inline u8x16 splat_u8x16(unsigned char a) {
// CHECK-NEXT:   return (u8x16){
// CHECK-NEXT:     a, a, a, a,
// CHECK-NEXT:     a, a, a, a,
// CHECK-NEXT:     a, a, a, a,
// CHECK-NEXT:     a, a, a, a};
// CHECK-NEXT: }
// CHECK-NEXT: static inline void store_u8x16(unsigned char* p, u8x16 v) { __builtin_memcpy(p, &v, sizeof v); }
// CHECK-EMPTY:
// CHECK-NEXT: void vectors_fn(
// CHECK-NEXT:     const float* __restrict__ in_, idx in_n0_, idx in_n1_, idx in_s0_,
// CHECK-NEXT:     float* __restrict__ out_, idx out_n0_, idx out_n1_, idx out_s0_,
// CHECK-NEXT:     const unsigned char* __restrict__ bytes_, idx bytes_n0_,
// CHECK-NEXT:     unsigned char* __restrict__ inverted_, idx inverted_n0_) {
// CHECK-NEXT:   #pragma omp parallel for schedule(static)
// CHECK-NEXT:   for (idx by_ = 0; by_ < in_n0_; ++by_) {
// CHECK-NEXT:     unsigned char pool_[1024] __attribute__((aligned(64)));
// CHECK-NEXT:     float (*row_)[4] = (float (*)[4])pool_;
// CHECK-NEXT:     float* line_ = (float*)(pool_ + 512);
// CHECK-NEXT:     for (idx tx_ = 0; tx_ < 32; ++tx_) {
// CHECK-NEXT:       const idx x_ = tx_ * 4;
// CHECK-NEXT:       const f32x4 v_ = load_f32x4(&in_[by_ * in_s0_ + x_]);
// CHECK-NEXT:       store_f32x4(&row_[tx_][0], v_);
// CHECK-NEXT:       store_f32x4(&line_[x_], splat_f32x4(v_[0] + v_[3]));
// CHECK-NEXT:     }
// CHECK-NEXT:     for (idx tx_ = 0; tx_ < 32; ++tx_) {
// CHECK-NEXT:       const idx x_ = tx_ * 4;
// CHECK-NEXT:       float pixel_[4];
// CHECK-NEXT:       #pragma GCC unroll 64
// CHECK-NEXT:       for (idx i_ = 0; i_ < 4; ++i_) {
// CHECK-NEXT:         pixel_[i_] = row_[tx_][i_] * 2.0f + line_[x_ + i_];
// CHECK-NEXT:       }
// CHECK-NEXT:       const f32x4 whole_ = load_f32x4(&pixel_[0]);
// CHECK-NEXT:       store_f32x4(&out_[by_ * out_s0_ + x_], make_f32x4(whole_[3], whole_[2], whole_[1], pixel_[0]));
// CHECK-NEXT:       const idx at_ = tx_ * 16;
// CHECK-NEXT:       const u8x16 bs_ = load_u8x16(&bytes_[at_]);
// CHECK-NEXT:       store_u8x16(&inverted_[at_], splat_u8x16(255 - bs_[0] + bs_[15]));
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
