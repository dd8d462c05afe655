// RUN: pipeline-opt %s --split-input-file -p split-conversions | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p 'split-conversions{vector_bytes=16}' | filecheck %s --check-prefix=SMALL

// SMALL-NOT: kernel.convert

// A loop of few operations that stores bytes computes a vector of bytes at a time; the loop has the columns left.

// CHECK-LABEL: @bytes
func.func @bytes(%in: memref<?xi8>, %out: memref<?xi8>, %a: index, %b: index) {
  // CHECK:      [[LEFT:%.*]] = arith.remui {{%.*}}, {{%.*}} : index
  // CHECK-NEXT: arith.addi %a, {{%.*}} : index
  // CHECK-NEXT: [[FULL:%.*]] = arith.subi {{%.*}}, [[LEFT]] : index
  // CHECK-NEXT: scf.for %part = %a to [[FULL]] step {{%.*}} {
  // CHECK:        %wide_in = memref.alloca() : memref<32xf32, 3 : i64>
  // CHECK-NEXT:   %kept_out = memref.alloca() : memref<32xf32, 3 : i64>
  // CHECK-NEXT:   scf.for %i = {{%.*}} to {{%.*}} step {{%.*}} {
  // CHECK-NEXT:     [[AT:%.*]] = arith.addi %part, %i : index
  // CHECK-NEXT:     [[P:%.*]] = memref.load %in[[[AT]]]
  // CHECK-NEXT:     [[F:%.*]] = arith.uitofp [[P]] : i8 to f32
  // CHECK-NEXT:     memref.store [[F]], %wide_in[%i]
  // CHECK-NEXT:   } {kernel.convert}
  // CHECK-NEXT:   scf.for [[I:%.*]] = {{%.*}} to {{%.*}} step {{%.*}} {
  // CHECK-NEXT:     %x = arith.addi %part, [[I]] : index
  // CHECK-NEXT:     [[W:%.*]] = memref.load %wide_in[[[I]]]
  // CHECK-NEXT:     [[V:%.*]] = arith.mulf [[W]], [[W]] : f32
  // CHECK-NEXT:     memref.store [[V]], %kept_out[[[I]]]
  // CHECK-NEXT:   } {kernel.simd}
  // CHECK-NEXT:   scf.for [[J:%.*]] = {{%.*}} to {{%.*}} step {{%.*}} {
  // CHECK-NEXT:     [[K:%.*]] = memref.load %kept_out[[[J]]]
  // CHECK-NEXT:     [[N:%.*]] = arith.fptosi [[K]] {kernel.in_range} : f32 to i32
  // CHECK-NEXT:     [[Q:%.*]] = arith.trunci [[N]] : i32 to i8
  // CHECK-NEXT:     [[TO:%.*]] = arith.addi %part, [[J]] : index
  // CHECK-NEXT:     memref.store [[Q]], %out[[[TO]]]
  // CHECK-NEXT:   } {kernel.convert}
  // CHECK:      scf.for %x_1 = [[FULL]] to %b step %one {
  // CHECK-NOT:  kernel.simd
  %one = arith.constant 1 : index
  scf.for %x = %a to %b step %one {
    %p = memref.load %in[%x] : memref<?xi8>
    %f = arith.uitofp %p : i8 to f32
    %v = arith.mulf %f, %f : f32
    %i = arith.fptosi %v {kernel.in_range} : f32 to i32
    %r = arith.trunci %i : i32 to i8
    memref.store %r, %out[%x] : memref<?xi8>
  } {kernel.simd}
  func.return
}

// -----

// Loads alone are converted by vectors of wide elements, whatever their width.

// CHECK-LABEL: @loads
func.func @loads(%in: memref<?xi16>, %out: memref<?xf32>, %a: index, %b: index) {
  // CHECK:     memref.alloca() : memref<8xf32, 3 : i64>
  // CHECK:     arith.sitofp {{%.*}} : i16 to f32
  // CHECK:     {kernel.convert}
  %one = arith.constant 1 : index
  scf.for %x = %a to %b step %one {
    %p = memref.load %in[%x] : memref<?xi16>
    %f = arith.sitofp %p : i16 to f32
    %v = arith.mulf %f, %f : f32
    memref.store %v, %out[%x] : memref<?xf32>
  } {kernel.simd}
  func.return
}

// -----

// A cast that saturates is computed with the floats; its integers are truncated.

// CHECK-LABEL: @saturated
func.func @saturated(%in: memref<?xf32>, %out: memref<?xi8>, %a: index, %b: index) {
  // CHECK:     %kept_out = memref.alloca() : memref<32xi32, 3 : i64>
  // CHECK:     arith.fptoui {{%.*}} : f32 to i32
  // CHECK:     {kernel.simd}
  // CHECK:     arith.trunci {{%.*}} : i32 to i8
  // CHECK:     {kernel.convert}
  %one = arith.constant 1 : index
  scf.for %x = %a to %b step %one {
    %p = memref.load %in[%x] : memref<?xf32>
    %i = arith.fptoui %p : f32 to i32
    %r = arith.trunci %i : i32 to i8
    memref.store %r, %out[%x] : memref<?xi8>
  } {kernel.simd}
  func.return
}

// -----

// Floats that are limited to the range of a pixel are limited as they are converted.

// CHECK-LABEL: @limited
func.func @limited(%in: memref<?xf32>, %out: memref<?xi8>, %a: index, %b: index) {
  // CHECK:      [[F:%.*]] = memref.load %in
  // CHECK-NEXT: memref.store [[F]], %kept_out[{{%.*}}]
  // CHECK-NEXT: } {kernel.simd}
  // CHECK:      arith.minnumf
  // CHECK-NEXT: arith.maxnumf
  // CHECK-NEXT: arith.fptosi
  // CHECK-NEXT: arith.trunci
  // CHECK:      {kernel.convert}
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %most = arith.constant 255.0 : f32
  scf.for %x = %a to %b step %one {
    %p = memref.load %in[%x] : memref<?xf32>
    %least = arith.minnumf %p, %most : f32
    %inside = arith.maxnumf %least, %none : f32
    %i = arith.fptosi %inside {kernel.in_range} : f32 to i32
    %r = arith.trunci %i : i32 to i8
    memref.store %r, %out[%x] : memref<?xi8>
  } {kernel.simd}
  func.return
}

// -----

// A loop that loads every other element and one that reads what it stores stay.

// CHECK-LABEL: @others
// CHECK-NOT:   memref.alloca
func.func @others(%in: memref<?xi8>, %out: memref<?xi8>, %wide: memref<?xf32>, %a: index, %b: index) {
  %one = arith.constant 1 : index
  scf.for %x = %a to %b step %one {
    %y = arith.addi %x, %x : index
    %p = memref.load %in[%y] : memref<?xi8>
    %f = arith.uitofp %p : i8 to f32
    %v = arith.mulf %f, %f : f32
    memref.store %v, %wide[%x] : memref<?xf32>
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
