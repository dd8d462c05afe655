// Where CUDA's compiler would call a function for a division the text has a shorter one: of integers of 16 bits by a
// number that is not known, of f32 by a constant whose reciprocal in two parts gives the same bits. C has neither.

// RUN: pipeline-opt %s -t cuda | filecheck %s
// RUN: pipeline-opt %s -t c | filecheck %s --check-prefix=C

// CHECK:      int div_u16(int a, int b) {
// CHECK:      float div_by_f32(float a, float c, float high, float low) {
// CHECK-NEXT:   float q;
// CHECK-NEXT:   q = __fmaf_rn(a, high, __fmul_rn(a, low));
// CHECK-NEXT:   if (__builtin_expect((fabsf(q) < 0x1p-100f && a != 0.0f), 0)) q = div_any_f32(a, c);
// CHECK-LABEL: divisions_fn(
// CHECK:         div_u16(a_, b_)
// CHECK:         rem_s16(
// CHECK:         (int)w_ / b_
// CHECK:         a_ / 3
// CHECK:         div_by_f32(x_, 9.0f, 0.111111104f, 6.6227384e-09f)
// CHECK:         div_by_f32(x_, -9.0f, -0.111111104f, -6.6227384e-09f)
// CHECK:         x_ / 4.0f
// CHECK:         x_ / 0.33333334f
// CHECK:         x_ / y_
// C-NOT:       div_
func.func @divisions(%ints: memref<4xi32>, %floats: memref<5xf32>, %a: i8, %b: i8, %w: i32, %x: f32, %y: f32) attributes {kernel.inline} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %3 = arith.constant 3 : index
  %4 = arith.constant 4 : index
  %q = arith.divui %a, %b : i8
  %q32 = arith.extui %q : i8 to i32
  memref.store %q32, %ints[%0] : memref<4xi32>
  %r = arith.remsi %a, %b : i8
  %r32 = arith.extsi %r : i8 to i32
  memref.store %r32, %ints[%1] : memref<4xi32>
  %b32 = arith.extui %b : i8 to i32
  %wide = arith.divsi %w, %b32 : i32
  memref.store %wide, %ints[%2] : memref<4xi32>
  %three = arith.constant 3 : i8
  %third = arith.divui %a, %three : i8
  %third32 = arith.extui %third : i8 to i32
  memref.store %third32, %ints[%3] : memref<4xi32>
  %nine = arith.constant 9.0 : f32
  %minus = arith.constant -9.0 : f32
  %four = arith.constant 4.0 : f32
  %inexact = arith.constant 0.333333343 : f32
  %f0 = arith.divf %x, %nine : f32
  memref.store %f0, %floats[%0] : memref<5xf32>
  %f1 = arith.divf %x, %minus : f32
  memref.store %f1, %floats[%1] : memref<5xf32>
  %f2 = arith.divf %x, %four : f32
  memref.store %f2, %floats[%2] : memref<5xf32>
  %f3 = arith.divf %x, %inexact : f32
  memref.store %f3, %floats[%3] : memref<5xf32>
  %f4 = arith.divf %x, %y : f32
  memref.store %f4, %floats[%4] : memref<5xf32>
  func.return
}
