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

// -----

// Identities of integers: with an absorbing or a neutral element on either side, or twice the same operand.

img.pipeline @identities {
  %i = img.input "i" : !img.func<1xui8>
  %j = img.input "j" : !img.func<1xsi16>
  %r:5 = img.stage "r" (%x) -> (ui8, ui8, ui8, si16, si16) {
    %u = img.read %i[%x] : !img.func<1xui8>
    %s = img.read %j[%x] : !img.func<1xsi16>
    %ones = arith.constant -1 : i8
    %none = arith.constant 0 : i8
    %least = arith.constant -32768 : i16
    %most = arith.constant 32767 : i16
    %a = arith.ori %ones, %u : i8
    %b0 = arith.andi %u, %ones : i8
    %b1 = arith.minui %ones, %b0 : i8
    %b2 = arith.maxui %b1, %none : i8
    %b = arith.andi %b2, %u : i8
    %c = arith.minui %u, %none : i8
    %d0 = arith.minsi %s, %most : i16
    %d = arith.maxsi %d0, %least : i16
    %e = arith.maxsi %s, %most : i16
    img.yield %a, %b, %c, %d, %e : i8, i8, i8, i16, i16
  }
  img.return "a" = %r#0 : !img.func<1xui8>, "b" = %r#1 : !img.func<1xui8>, "c" = %r#2 : !img.func<1xui8>, "d" = %r#3 : !img.func<1xsi16>, "e" = %r#4 : !img.func<1xsi16>
}

// CHECK-LABEL: img.pipeline @identities
// CHECK:       img.yield %ones, %u, %none, %s, %most : i8, i8, i8, i16, i16

// -----

// Of one bit, true is the least signed number. Others stay: elements of other operations.

img.pipeline @signs {
  %i = img.input "i" : !img.func<1xui8>
  %r = img.stage "r" (%x) -> ui8 {
    %u = img.read %i[%x] : !img.func<1xui8>
    %ones = arith.constant -1 : i8
    %sign = arith.constant -128 : i8
    %true = arith.constant true
    %false = arith.constant false
    %p = arith.cmpi ult, %u, %sign : i8
    %q = arith.maxsi %p, %true : i1
    %t = arith.minsi %p, %false : i1
    %o = arith.addi %q, %t : i1
    %a = arith.minsi %u, %ones : i8
    %b = arith.ori %a, %sign : i8
    %c = arith.select %o, %b, %a : i8
    img.yield %c : i8
  }
  img.return "r" = %r : !img.func<1xui8>
}

// CHECK-LABEL: img.pipeline @signs
// CHECK:       %p = arith.cmpi ult
// CHECK-NEXT:  %o = arith.addi %p, %p : i1
// CHECK-NEXT:  %a = arith.minsi %u, %ones : i8
// CHECK-NEXT:  %b = arith.ori %a, %sign : i8

// -----

// What is its own difference, and its own remainder: of 0 Halide's is 0, too.

img.pipeline @of_itself {
  %i = img.input "i" : !img.func<1xsi16>
  %r:3 = img.stage "r" (%x) -> (si16, si16, si16) {
    %v = img.read %i[%x] : !img.func<1xsi16>
    %d = arith.subi %v, %v : i16
    %m = img.mod signed %v, %v : i16
    %q = img.div signed %v, %v : i16
    img.yield %d, %m, %q : i16, i16, i16
  }
  img.return "d" = %r#0 : !img.func<1xsi16>, "m" = %r#1 : !img.func<1xsi16>, "q" = %r#2 : !img.func<1xsi16>
}

// CHECK-LABEL: img.pipeline @of_itself
// CHECK:      [[Z:%.*]] = arith.constant 0 : i16
// CHECK-NOT:  img.mod
// CHECK:      [[Q:%.*]] = img.div signed
// CHECK-NEXT: img.yield {{.*}}, {{.*}}, [[Q]] : i16, i16, i16
