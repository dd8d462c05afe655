// RUN: pipeline-opt %s --split-input-file -p propagate-constants | filecheck %s

// A function that is one constant everywhere is that in its readers, behind boundaries too; what reads only such is one itself.

// CHECK-LABEL: img.pipeline @constant
// CHECK:      img.stage "g"
// CHECK-NEXT:   [[C:%.*]] = arith.constant -7 : i8
// CHECK-NEXT:   img.yield [[C]] : i8
// CHECK:      img.stage "h"
// CHECK-NEXT:   [[I:%.*]] = img.read %in[{{.*}}] : !img.func<1xsi8>
// CHECK-NEXT:   [[D:%.*]] = arith.constant -9 : i8
// CHECK-NEXT:   arith.addi [[I]], [[D]] : i8
img.pipeline @constant {
  %in = img.input "in" : !img.func<1xsi8>
  %f = img.stage "f" (%x) -> si8 {
    %zero = arith.constant 0 : i8
    %two = arith.constant 2 : i8
    %c = arith.subi %zero, %two : i8
    img.yield %c : i8
  }
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %edge = img.boundary repeat_edge %f dims [0] in [%c0] by [%c9] : !img.func<1xsi8>
  %g = img.stage "g" (%x) -> si8 {
    %a = img.read %edge[%x + 1] : !img.func<1xsi8>
    %five = arith.constant 5 : i8
    %b = arith.subi %a, %five : i8
    img.yield %b : i8
  }
  %h = img.stage "h" (%x) -> si8 {
    %i = img.read %in[%x] : !img.func<1xsi8>
    %a = img.read %f[%x floordiv 2] : !img.func<1xsi8>
    %b = img.read %g[%x] : !img.func<1xsi8>
    %c = arith.addi %a, %b : i8
    %d = arith.addi %i, %c : i8
    img.yield %d : i8
  }
  img.return "h" = %h : !img.func<1xsi8>
}

// -----

// Outside of a box it may be another constant, or the same.

// CHECK-LABEL: img.pipeline @exterior
// CHECK:      img.stage "g"
// CHECK-NEXT:   img.read %other[{{.*}}] : !img.func<1xui8>
// CHECK-NOT:    img.read
// CHECK:      img.return
img.pipeline @exterior {
  %f = img.stage "f" (%x) -> ui8 {
    %c = arith.constant 3 : i8
    img.yield %c : i8
  }
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %three = arith.constant 3 : i8
  %four = arith.constant 4 : i8
  %same = img.boundary constant_exterior %f dims [0] in [%c0] by [%c9] value %three : !img.func<1xui8>
  %other = img.boundary constant_exterior %f dims [0] in [%c0] by [%c9] value %four : !img.func<1xui8>
  %g = img.stage "g" (%x) -> ui8 {
    %a = img.read %other[%x] : !img.func<1xui8>
    %b = img.read %same[%x] : !img.func<1xui8>
    %s = arith.addi %a, %b : i8
    img.yield %s : i8
  }
  img.return "g" = %g : !img.func<1xui8>
}
