// RUN: pipeline-opt %s --split-input-file -p split-conversions | filecheck %s

// Floats of a part of the row are kept, and cast and stored by another loop.

// CHECK-LABEL: @bytes
func.func @bytes(%in: memref<?xf32>, %out: memref<?xi8>, %a: index, %b: index) {
  // CHECK-NEXT: %kept_out = memref.alloca() : memref<1024xf32, 3 : i64>
  // CHECK:      scf.for %part = %a to %b step {{%.*}} {
  // CHECK-NEXT:   [[OVER:%.*]] = arith.addi %part, {{%.*}} : index
  // CHECK-NEXT:   [[END:%.*]] = arith.minsi [[OVER]], %b : index
  // CHECK-NEXT:   scf.for %x = %part to [[END]] step %one {
  // CHECK:          [[V:%.*]] = arith.mulf
  // CHECK-NEXT:     [[AT:%.*]] = arith.subi %x, %part : index
  // CHECK-NEXT:     memref.store [[V]], %kept_out[[[AT]]]
  // CHECK-NEXT:   } {kernel.simd}
  // CHECK-NEXT:   scf.for [[X:%.*]] = %part to [[END]] step %one {
  // CHECK-NEXT:     [[THERE:%.*]] = arith.subi [[X]], %part : index
  // CHECK-NEXT:     [[KEPT:%.*]] = memref.load %kept_out[[[THERE]]]
  // CHECK-NEXT:     [[I:%.*]] = arith.fptosi [[KEPT]] : f32 to i32
  // CHECK-NEXT:     [[P:%.*]] = arith.trunci [[I]] : i32 to i8
  // CHECK-NEXT:     memref.store [[P]], %out[[[X]]]
  // CHECK-NEXT:   } {kernel.simd}
  %one = arith.constant 1 : index
  scf.for %x = %a to %b step %one {
    %p = memref.load %in[%x] : memref<?xf32>
    %v = arith.mulf %p, %p : f32
    %i = arith.fptosi %v : f32 to i32
    %r = arith.trunci %i : i32 to i8
    memref.store %r, %out[%x] : memref<?xi8>
  } {kernel.simd}
  func.return
}

// -----

// A loop that only casts, one whose pixels are half as wide, and one that reads what it stores stay.

// CHECK-LABEL: @others
// CHECK-NOT:   memref.alloca
func.func @others(%in: memref<?xf32>, %out: memref<?xi8>, %wide: memref<?xi16>, %a: index, %b: index) {
  %one = arith.constant 1 : index
  scf.for %x = %a to %b step %one {
    %p = memref.load %in[%x] : memref<?xf32>
    %r = arith.fptoui %p : f32 to i8
    memref.store %r, %out[%x] : memref<?xi8>
  } {kernel.simd}
  scf.for %x = %a to %b step %one {
    %p = memref.load %in[%x] : memref<?xf32>
    %v = arith.mulf %p, %p : f32
    %r = arith.fptoui %v : f32 to i16
    memref.store %r, %wide[%x] : memref<?xi16>
  } {kernel.simd}
  scf.for %x = %a to %b step %one {
    %p = memref.load %out[%x] : memref<?xi8>
    %f = arith.uitofp %p : i8 to f32
    %v = arith.mulf %f, %f : f32
    %r = arith.fptoui %v : f32 to i8
    memref.store %r, %out[%x] : memref<?xi8>
  } {kernel.simd}
  func.return
}

// -----

// Four rows share the room of one: parts are a fourth as long.

// CHECK-LABEL: @rows
func.func @rows(%in: memref<?xf32>, %out: memref<4x?xi8>, %a: index, %b: index) {
  // CHECK-COUNT-4: memref.alloca() : memref<256xf32, 3 : i64>
  // CHECK-NOT:     memref.alloca
  // CHECK:         [[STEP:%.*]] = arith.constant 256 : index
  // CHECK-NEXT:    scf.for %part = %a to %b step [[STEP]] {
  %one = arith.constant 1 : index
  %y0 = arith.constant 0 : index
  %y2 = arith.constant 2 : index
  %y3 = arith.constant 3 : index
  scf.for %x = %a to %b step %one {
    %p = memref.load %in[%x] : memref<?xf32>
    %v = arith.mulf %p, %p : f32
    %w = arith.mulf %v, %p : f32
    %i = arith.fptosi %v : f32 to i32
    %r = arith.trunci %i : i32 to i8
    %j = arith.fptosi %w : f32 to i32
    %s = arith.trunci %j : i32 to i8
    memref.store %r, %out[%y0, %x] : memref<4x?xi8>
    memref.store %s, %out[%one, %x] : memref<4x?xi8>
    memref.store %r, %out[%y2, %x] : memref<4x?xi8>
    memref.store %s, %out[%y3, %x] : memref<4x?xi8>
  } {kernel.simd}
  func.return
}
