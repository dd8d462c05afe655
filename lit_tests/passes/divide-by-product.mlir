// RUN: pipeline-opt %s --split-input-file -p divide-by-product | filecheck %s

// The sum of three bytes is at most 765; 21846 is 65536 / 3, rounded up.

// CHECK-LABEL: @thirds
func.func @thirds(%a: i8, %b: i8, %c: i8) -> i16 {
  // CHECK:      %sum = arith.addi
  // CHECK-NEXT: [[FACTOR:%.*]] = arith.constant 21846 : i16
  // CHECK-NEXT: {{%.*}}, [[THIRD:%.*]] = arith.mului_extended %sum, [[FACTOR]] : i16
  // CHECK-NEXT: func.return [[THIRD]]
  %three = arith.constant 3 : i16
  %x = arith.extui %a : i8 to i16
  %y = arith.extui %b : i8 to i16
  %z = arith.extui %c : i8 to i16
  %xy = arith.addi %x, %y : i16
  %sum = arith.addi %xy, %z : i16
  %q = arith.divui %sum, %three : i16
  func.return %q : i16
}

// -----

// Of any number of 16 bits the product is not enough; powers of two are shifts; other widths stay.

// CHECK-LABEL: @others
// CHECK-NOT:   arith.mul
func.func @others(%a: i16, %b: i8) -> (i16, i16, i32) {
  %three = arith.constant 3 : i16
  %four = arith.constant 4 : i16
  %third = arith.constant 3 : i32
  %x = arith.extui %b : i8 to i16
  %y = arith.extui %b : i8 to i32
  %p = arith.divui %a, %three : i16
  %q = arith.divui %x, %four : i16
  %r = arith.divui %y, %third : i32
  func.return %p, %q, %r : i16, i16, i32
}
