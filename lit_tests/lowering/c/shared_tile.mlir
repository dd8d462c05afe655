// Block loops under OpenMP, thread loops as loops, arrays of the block on the stack, no barrier.

// RUN: pipeline-opt %S/../Inputs/blur.mlir -t c | filecheck %s

// CHECK:      // compile with: cc -O3 -march=native -fopenmp -fno-math-errno -ffp-contract=fast
// CHECK-NEXT: #include <stdbool.h>
// CHECK-NEXT: typedef int idx;
// CHECK-NEXT: typedef unsigned int uidx;
// CHECK-EMPTY:
// CHECK-NEXT: static inline idx min_idx(idx a, idx b) { return a < b ? a : b; }
// CHECK-NEXT: static inline idx max_idx(idx a, idx b) { return a > b ? a : b; }
// CHECK-NEXT: static inline idx ceildiv_idx(idx a, idx b) { return a / b + ((a % b != 0) & ((a < 0) == (b < 0))); }
// CHECK-EMPTY:
// CHECK-NEXT: static inline __attribute__((always_inline)) void blur_tile(
// CHECK-NEXT:     const float* __restrict__ photo, idx photo_n0, idx photo_n1, idx photo_s0,
// CHECK-NEXT:     float* __restrict__ out, idx out_n0, idx out_n1, idx out_s0, idx x0, idx y0, bool border) {
// CHECK-NEXT:   // photo, with a halo of 1
// CHECK-NEXT:   float tile[10][34] __attribute__((aligned(64)));
// CHECK-NEXT:   // blur_x
// CHECK-NEXT:   float blur_x[10][33] __attribute__((aligned(64)));
// CHECK-NEXT:   // load photo
// CHECK-NEXT:   for (idx ty = 0; ty < 8; ++ty) {
// CHECK-NEXT:     for (idx tx = 0; tx < 32; ++tx) {
// CHECK-NEXT:       for (idx y = ty; y < 10; y += 8) {
// CHECK-NEXT:         for (idx x = tx; x < 34; x += 32) {
// CHECK-NEXT:           const idx gx1 = x0 + x - 1;
// CHECK-NEXT:           const idx gy1 = y0 + y - 1;
// CHECK-NEXT:           const idx gx = border ? max_idx(min_idx(gx1, photo_n1 - 1), 0) : gx1;
// CHECK-NEXT:           const idx gy = border ? max_idx(min_idx(gy1, photo_n0 - 1), 0) : gy1;
// CHECK-NEXT:           tile[y][x] = photo[gy * photo_s0 + gx];
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   // blur_x
// CHECK-NEXT:   for (idx ty = 0; ty < 8; ++ty) {
// CHECK-NEXT:     #pragma omp simd
// CHECK-NEXT:     for (idx tx = 0; tx < 32; ++tx) {
// CHECK-NEXT:       #pragma GCC unroll 64
// CHECK-NEXT:       for (idx y = ty; y < 10; y += 8) {
// CHECK-NEXT:         blur_x[y][tx] = (tile[y][tx] + tile[y][tx + 1] + tile[y][tx + 2]) / 3.0f;
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   // blur_y
// CHECK-NEXT:   for (idx ty = 0; ty < 8; ++ty) {
// CHECK-NEXT:     for (idx tx = 0; tx < 32; ++tx) {
// CHECK-NEXT:       const idx x = x0 + tx;
// CHECK-NEXT:       const idx y = y0 + ty;
// CHECK-NEXT:       if (x < photo_n1 && y < photo_n0) {
// CHECK-NEXT:         const float abc = blur_x[ty][tx] + blur_x[ty + 1][tx] + blur_x[ty + 2][tx];
// CHECK-NEXT:         out[y * out_s0 + x] = abc / 3.0f;
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-EMPTY:
// CHECK-NEXT: // blur_y(blur_x(photo))
// CHECK-NEXT: void blur(
// CHECK-NEXT:     const float* __restrict__ photo, idx photo_n0, idx photo_n1, idx photo_s0,
// CHECK-NEXT:     float* __restrict__ out, idx out_n0, idx out_n1, idx out_s0) {
// CHECK-NEXT:   #pragma omp parallel for collapse(2) schedule(static)
// CHECK-NEXT:   for (idx by = 0; by < ceildiv_idx(out_n0, 8); ++by) {
// CHECK-NEXT:     for (idx bx = 0; bx < ceildiv_idx(out_n1, 32); ++bx) {
// CHECK-NEXT:       const idx x0 = bx * 32;
// CHECK-NEXT:       const idx y0 = by * 8;
// CHECK-NEXT:       const bool interior = x0 > 0 && y0 > 0 && x0 + 32 < out_n1 && y0 + 8 < out_n0;
// CHECK-NEXT:       if (interior) {
// CHECK-NEXT:         blur_tile(photo, photo_n0, photo_n1, photo_s0, out, out_n0, out_n1, out_s0, x0, y0, false);
// CHECK-NEXT:       } else {
// CHECK-NEXT:         blur_tile(photo, photo_n0, photo_n1, photo_s0, out, out_n0, out_n1, out_s0, x0, y0, true);
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
