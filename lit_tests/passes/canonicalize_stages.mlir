// RUN: pipeline-opt %s --split-input-file -p canonicalize-stages | filecheck %s

// What fits is folded; a quotient that f32 does not hold is left as it is, for xDSL's fold of it raises OverflowError.

img.pipeline @floats {
  %i = img.input "i" : !img.func<1xf32>
  %r = img.stage "r" (%x) -> f32 {
    %v = img.read %i[%x] : !img.func<1xf32>
    %large = arith.constant 2.75937604e+25 : f32
    %small = arith.constant -1.17549435e-38 : f32
    %two = arith.constant 2.0 : f32
    %far = arith.divf %large, %small : f32
    %four = arith.mulf %two, %two : f32
    %a = arith.addf %far, %v : f32
    %b = arith.mulf %a, %four : f32
    img.yield %b : f32
  }
  img.return "r" = %r : !img.func<1xf32>
}

// CHECK:      %far = arith.divf %large, %small : f32
// CHECK-NEXT: %four = arith.constant 4.0{{.*}} : f32
// CHECK-NEXT: %a = arith.addf %far, %v : f32

// -----

// An update over no points is its old function: no kernel is made that keeps values of points which nothing needs.

img.pipeline @nothing {
  %h0 = img.stage "h0" (%x) -> si32 {
    %one = arith.constant 1 : i32
    img.yield %one : i32
  }
  %first = arith.constant -1 : index
  %none = arith.constant 0 : index
  %h1 = img.update "h1" () over (%r in [%first, %none]) of (%h = %h0 : !img.func<1xsi32>) combine [add] {
    %two = arith.constant 2 : i32
    img.write %two at [%r * 2 - 1] : i32
  }
  img.return "h" = %h1 : !img.func<1xsi32>
}

// CHECK-LABEL: img.pipeline @nothing
// CHECK-NOT:   img.update
// CHECK:       img.return "h" = %h0 : !img.func<1xsi32>
