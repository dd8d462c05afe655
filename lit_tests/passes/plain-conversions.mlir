// RUN: pipeline-opt %s --split-input-file -p plain-conversions | filecheck %s

// What is clamped to bytes fits a signed number of 32 bits, and a byte.

// CHECK-LABEL: @clamped
func.func @clamped(%in: memref<?xf32>, %out: memref<?xi32>, %small: memref<?xi8>, %x: index) {
  %top = arith.constant 255.0 : f32
  %zero = arith.constant 0.0 : f32
  %p = memref.load %in[%x] : memref<?xf32>
  %below = arith.minnumf %p, %top : f32
  %v = arith.maxnumf %below, %zero : f32
  // CHECK: arith.fptosi %v {kernel.in_range} : f32 to i32
  %i = arith.fptoui %v : f32 to i32
  // CHECK: arith.fptoui %v {kernel.in_range} : f32 to i8
  %b = arith.fptoui %v : f32 to i8
  %t = arith.trunci %i : i32 to i8
  memref.store %t, %small[%x] : memref<?xi8>
  memref.store %b, %small[%x] : memref<?xi8>
  func.return
}

// -----

// A cast saturates where one side is open, as NaN may come from there, where the range is larger than the integer's,
// and where it is no pixel.

// CHECK-LABEL: @open
func.func @open(%in: memref<?xf32>, %out: memref<?xi32>, %small: memref<?xi8>, %x: index) {
  %top = arith.constant 256.0 : f32
  %low = arith.constant -1.5 : f32
  %p = memref.load %in[%x] : memref<?xf32>
  // CHECK: arith.fptoui %p : f32 to i32
  %i = arith.fptoui %p : f32 to i32
  %below = arith.minnumf %p, %top : f32
  // CHECK: arith.fptosi %below : f32 to i32
  %j = arith.fptosi %below : f32 to i32
  %v = arith.maxnumf %below, %low : f32
  // CHECK: arith.fptoui %v : f32 to i8
  %b = arith.fptoui %v : f32 to i8
  // CHECK: arith.fptosi %v : f32 to i32
  %k = arith.fptosi %v : f32 to i32
  memref.store %i, %out[%x] : memref<?xi32>
  memref.store %j, %out[%x] : memref<?xi32>
  memref.store %k, %out[%x] : memref<?xi32>
  memref.store %b, %small[%x] : memref<?xi8>
  func.return
}
