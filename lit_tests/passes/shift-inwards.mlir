// RUN: pipeline-opt %s --split-input-file -p shift-inwards | filecheck %s

// A vector is of 64 bytes: whole ones from the first column on, then the last 64 columns if any are left.

// CHECK-LABEL: @row
func.func @row(%in: memref<?xi8>, %out: memref<?xi8>, %a: index, %b: index) {
  // CHECK:      [[VECTOR:%.*]] = arith.constant 64 : index
  // CHECK-NEXT: [[SPAN:%.*]] = arith.subi %b, %a : index
  // CHECK-NEXT: [[SOME:%.*]] = arith.maxsi [[SPAN]], {{%.*}} : index
  // CHECK-NEXT: [[LEFT:%.*]] = arith.remui [[SOME]], [[VECTOR]] : index
  // CHECK-NEXT: [[ALL:%.*]] = arith.addi %a, [[SOME]] : index
  // CHECK-NEXT: [[WHOLE:%.*]] = arith.subi [[ALL]], [[LEFT]] : index
  // CHECK-NEXT: [[ANY:%.*]] = arith.cmpi ne, [[LEFT]], {{%.*}} : index
  // CHECK-NEXT: [[BACK:%.*]] = arith.subi %b, [[VECTOR]] : index
  // CHECK-NEXT: [[LAST:%.*]] = arith.maxsi [[BACK]], %a : index
  // CHECK-NEXT: [[THEN:%.*]] = arith.select [[ANY]], [[LAST]], %b : index
  // CHECK-NEXT: scf.for %part = {{%.*}} to {{%.*}} step {{%.*}} {
  // CHECK-NEXT:   [[SECOND:%.*]] = arith.cmpi ne, %part, {{%.*}} : index
  // CHECK-NEXT:   [[START:%.*]] = arith.select [[SECOND]], [[THEN]], %a : index
  // CHECK-NEXT:   [[END:%.*]] = arith.select [[SECOND]], %b, [[WHOLE]] : index
  // CHECK-NEXT:   scf.for %x = [[START]] to [[END]] step %one {
  // CHECK:        } {kernel.simd}
  %one = arith.constant 1 : index
  scf.for %x = %a to %b step %one {
    %p = memref.load %in[%x] : memref<?xi8>
    memref.store %p, %out[%x] : memref<?xi8>
  } {kernel.simd, kernel.shift_inwards = 64 : i64}
  func.return
}

// -----

// No column is computed twice where a row is read that is stored; the request goes.

// CHECK-LABEL: @in_place
// CHECK-NEXT: arith.constant
// CHECK-NEXT: scf.for %x = %a to %b
// CHECK:      } {kernel.simd}
func.func @in_place(%out: memref<?xi8>, %a: index, %b: index) {
  %one = arith.constant 1 : index
  scf.for %x = %a to %b step %one {
    %p = memref.load %out[%x] : memref<?xi8>
    %q = arith.addi %p, %p : i8
    memref.store %q, %out[%x] : memref<?xi8>
  } {kernel.simd, kernel.shift_inwards = 64 : i64}
  func.return
}
