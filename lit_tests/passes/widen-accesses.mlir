// RUN: pipeline-opt %s --split-input-file -p widen-accesses | filecheck %s

// Two bytes are loaded as one number of 16 bits, two are stored as one; what is left is a loop of its own.

// CHECK-LABEL: @bytes
func.func @bytes(%in: memref<?xi8>, %out: memref<?xi8>, %a: index, %b: index) {
  // CHECK:      [[SPAN:%.*]] = arith.subi %b, %a : index
  // CHECK-NEXT: [[SOME:%.*]] = arith.maxsi [[SPAN]], {{%.*}} : index
  // CHECK-NEXT: [[ROUNDS:%.*]] = arith.divui [[SOME]], {{%.*}} : index
  // CHECK-NEXT: [[END:%.*]] = arith.addi %a, [[SOME]] : index
  // CHECK-NEXT: [[LEFT:%.*]] = arith.remui [[SOME]], {{%.*}} : index
  // CHECK-NEXT: [[REST:%.*]] = arith.subi [[END]], [[LEFT]] : index
  // CHECK-NEXT: scf.for %k = {{%.*}} to [[ROUNDS]] step {{%.*}} {
  // CHECK:        [[LOADED:%.*]] = vector.load %in[{{%.*}}] : memref<?xi8>, vector<2xi8>
  // CHECK-NEXT:   [[CAST:%.*]] = vector.bitcast [[LOADED]] : vector<2xi8> to vector<1xi16>
  // CHECK-NEXT:   [[WORD:%.*]] = vector.extract [[CAST]][0] : i16 from vector<1xi16>
  // CHECK:        [[FIRST:%.*]] = arith.andi [[WORD]], {{%.*}} : i16
  // CHECK-NEXT:   [[TWICE:%.*]] = arith.addi [[FIRST]], [[FIRST]] : i16
  // CHECK:        [[SECOND:%.*]] = arith.shrui [[WORD]], {{%.*}} : i16
  // CHECK-NEXT:   [[OTHER:%.*]] = arith.addi [[SECOND]], [[SECOND]] : i16
  // CHECK:        [[LOW:%.*]] = arith.andi [[TWICE]], {{%.*}} : i16
  // CHECK:        [[HIGH:%.*]] = arith.shli [[OTHER]], {{%.*}} : i16
  // CHECK-NEXT:   [[BOTH:%.*]] = arith.ori [[LOW]], [[HIGH]] : i16
  // CHECK:        vector.store {{%.*}}, %out[{{%.*}}] : memref<?xi8>, vector<2xi8>
  // CHECK-NEXT: } {kernel.simd}
  // CHECK-NEXT: scf.for [[X:%.*]] = [[REST]] to %b step %one {
  // CHECK-NEXT:   {{%.*}} = memref.load %in[[[X]]]
  %one = arith.constant 1 : index
  scf.for %x = %a to %b step %one {
    %p = memref.load %in[%x] : memref<?xi8>
    %v = arith.extui %p : i8 to i16
    %sum = arith.addi %v, %v : i16
    %r = arith.trunci %sum : i16 to i8
    memref.store %r, %out[%x] : memref<?xi8>
  } {kernel.simd}
  func.return
}

// -----

// Numbers of one width alone: what is stored is as wide as what is computed.

// CHECK-LABEL: @mixed
// CHECK-NOT:   vector.load
func.func @mixed(%in: memref<?xi8>, %out: memref<?xi16>, %a: index, %b: index) {
  %one = arith.constant 1 : index
  scf.for %x = %a to %b step %one {
    %p = memref.load %in[%x] : memref<?xi8>
    %v = arith.extui %p : i8 to i16
    memref.store %v, %out[%x] : memref<?xi16>
  } {kernel.simd}
  func.return
}

// -----

// Every second pixel does not lie beside the last.

// CHECK-LABEL: @apart
// CHECK-NOT:   vector.load
func.func @apart(%in: memref<?xi8>, %out: memref<?xi8>, %a: index, %b: index) {
  %one = arith.constant 1 : index
  scf.for %x = %a to %b step %one {
    %twice = arith.addi %x, %x : index
    %p = memref.load %in[%twice] : memref<?xi8>
    %v = arith.extui %p : i8 to i16
    %sum = arith.addi %v, %v : i16
    %r = arith.trunci %sum : i16 to i8
    memref.store %r, %out[%x] : memref<?xi8>
  } {kernel.simd}
  func.return
}

// -----

// Of three pixels side by side the middle one is taken out of the first number for both.

// CHECK-LABEL: @shared
func.func @shared(%in: memref<?xi8>, %out: memref<?xi8>, %a: index, %b: index) {
  // CHECK:      scf.for %k
  // CHECK-COUNT-2: vector.load
  // CHECK-NOT:  vector.load
  // CHECK:      vector.store
  // CHECK:      scf.for
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  scf.for %x = %a to %b step %one {
    %x1 = arith.addi %x, %one : index
    %x2 = arith.addi %x, %two : index
    %p = memref.load %in[%x] : memref<?xi8>
    %q = memref.load %in[%x1] : memref<?xi8>
    %r = memref.load %in[%x2] : memref<?xi8>
    %v = arith.extui %p : i8 to i16
    %w = arith.extui %q : i8 to i16
    %u = arith.extui %r : i8 to i16
    %vw = arith.addi %v, %w : i16
    %sum = arith.addi %vw, %u : i16
    %s = arith.trunci %sum : i16 to i8
    memref.store %s, %out[%x] : memref<?xi8>
  } {kernel.simd}
  func.return
}
