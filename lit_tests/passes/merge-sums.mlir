// RUN: pipeline-opt %s --split-input-file -p merge-sums | filecheck %s

// Halide's histogram: one per row, and their sum.

// CHECK-LABEL: img.pipeline @rows
// CHECK-NOT:     "rows"
// CHECK:         %all = img.update "all" () over (%x in [%x0, %w], %y in [%y0, %h]) of (%{{.*}} = %start : !img.func<1xui32>) combine [add] {
// CHECK-NEXT:      %v = img.read %in[%x, %y] : !img.func<2xui8>
// CHECK:           img.write %one at [%i{{.*}}] where %p : i32
// CHECK:         img.return "all" = %all
img.pipeline @rows {
  %in = img.input "in" : !img.func<2xui8>
  %x0 = img.min 0 of %in : !img.func<2xui8>
  %w = img.extent 0 of %in : !img.func<2xui8>
  %y0 = img.min 1 of %in : !img.func<2xui8>
  %h = img.extent 1 of %in : !img.func<2xui8>
  %zero = img.stage "rows" (%i, %y) -> ui32 {
    %z = arith.constant 0 : i32
    img.yield %z : i32
  }
  %rows = img.update "rows_update" (%y) over (%x in [%x0, %w]) of (%old = %zero : !img.func<2xui32>) combine [add] {
    %v = img.read %in[%x, %y] : !img.func<2xui8>
    %n = arith.extui %v : i8 to i32
    %i = arith.index_cast %n : i32 to index
    %one = arith.constant 1 : i32
    %most = arith.constant 200 : i32
    %p = arith.cmpi ult, %n, %most : i32
    img.write %one at [%i, %y] where %p : i32
  }
  %start = img.stage "start" (%i) -> ui32 {
    %z = arith.constant 5 : i32
    img.yield %z : i32
  }
  %all = img.update "all" (%i) over (%y in [%y0, %h]) of (%old = %start : !img.func<1xui32>) combine [add] {
    %v = img.read %rows[%i, %y] : !img.func<2xui32>
    img.write %v at [%i] : i32
  }
  img.return "all" = %all : !img.func<1xui32>
}

// -----

// What floats are rounded to depends on the order; and these sums start at 1.

// CHECK-LABEL: img.pipeline @apart
// CHECK:         img.update "rows_update"
// CHECK:         img.update "all"
// CHECK:         img.update "ones_update"
// CHECK:         img.update "sum"
img.pipeline @apart {
  %in = img.input "in" : !img.func<2xf32>
  %c0 = arith.constant 0 : index
  %w = img.extent 0 of %in : !img.func<2xf32>
  %h = img.extent 1 of %in : !img.func<2xf32>
  %zero = img.stage "rows" (%y) -> f32 {
    %z = arith.constant 0.0 : f32
    img.yield %z : f32
  }
  %rows = img.update "rows_update" (%y) over (%x in [%c0, %w]) of (%old = %zero : !img.func<1xf32>) combine [add] {
    %v = img.read %in[%x, %y] : !img.func<2xf32>
    img.write %v at [%y] : f32
  }
  %start = img.stage "start" () -> f32 {
    %z = arith.constant 0.0 : f32
    img.yield %z : f32
  }
  %all = img.update "all" () over (%y in [%c0, %h]) of (%old = %start : !img.func<0xf32>) combine [add] {
    %v = img.read %rows[%y] : !img.func<1xf32>
    img.write %v at [] : f32
  }
  %one = img.stage "ones" (%y) -> ui32 {
    %z = arith.constant 1 : i32
    img.yield %z : i32
  }
  %ones = img.update "ones_update" (%y) over (%x in [%c0, %w]) of (%old = %one : !img.func<1xui32>) combine [add] {
    %v = arith.constant 3 : i32
    img.write %v at [%y] : i32
  }
  %first = img.stage "first" () -> ui32 {
    %z = arith.constant 0 : i32
    img.yield %z : i32
  }
  %sum = img.update "sum" () over (%y in [%c0, %h]) of (%old = %first : !img.func<0xui32>) combine [add] {
    %v = img.read %ones[%y] : !img.func<1xui32>
    img.write %v at [] : i32
  }
  img.return "all" = %all : !img.func<0xf32>, "sum" = %sum : !img.func<0xui32>
}
