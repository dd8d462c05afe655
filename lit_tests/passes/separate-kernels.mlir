// RUN: pipeline-opt %s --split-input-file -p separate-kernels | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p separate-kernels,separate-kernels | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p 'separate-kernels{float=true min_saving=2}' | filecheck %s --check-prefix=FLOAT
// RUN: pipeline-opt %s --split-input-file -p 'separate-kernels{min_saving=5}' | filecheck %s --check-prefix=LEAST

// [1 2 1] along x times [1 3 1] along y, of a function with a boundary: along y first.

// CHECK-LABEL: img.pipeline @product
// CHECK:         %clamped = img.boundary
// CHECK-NEXT:    %in_along_y = img.stage "in_along_y" (%x, %y) -> ui16 {
// CHECK-NEXT:      [[A:%.*]] = img.read %clamped[%x, %y - 1]
// CHECK-NEXT:      [[B:%.*]] = img.read %clamped[%x, %y]
// CHECK-NEXT:      [[C:%.*]] = img.read %clamped[%x, %y + 1]
// CHECK-NEXT:      [[AC:%.*]] = arith.addi [[A]], [[C]] : i16
// CHECK-NEXT:      [[THREE:%.*]] = arith.constant 3 : i16
// CHECK-NEXT:      [[B3:%.*]] = arith.muli [[B]], [[THREE]] : i16
// CHECK-NEXT:      [[S:%.*]] = arith.addi [[AC]], [[B3]] : i16
// CHECK-NEXT:      img.yield [[S]] : i16
// CHECK:         img.stage "f"
// CHECK-COUNT-3:   img.read %in_along_y[%x
// CHECK-NOT:       img.read
// CHECK:           arith.shrui
// LEAST-LABEL: img.pipeline @product
// LEAST-NOT:     along_y
img.pipeline @product {
  %in = img.input "in" : !img.func<2xui16>
  %clamped = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xui16>
  %f = img.stage "f" (%x, %y) -> ui16 {
    %two = arith.constant 2 : i16
    %three = arith.constant 3 : i16
    %one = arith.constant 1 : i16
    %a = img.read %clamped[%x - 1, %y - 1] : !img.func<2xui16>
    %b = img.read %clamped[%x, %y - 1] : !img.func<2xui16>
    %c = img.read %clamped[%x + 1, %y - 1] : !img.func<2xui16>
    %b2 = arith.shli %b, %one : i16
    %ab = arith.addi %a, %b2 : i16
    %abc = arith.addi %ab, %c : i16
    %d = img.read %clamped[%x - 1, %y] : !img.func<2xui16>
    %e = img.read %clamped[%x, %y] : !img.func<2xui16>
    %f = img.read %clamped[%x + 1, %y] : !img.func<2xui16>
    %e2 = arith.muli %two, %e : i16
    %de = arith.addi %d, %e2 : i16
    %def = arith.addi %de, %f : i16
    %def3 = arith.muli %def, %three : i16
    %sum = arith.addi %abc, %def3 : i16
    %g = img.read %clamped[%x - 1, %y + 1] : !img.func<2xui16>
    %h = img.read %clamped[%x, %y + 1] : !img.func<2xui16>
    %i = img.read %clamped[%x + 1, %y + 1] : !img.func<2xui16>
    %h2 = arith.muli %h, %two : i16
    %gh = arith.addi %g, %h2 : i16
    %ghi = arith.addi %gh, %i : i16
    %all = arith.addi %sum, %ghi : i16
    %r = arith.shrui %all, %two : i16
    img.yield %r : i16
  }
  img.return "f" = %f : !img.func<2xui16>
}

// -----

// Every second column and row: the sum along y is of every column. Floats only if asked, and what multiplies the sum stays outside.

// CHECK-LABEL: img.pipeline @floats
// CHECK-NOT:     along_y
// FLOAT-LABEL: img.pipeline @floats
// FLOAT:         img.stage "in_along_y" (%x, %y) -> f32 {
// FLOAT:           img.read %in[%x, %y * 2]
// FLOAT:           img.read %in[%x, %y * 2 + 1]
// FLOAT:           img.read %in[%x, %y * 2 + 2]
// FLOAT:         img.stage "half"
// FLOAT-NEXT:      [[A:%.*]] = img.read %in_along_y[%x_1 * 2, %y_1]
// FLOAT-NEXT:      [[B:%.*]] = img.read %in_along_y[%x_1 * 2 + 1, %y_1]
// FLOAT-NEXT:      [[S:%.*]] = arith.addf [[A]], [[B]] : f32
// FLOAT-NEXT:      [[C:%.*]] = arith.constant 1.250000e-01 : f32
// FLOAT-NEXT:      arith.mulf [[S]], [[C]] : f32
img.pipeline @floats {
  %in = img.input "in" : !img.func<2xf32>
  %half = img.stage "half" (%x, %y) -> f32 {
    %two = arith.constant 2.0 : f32
    %a = img.read %in[2 * %x, 2 * %y] : !img.func<2xf32>
    %b = img.read %in[2 * %x + 1, 2 * %y] : !img.func<2xf32>
    %c = img.read %in[2 * %x, 2 * %y + 1] : !img.func<2xf32>
    %d = img.read %in[2 * %x + 1, 2 * %y + 1] : !img.func<2xf32>
    %e = img.read %in[2 * %x, 2 * %y + 2] : !img.func<2xf32>
    %f = img.read %in[2 * %x + 1, 2 * %y + 2] : !img.func<2xf32>
    %ab = arith.addf %a, %b : f32
    %cd = arith.addf %c, %d : f32
    %cd2 = arith.mulf %cd, %two : f32
    %ef = arith.addf %e, %f : f32
    %abcd = arith.addf %ab, %cd2 : f32
    %all = arith.addf %abcd, %ef : f32
    %eighth = arith.constant 0.125 : f32
    %r = arith.mulf %all, %eighth : f32
    img.yield %r : f32
  }
  img.return "half" = %half : !img.func<2xf32>
}

