// RUN: pipeline-opt %s --split-input-file -p canonicalize | filecheck %s

// CHECK-LABEL: @signed
func.func @signed(%a: i32) -> (i32, i32, i32, i32) {
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  // CHECK-NEXT: %c3 = arith.constant 3 : i32
  // CHECK-NEXT: %q = arith.floordivsi %a, %c3 : i32
  // CHECK-NEXT: %c2 = arith.constant 2 : i32
  // CHECK-NEXT: %r = arith.shrsi %a, %c2 : i32
  // CHECK-NEXT: [[MASK:%.*]] = arith.constant 3 : i32
  // CHECK-NEXT: %m = arith.andi %a, [[MASK]] : i32
  // No arith op is a remainder that is never negative.
  // CHECK-NEXT: %n = img.mod signed %a, %c3 : i32
  %q = img.div signed %a, %c3 : i32
  %r = img.div signed %a, %c4 : i32
  %m = img.mod signed %a, %c4 : i32
  %n = img.mod signed %a, %c3 : i32
  func.return %q, %r, %m, %n : i32, i32, i32, i32
}

// -----

// CHECK-LABEL: @unsigned
func.func @unsigned(%a: i8) -> (i8, i8, i8) {
  // -56 : i8 is 200.
  %c200 = arith.constant -56 : i8
  %c128 = arith.constant -128 : i8
  // CHECK: %q = arith.divui %a, %c200 : i8
  // CHECK: %m = arith.remui %a, %c200 : i8
  // CHECK: %c7 = arith.constant 7 : i8
  // CHECK: %r = arith.shrui %a, %c7 : i8
  %q = img.div %a, %c200 : i8
  %m = img.mod %a, %c200 : i8
  %r = img.div %a, %c128 : i8
  func.return %q, %m, %r : i8, i8, i8
}

// -----

// CHECK-LABEL: @folded
// CHECK-NEXT: %m = arith.constant 1 : i8
// CHECK-NEXT: %q = arith.constant -3 : i8
// CHECK-NEXT: %z = arith.constant 0 : i8
// CHECK-NEXT: func.return %q, %m, %z, %a : i8, i8, i8, i8
func.func @folded(%a: i8) -> (i8, i8, i8, i8) {
  %c0 = arith.constant 0 : i8
  %c1 = arith.constant 1 : i8
  %c3 = arith.constant 3 : i8
  %cm8 = arith.constant -8 : i8
  %m = img.mod signed %cm8, %c3 : i8
  %q = img.div signed %cm8, %c3 : i8
  %z = img.div %a, %c0 : i8
  %s = img.div signed %a, %c1 : i8
  func.return %q, %m, %z, %s : i8, i8, i8, i8
}

// -----

// A divisor that is no constant, or a negative one, says nothing.

// CHECK-LABEL: @left
// CHECK:      img.div signed %a, %b : i8
// CHECK-NEXT: img.mod %a, %b : i8
// CHECK-NEXT: img.div signed %a, %cm3 : i8
func.func @left(%a: i8, %b: i8) -> (i8, i8, i8) {
  %cm3 = arith.constant -3 : i8
  %q = img.div signed %a, %b : i8
  %m = img.mod %a, %b : i8
  %n = img.div signed %a, %cm3 : i8
  func.return %q, %m, %n : i8, i8, i8
}
