// RUN: pipeline-opt %s --split-input-file -p compare-selects | filecheck %s

// A threshold of a threshold.

// CHECK-LABEL: @chosen_first
func.func @chosen_first(%c: i1, %v: f32) -> i1 {
  // CHECK-NEXT: %one = arith.constant 1.{{0*e\+00|0}} : f32
  // CHECK-NEXT: %s = arith.select %c, %one, %v : f32
  // CHECK-NEXT: [[OTHER:%.*]] = arith.cmpf oeq, %v, %one : f32
  // CHECK-NEXT: %r = arith.ori %c, [[OTHER]] : i1
  // CHECK-NEXT: func.return %r
  %one = arith.constant 1.0 : f32
  %s = arith.select %c, %one, %v : f32
  %r = arith.cmpf oeq, %s, %one : f32
  func.return %r : i1
}

// -----

// Where the constant does not pass, the condition must not hold.

// CHECK-LABEL: @chosen_last
func.func @chosen_last(%c: i1, %v: f32) -> i1 {
  // CHECK:      [[NOT:%.*]] = arith.xori %c, {{%.*}} : i1
  // CHECK-NEXT: [[OTHER:%.*]] = arith.cmpf ugt, %v, %one : f32
  // CHECK-NEXT: {{%.*}} = arith.constant true
  // CHECK-NEXT: [[HOLDS:%.*]] = arith.xori [[NOT]], {{%.*}} : i1
  // CHECK-NEXT: %r = arith.andi [[HOLDS]], [[OTHER]] : i1
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %s = arith.select %c, %v, %half : f32
  %r = arith.cmpf ugt, %s, %one : f32
  func.return %r : i1
}

// -----

// What is not constant in either part stays, and so does a NaN.

// CHECK-LABEL: @stays
func.func @stays(%c: i1, %v: f32, %w: f32) -> (i1, i1) {
  %one = arith.constant 1.0 : f32
  %nan = arith.constant 0x7fc00000 : f32
  // CHECK: %s = arith.select %c, %w, %v : f32
  // CHECK-NEXT: %r = arith.cmpf oeq, %s, %one : f32
  %s = arith.select %c, %w, %v : f32
  %r = arith.cmpf oeq, %s, %one : f32
  // CHECK-NEXT: %t = arith.select %c, %nan, %v : f32
  // CHECK-NEXT: %u = arith.cmpf oeq, %t, %one : f32
  %t = arith.select %c, %nan, %v : f32
  %u = arith.cmpf oeq, %t, %one : f32
  func.return %r, %u : i1, i1
}