// -----

// Rank 2, and reads that are mirrored, divided or at points computed from data, stay.

// CHECK-LABEL: img.pipeline @others
// CHECK-NOT:     along_y
// FLOAT-LABEL: img.pipeline @others
// FLOAT-NOT:     along_y
img.pipeline @others {
  %in = img.input "in" : !img.func<2xui32>
  %f = img.stage "f" (%x, %y) -> ui32 {
    %two = arith.constant 2 : i32
    %a = img.read %in[%x, %y] : !img.func<2xui32>
    %b = img.read %in[%x + 1, %y] : !img.func<2xui32>
    %c = img.read %in[%x, %y + 1] : !img.func<2xui32>
    %d = img.read %in[%x + 1, %y + 1] : !img.func<2xui32>
    %e = img.read %in[%x, %y + 2] : !img.func<2xui32>
    %f = img.read %in[%x + 1, %y + 2] : !img.func<2xui32>
    %d2 = arith.muli %d, %two : i32
    %ab = arith.addi %a, %b : i32
    %cd = arith.addi %c, %d2 : i32
    %ef = arith.addi %e, %f : i32
    %abcd = arith.addi %ab, %cd : i32
    %all = arith.addi %abcd, %ef : i32
    img.yield %all : i32
  }
  %g = img.stage "g" (%x, %y) -> ui32 {
    %a = img.read %in[%x floordiv 2, -%y] : !img.func<2xui32>
    %b = img.read %in[%x floordiv 2 + 1, -%y] : !img.func<2xui32>
    %c = img.read %in[%x floordiv 2, 1 - %y] : !img.func<2xui32>
    %d = img.read %in[%x floordiv 2 + 1, 1 - %y] : !img.func<2xui32>
    %e = img.read %in[%x floordiv 2, 2 - %y] : !img.func<2xui32>
    %h = img.read %in[%x floordiv 2 + 1, 2 - %y] : !img.func<2xui32>
    %ab = arith.addi %a, %b : i32
    %cd = arith.addi %c, %d : i32
    %ef = arith.addi %e, %h : i32
    %abcd = arith.addi %ab, %cd : i32
    %all = arith.addi %abcd, %ef : i32
    img.yield %all : i32
  }
  img.return "f" = %f : !img.func<2xui32>, "g" = %g : !img.func<2xui32>
}

// -----

// Sums along x, of which only a sum along y is taken, change places with it; both are of 16 bits.

// CHECK-LABEL: img.pipeline @rows_first
// CHECK-NOT:     "rows"
// CHECK:         %in_along_y = img.stage "in_along_y" (%x, %y) -> ui16 {
// CHECK-COUNT-3:   img.read %in[%x, %y
// CHECK-NOT:       img.read
// CHECK:         img.stage "f"
// CHECK-COUNT-3:   img.read %in_along_y[%x
// CHECK-NOT:       img.read
// LEAST-LABEL: img.pipeline @rows_first
// LEAST:         img.stage "rows"
// FLOAT-LABEL: img.pipeline @rows_first
// FLOAT:         img.stage "in_along_y"
img.pipeline @rows_first {
  %in = img.input "in" : !img.func<2xui16>
  %rows = img.stage "rows" (%x, %y) -> ui16 {
    %a = img.read %in[%x - 1, %y] : !img.func<2xui16>
    %b = img.read %in[%x, %y] : !img.func<2xui16>
    %c = img.read %in[%x + 1, %y] : !img.func<2xui16>
    %ab = arith.addi %a, %b : i16
    %abc = arith.addi %ab, %c : i16
    img.yield %abc : i16
  }
  %f = img.stage "f" (%x, %y) -> ui16 {
    %a = img.read %rows[%x, %y - 1] : !img.func<2xui16>
    %b = img.read %rows[%x, %y] : !img.func<2xui16>
    %c = img.read %rows[%x, %y + 1] : !img.func<2xui16>
    %ab = arith.addi %a, %b : i16
    %abc = arith.addi %ab, %c : i16
    img.yield %abc : i16
  }
  img.return "f" = %f : !img.func<2xui16>
}
