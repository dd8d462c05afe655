// RUN: pipeline-opt %s --split-input-file -p unroll-reductions | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p 'unroll-reductions{max_instructions=11 max_stencil_instructions=11}' | filecheck %s --check-prefix=FEW

// In the order of the domain, the first dimension innermost; a coordinate is a number in reads, and a constant elsewhere.

// CHECK-LABEL: img.pipeline @taps
// CHECK:         %[[SUM:.*]] = img.stage "sum_update" (%[[Y:.*]], %[[X:.*]]) -> f32 {
// CHECK-NEXT:      %[[OLD:.*]] = img.read %start[%[[Y]], %[[X]]] : !img.func<2xf32>
// CHECK-NEXT:      %[[A:.*]] = img.read %in[%[[X]] - 1, %[[Y]] + 5] : !img.func<2xf32>
// CHECK-NEXT:      %[[SA:.*]] = arith.addf %[[OLD]], %[[A]] : f32
// CHECK-NEXT:      %[[B:.*]] = img.read %in[%[[X]], %[[Y]] + 5] : !img.func<2xf32>
// CHECK-NEXT:      %[[SB:.*]] = arith.addf %[[SA]], %[[B]] : f32
// CHECK-NEXT:      %{{.*}} = img.read %in[%[[X]] - 1, %[[Y]] + 6] : !img.func<2xf32>
// CHECK:           %{{.*}} = img.read %in[%[[X]], %[[Y]] + 6] : !img.func<2xf32>
// CHECK:           img.yield
// CHECK:         img.return "sum" = %[[SUM]]
// FEW-LABEL:   img.pipeline @taps
// FEW:           img.update "sum_update"
img.pipeline @taps {
  %in = img.input "in" : !img.func<2xf32>
  %first = arith.constant -1 : index
  %two = arith.constant 2 : index
  %five = arith.constant 5 : index
  %start = img.stage "sum" (%y, %x) -> f32 {
    %z = arith.constant 0.0 : f32
    img.yield %z : f32
  }
  %sum = img.update "sum_update" (%x, %y) over (%r in [%first, %two], %q in [%five, %two]) of (%s = %start : !img.func<2xf32>) combine [add] {
    %v = img.read %in[%x + %r, %y + %q] : !img.func<2xf32>
    img.write %v at [%y, %x] : f32
  }
  img.return "sum" = %sum : !img.func<2xf32>
}

// -----

// A tuple that reads itself, and a predicate.

// CHECK-LABEL: img.pipeline @best
// CHECK:         img.stage "best_update" (%[[X:.*]]) -> (si32, ui8) {
// CHECK-NEXT:      %[[I:.*]] = img.read %start[%[[X]]] : !img.func<1xsi32>
// CHECK-NEXT:      %[[V:.*]] = img.read %start_1[%[[X]]] : !img.func<1xui8>
// CHECK-NEXT:      %new = img.read %in[%[[X]] + 3] : !img.func<1xui8>
// CHECK-NEXT:      %better = arith.cmpi ult, %new, %[[V]] : i8
// CHECK-NEXT:      %[[PLACE:.*]] = arith.constant 3 : i32
// CHECK-NEXT:      %there = arith.select %better, %[[PLACE]], %[[I]] : i32
// CHECK-NEXT:      %least = arith.select %better, %new, %[[V]] : i8
// CHECK:           %[[A:.*]] = arith.select %p, %there, %[[I]] : i32
// CHECK-NEXT:      %[[B:.*]] = arith.select %p, %least, %[[V]] : i8
// CHECK-NEXT:      img.yield %[[A]], %[[B]] : i32, i8
// FEW-LABEL:   img.pipeline @best
// FEW:           img.stage "best_update"
img.pipeline @best {
  %in = img.input "in" : !img.func<1xui8>
  %three = arith.constant 3 : index
  %one = arith.constant 1 : index
  %start, %start_1 = img.stage "best" (%x) -> (si32, ui8) {
    %z = arith.constant 0 : i32
    %m = arith.constant 255 : i8
    img.yield %z, %m : i32, i8
  }
  %best, %best_1 = img.update "best_update" (%x) over (%r in [%three, %one]) of (%i = %start : !img.func<1xsi32>, %v = %start_1 : !img.func<1xui8>) {
    %new = img.read %in[%x + %r] : !img.func<1xui8>
    %old = img.read %v[%x] : !img.func<1xui8>
    %better = arith.cmpi ult, %new, %old : i8
    %place = arith.index_cast %r : index to i32
    %before = img.read %i[%x] : !img.func<1xsi32>
    %there = arith.select %better, %place, %before : i32
    %least = arith.select %better, %new, %old : i8
    %zero = arith.constant 0 : i8
    %p = arith.cmpi ne, %new, %zero : i8
    img.write %there, %least at [%x] where %p : i32, i8
  }
  img.return "best" = %best : !img.func<1xsi32>, "value" = %best_1 : !img.func<1xui8>
}

// -----

// Points that do not meet, or are not known, stay.

// CHECK-LABEL: img.pipeline @stay
// CHECK:         img.update "apart"
// CHECK:         img.update "unknown"
// CHECK:         img.update "elsewhere"
img.pipeline @stay {
  %in = img.input "in" : !img.func<1xf32>
  %n = img.extent 0 of %in : !img.func<1xf32>
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %start = img.stage "start" (%x) -> f32 {
    %z = arith.constant 0.0 : f32
    img.yield %z : f32
  }
  %apart = img.update "apart" () over (%r in [%zero, %two]) of (%s = %start : !img.func<1xf32>) {
    %v = img.read %in[%r] : !img.func<1xf32>
    img.write %v at [%r] : f32
  }
  %unknown = img.update "unknown" (%x) over (%r in [%zero, %n]) of (%s = %apart : !img.func<1xf32>) combine [add] {
    %v = img.read %in[%x + %r] : !img.func<1xf32>
    img.write %v at [%x] : f32
  }
  %elsewhere = img.update "elsewhere" () over (%r in [%zero, %two]) of (%s = %unknown : !img.func<1xf32>) {
    %v = img.read %s[%r] : !img.func<1xf32>
    img.write %v at [%r + 1] : f32
  }
  img.return "out" = %elsewhere : !img.func<1xf32>
}

// -----

// A reduction in an expression goes where it is read, and a start that changes nothing is left out.

// CHECK-LABEL: img.pipeline @inline
// CHECK-NOT:     img.update
// CHECK:         %f = img.stage "f" (%[[X:.*]]) -> f32 {
// CHECK-NEXT:      %[[A:.*]] = img.read %in[%[[X]] + 1] : !img.func<1xf32>
// CHECK-NEXT:      %[[B:.*]] = img.read %in[%[[X]] + 2] : !img.func<1xf32>
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK-NEXT:      arith.addf %[[S]], %[[S]] : f32
// FEW-LABEL:   img.pipeline @inline
// FEW-NOT:       img.update
img.pipeline @inline {
  %in = img.input "in" : !img.func<1xf32>
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %start = img.stage "sum" (%x) -> f32 {
    %z = arith.constant -0.0 : f32
    img.yield %z : f32
  }
  %sum = img.update "sum_update" (%x) over (%r in [%one, %two]) of (%s = %start : !img.func<1xf32>) combine [add] inline {
    %v = img.read %in[%x + %r] : !img.func<1xf32>
    img.write %v at [%x] : f32
  }
  %f = img.stage "f" (%x) -> f32 {
    %v = img.read %sum[%x] : !img.func<1xf32>
    %w = arith.addf %v, %v : f32
    img.yield %w : f32
  }
  img.return "f" = %f : !img.func<1xf32>
}
