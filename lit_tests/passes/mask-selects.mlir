// RUN: pipeline-opt %s -p mask-selects | filecheck %s

// A choice between booleans is one of bits; of numbers it stays.

// CHECK-LABEL: @booleans
func.func @booleans(%c: i1, %a: i1, %b: i1) -> i1 {
  // CHECK-NEXT: [[DIFFER:%.*]] = arith.xori %a, %b : i1
  // CHECK-NEXT: [[MASKED:%.*]] = arith.andi %c, [[DIFFER]] : i1
  // CHECK-NEXT: %r = arith.xori [[MASKED]], %b : i1
  // CHECK-NEXT: func.return %r
  %r = arith.select %c, %a, %b : i1
  func.return %r : i1
}

// CHECK-LABEL: @numbers
func.func @numbers(%c: i1, %a: f32, %b: f32) -> f32 {
  // CHECK-NEXT: arith.select %c, %a, %b : f32
  %r = arith.select %c, %a, %b : f32
  func.return %r : f32
}
