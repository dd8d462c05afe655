// RUN: pipeline-opt %s --split-input-file -p "drop-zero-terms{fma=true}" | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p drop-zero-terms | filecheck %s --check-prefix=TWO

// The product of a sum and a positive number is +0 where the sum was, without FMA as with it.

// CHECK-LABEL: @mean
// CHECK:      [[SUM:%.*]] = arith.addf %p, %q : f32
// CHECK-NEXT: [[MEAN:%.*]] = math.fma [[SUM]], %third, %zero : f32
// CHECK-NEXT: func.return [[MEAN]]
// TWO-LABEL: @mean
// TWO:        arith.addf %zero, %p
// TWO:        arith.mulf
func.func @mean(%p: f32, %q: f32) -> f32 {
  %zero = arith.constant 0.0 : f32
  %third = arith.constant 0.5 : f32
  %a = arith.addf %zero, %p : f32
  %b = arith.addf %a, %q : f32
  %c = arith.mulf %b, %third : f32
  func.return %c : f32
}

// -----

// Integers are never -0, and a sum with such a term is not.

// CHECK-LABEL: @pixels
// CHECK-NOT:  %zero,
// CHECK:      [[SUM:%.*]] = arith.addf %p, %f : f32
// CHECK-NEXT: func.return [[SUM]]
// TWO-LABEL: @pixels
// TWO:        [[SUM:%.*]] = arith.addf %p, %f : f32
// TWO-NEXT:   func.return [[SUM]]
func.func @pixels(%p: f32, %i: i8) -> f32 {
  %zero = arith.constant 0.0 : f32
  %f = arith.uitofp %i : i8 to f32
  %a = arith.addf %zero, %p : f32
  %b = arith.addf %a, %f : f32
  func.return %b : f32
}

// -----

// A comparison does not see the sign of a zero.

// CHECK-LABEL: @compared
// CHECK-NEXT: [[ZERO:%.*]] = arith.constant
// CHECK-NEXT: arith.cmpf olt, %p, %q : f32
func.func @compared(%p: f32, %q: f32) -> i1 {
  %zero = arith.constant 0.0 : f32
  %a = arith.addf %p, %zero : f32
  %b = arith.cmpf olt, %a, %q : f32
  func.return %b : i1
}

// -----

// Others do: a sum that is stored, one with -0, products with negative numbers, and those that go into sums.

// CHECK-LABEL: @seen
// CHECK-COUNT-4: arith.addf %zero,
func.func @seen(%p: f32, %q: f32) -> (f32, f32, f32, f32) {
  %zero = arith.constant 0.0 : f32
  %minus = arith.constant -0.0 : f32
  %third = arith.constant 0.5 : f32
  %negative = arith.constant -0.5 : f32
  %a = arith.addf %zero, %p : f32
  %b = arith.addf %zero, %minus : f32
  %c = arith.addf %zero, %q : f32
  %d = arith.mulf %c, %negative : f32
  %e = arith.addf %zero, %p : f32
  %f = arith.mulf %e, %third : f32
  %g = arith.addf %f, %q : f32
  func.return %a, %b, %d, %g : f32, f32, f32, f32
}
