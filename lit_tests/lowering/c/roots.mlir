// Lane by lane, and a branch: compilers see to the rest.

// RUN: pipeline-opt %S/../Inputs/roots.mlir -t c | filecheck %s

// CHECK:      static inline f32x4 sqrt_f32x4(f32x4 a) {
// CHECK-NEXT:   return (f32x4){
// CHECK-NEXT:     sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])};
// CHECK-NEXT: }
// CHECK:        if (inside_) store_f32x4(&out_[x_], sqrt_f32x4(
// CHECK:        if (inside_) store_f64x2(&wide_out_[x_], sqrt_f64x2(
