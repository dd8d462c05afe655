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

// -----

// A box that it declares stays a limit for the readers: the stage that copies the old functions has it.

img.pipeline @nothing_in_a_box {
  %h0, %k0 = img.stage "h0" (%x) -> (si32, f32) {
    %one = arith.constant 1 : i32
    %half = arith.constant 0.5 : f32
    img.yield %one, %half : i32, f32
  }
  %first = arith.constant -1 : index
  %none = arith.constant 0 : index
  %h1, %k1 = img.update "h1" () over (%r in [%first, %none]) of (%h = %h0 : !img.func<1xsi32>, %k = %k0 : !img.func<1xf32>) bounds #img.box<[0:4]> {
    %two = arith.constant 2 : i32
    %zero = arith.constant 0.0 : f32
    img.write %two, %zero at [%r * 2 - 1] : i32, f32
  }
  img.return "h" = %h1 : !img.func<1xsi32>, "k" = %k1 : !img.func<1xf32>
}

// CHECK-LABEL: img.pipeline @nothing_in_a_box
// CHECK-NOT:   img.update
// CHECK:       %h1, %k1 = img.stage "h1" (%[[X:.+]]) -> (si32, f32) bounds #img.box<[0:4]> {
// CHECK-NEXT:    %[[H:.+]] = img.read %h0[%[[X]]] : !img.func<1xsi32>
// CHECK-NEXT:    %[[K:.+]] = img.read %k0[%[[X]]] : !img.func<1xf32>
// CHECK-NEXT:    img.yield %[[H]], %[[K]] : i32, f32
// CHECK:       img.return "h" = %h1 : !img.func<1xsi32>, "k" = %k1 : !img.func<1xf32>
