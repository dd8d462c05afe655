// RUN: pipeline-opt %s -t c | filecheck %s

// A marked loop that only converts elements of 8 or 16 bits is a call; any other marked loop is a loop.

// CHECK:      typedef float floats
// CHECK:      static inline ints extend_u8(const unsigned char* a) {
// CHECK:      static inline void widen_u8_f32(float* restrict r, const unsigned char* restrict a, int n) {
// CHECK:      static inline void narrow_f32_i16(unsigned short* restrict r, const float* restrict a, int n) {
// CHECK-LABEL: void convert_fn(
func.func @convert(%in: memref<?x?xi8>, %out: memref<?xi16>, %d: memref<?xf64>, %y: index, %x: index) attributes {kernel.inline} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 32 : index
  %none = arith.constant 0.0 : f32
  %most = arith.constant 65535.0 : f32
  %wide = memref.alloca() : memref<32xf32, 3>
  // CHECK: widen_u8_f32(&wide_[0], &in_[y_ * in_n1_ + x_], 32);
  scf.for %i = %zero to %n step %one {
    %at = arith.addi %x, %i : index
    %p = memref.load %in[%y, %at] : memref<?x?xi8>
    %f = arith.uitofp %p : i8 to f32
    memref.store %f, %wide[%i] : memref<32xf32, 3>
  } {kernel.convert}
  // CHECK-NEXT: narrow_f32_i16(&out_[x_], &wide_[0], 32);
  scf.for %i = %zero to %n step %one {
    %f = memref.load %wide[%i] : memref<32xf32, 3>
    %s = arith.fptosi %f {kernel.in_range} : f32 to i32
    %t = arith.trunci %s : i32 to i16
    %at = arith.addi %x, %i : index
    memref.store %t, %out[%at] : memref<?xi16>
  } {kernel.convert}
  // CHECK-NEXT: saturate_f32_u16(&out_[x_], &wide_[0], 32);
  scf.for %i = %zero to %n step %one {
    %f = memref.load %wide[%i] : memref<32xf32, 3>
    %least = arith.minnumf %f, %most : f32
    %inside = arith.maxnumf %least, %none : f32
    %s = arith.fptosi %inside {kernel.in_range} : f32 to i32
    %t = arith.trunci %s : i32 to i16
    %at = arith.addi %x, %i : index
    memref.store %t, %out[%at] : memref<?xi16>
  } {kernel.convert}
  // CHECK-NEXT: #pragma omp simd
  // CHECK-NEXT: for (idx i_ = 0; i_ < 32; ++i_) {
  // CHECK-NEXT:   d_[x_ + i_] = (double)wide_[i_];
  scf.for %i = %zero to %n step %one {
    %f = memref.load %wide[%i] : memref<32xf32, 3>
    %e = arith.extf %f : f32 to f64
    %at = arith.addi %x, %i : index
    memref.store %e, %d[%at] : memref<?xf64>
  } {kernel.convert}
  // CHECK:      for (idx i_ = 0; i_ < 32; ++i_) {
  // CHECK-NEXT:   wide_[i_] = (float)in_[y_ * in_n1_ + i_ + i_];
  scf.for %i = %zero to %n step %one {
    %at = arith.addi %i, %i : index
    %p = memref.load %in[%y, %at] : memref<?x?xi8>
    %f = arith.uitofp %p : i8 to f32
    memref.store %f, %wide[%i] : memref<32xf32, 3>
  } {kernel.convert}
  func.return
}
