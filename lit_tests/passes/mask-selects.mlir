// RUN: pipeline-opt %s -p mask-selects | filecheck %s

// In a loop to be vectorised booleans are chosen by bits; but not by what is alike for all columns, and no numbers are.

// CHECK-LABEL: @choose
func.func @choose(%bytes: memref<64xi8>, %out: memref<64xi1>, %found: memref<64xf32>, %alike: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %three = arith.constant 3 : i8
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  scf.for %x = %c0 to %c64 step %c1 {
    // CHECK:      %c = arith.cmpi ult, %v, %three : i8
    // CHECK-NEXT: %a = arith.cmpi eq, %v, %three : i8
    // CHECK-NEXT: [[DIFFER:%.*]] = arith.xori %c, %a : i1
    // CHECK-NEXT: [[MASKED:%.*]] = arith.andi %a, [[DIFFER]] : i1
    // CHECK-NEXT: %r = arith.xori [[MASKED]], %a : i1
    // CHECK-NEXT: %s = arith.select %alike, %r, %a : i1
    // CHECK-NEXT: %f = arith.select %c, %one, %zero : f32
    %v = memref.load %bytes[%x] : memref<64xi8>
    %c = arith.cmpi ult, %v, %three : i8
    %a = arith.cmpi eq, %v, %three : i8
    %r = arith.select %a, %c, %a : i1
    %s = arith.select %alike, %r, %a : i1
    %f = arith.select %c, %one, %zero : f32
    memref.store %s, %out[%x] : memref<64xi1>
    memref.store %f, %found[%x] : memref<64xf32>
  } {kernel.simd}
  // In any other loop it stays.
  // CHECK: arith.select %a_1, %c_1, %a_1 : i1
  scf.for %x = %c0 to %c64 step %c1 {
    %v = memref.load %bytes[%x] : memref<64xi8>
    %c_1 = arith.cmpi ult, %v, %three : i8
    %a_1 = arith.cmpi eq, %v, %three : i8
    %r = arith.select %a_1, %c_1, %a_1 : i1
    memref.store %r, %out[%x] : memref<64xi1>
  }
  func.return
}
