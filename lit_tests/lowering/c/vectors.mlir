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
// CHECK-NEXT: void vectors(
// CHECK-NEXT:     const float* __restrict__ in, idx in_n0, idx in_n1, idx in_s0,
// CHECK-NEXT:     float* __restrict__ out, idx out_n0, idx out_n1, idx out_s0,
// CHECK-NEXT:     const unsigned char* __restrict__ bytes, idx bytes_n0,
// CHECK-NEXT:     unsigned char* __restrict__ inverted, idx inverted_n0) {
// CHECK-NEXT:   #pragma omp parallel for schedule(static)
// CHECK-NEXT:   for (idx by = 0; by < in_n0; ++by) {
// CHECK-NEXT:     unsigned char pool[1024] __attribute__((aligned(64)));
// CHECK-NEXT:     float (*row)[4] = (float (*)[4])pool;
// CHECK-NEXT:     float* line = (float*)(pool + 512);
// CHECK-NEXT:     for (idx tx = 0; tx < 32; ++tx) {
// CHECK-NEXT:       const idx x = tx * 4;
// CHECK-NEXT:       const f32x4 v = load_f32x4(&in[by * in_s0 + x]);
// CHECK-NEXT:       store_f32x4(&row[tx][0], v);
// CHECK-NEXT:       store_f32x4(&line[x], splat_f32x4(v[0] + v[3]));
// CHECK-NEXT:     }
// CHECK-NEXT:     for (idx tx = 0; tx < 32; ++tx) {
// CHECK-NEXT:       const idx x = tx * 4;
// CHECK-NEXT:       float pixel[4];
// CHECK-NEXT:       #pragma GCC unroll 64
// CHECK-NEXT:       for (idx i = 0; i < 4; ++i) {
// CHECK-NEXT:         pixel[i] = row[tx][i] * 2.0f + line[x + i];
// CHECK-NEXT:       }
// CHECK-NEXT:       const f32x4 whole = load_f32x4(&pixel[0]);
// CHECK-NEXT:       store_f32x4(&out[by * out_s0 + x], make_f32x4(whole[3], whole[2], whole[1], pixel[0]));
// CHECK-NEXT:       const idx at = tx * 16;
// CHECK-NEXT:       const u8x16 bs = load_u8x16(&bytes[at]);
// CHECK-NEXT:       store_u8x16(&inverted[at], splat_u8x16(255 - bs[0] + bs[15]));
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
