// RUN: pipeline-opt %s --split-input-file -p split-lookups | filecheck %s

// Places in the table are found for a part of the row, by vectors; bytes are looked up by another loop.

// CHECK-LABEL: @bytes
func.func @bytes(%in: memref<?xi32>, %table: memref<?xi8>, %out: memref<?xi8>, %a: index, %b: index) {
  // CHECK-NEXT: %at_table = memref.alloca() : memref<1024xindex, 3 : i64>
  // CHECK:      scf.for %part = %a to %b step {{%.*}} {
  // CHECK:        scf.for %x = %part to [[END:%.*]] step %one {
  // CHECK:          [[I:%.*]] = arith.index_cast
  // CHECK-NEXT:     [[AT:%.*]] = arith.subi %x, %part : index
  // CHECK-NEXT:     memref.store [[I]], %at_table[[[AT]]]
  // CHECK-NEXT:   } {kernel.simd}
  // CHECK-NEXT:   scf.for [[X:%.*]] = %part to [[END]] step %one {
  // CHECK-NEXT:     [[THERE:%.*]] = arith.subi [[X]], %part : index
  // CHECK-NEXT:     [[KEPT:%.*]] = memref.load %at_table[[[THERE]]]
  // CHECK-NEXT:     [[P:%.*]] = memref.load %table[[[KEPT]]]
  // CHECK-NEXT:     memref.store [[P]], %out[[[X]]]
  // CHECK-NEXT:   }
  // CHECK-NOT:    kernel.simd
  %one = arith.constant 1 : index
  %two = arith.constant 2 : i32
  scf.for %x = %a to %b step %one {
    %v0 = memref.load %in[%x] : memref<?xi32>
    %v1 = arith.muli %v0, %v0 : i32
    %v2 = arith.addi %v1, %two : i32
    %v3 = arith.muli %v2, %v0 : i32
    %v4 = arith.addi %v3, %two : i32
    %v5 = arith.muli %v4, %v0 : i32
    %v6 = arith.addi %v5, %two : i32
    %v7 = arith.minsi %v6, %v0 : i32
    %v8 = arith.maxsi %v7, %two : i32
    %i = arith.index_cast %v8 : i32 to index
    %r = memref.load %table[%i] : memref<?xi8>
    memref.store %r, %out[%x] : memref<?xi8>
  } {kernel.simd}
  func.return
}

// -----

// A table of words is gathered; one that is read side by side is no lookup; of little work nothing is gained.

// CHECK-LABEL: @others
// CHECK-NOT:   memref.alloca
func.func @others(%in: memref<?xi32>, %words: memref<?xi32>, %bytes: memref<?xi8>, %out: memref<?xi32>, %low: memref<?xi8>, %a: index, %b: index) {
  %one = arith.constant 1 : index
  %two = arith.constant 2 : i32
  scf.for %x = %a to %b step %one {
    %v0 = memref.load %in[%x] : memref<?xi32>
    %v1 = arith.muli %v0, %v0 : i32
    %v2 = arith.addi %v1, %two : i32
    %v3 = arith.muli %v2, %v0 : i32
    %v4 = arith.addi %v3, %two : i32
    %v5 = arith.muli %v4, %v0 : i32
    %v6 = arith.addi %v5, %two : i32
    %v7 = arith.minsi %v6, %v0 : i32
    %v8 = arith.maxsi %v7, %two : i32
    %i = arith.index_cast %v8 : i32 to index
    %r = memref.load %words[%i] : memref<?xi32>
    memref.store %r, %out[%x] : memref<?xi32>
  } {kernel.simd}
  scf.for %x = %a to %b step %one {
    %v0 = memref.load %in[%x] : memref<?xi32>
    %v1 = arith.maxsi %v0, %two : i32
    %i = arith.index_cast %v1 : i32 to index
    %r = memref.load %bytes[%i] : memref<?xi8>
    memref.store %r, %low[%x] : memref<?xi8>
  } {kernel.simd}
  func.return
}
