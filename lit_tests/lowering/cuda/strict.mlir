// An operation that is strict is never contracted: intrinsics say so, of floats and doubles. The others are plain.

// RUN: pipeline-opt %s -t cuda | filecheck %s

// CHECK:      f_[0] = a_ * b_ - __fadd_rn(__fmul_rn(a_, b_), b_);
// CHECK-NEXT: d_[0] = __dsub_rn(__dmul_rn(c_, c_), c_);
func.func @strict(%a: f32, %b: f32, %c: f64, %f: memref<1xf32>, %d: memref<1xf64>) attributes {kernel.threads = array<i64: 1, 1, 1>} {
  %zero = arith.constant 0 : index
  %ab = arith.mulf %a, %b {img.strict} : f32
  %s = arith.addf %ab, %b {img.strict} : f32
  %m = arith.mulf %a, %b : f32
  %r = arith.subf %m, %s : f32
  memref.store %r, %f[%zero] : memref<1xf32>
  %cc = arith.mulf %c, %c {img.strict} : f64
  %e = arith.subf %cc, %c {img.strict} : f64
  memref.store %e, %d[%zero] : memref<1xf64>
  func.return
}
