// RUN: pipeline-opt %s --split-input-file -p separate-steps | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p 'separate-steps{max_steps=1}' | filecheck %s --check-prefix=FEW

// A slice per step, each from the one before it; beside the domain what stood there.

// CHECK-LABEL: img.pipeline @doubled
// CHECK:         %[[ONE:.*]] = img.stage "f_1" (%[[X:.*]], %[[Y:.*]]) -> f32 {
// CHECK-NEXT:      %[[OLD:.*]] = img.read %start[%[[X]], %[[Y]], 1] : !img.func<3xf32>
// CHECK-NEXT:      %[[A:.*]] = img.read %start[%[[X]], %[[Y]], 0] : !img.func<3xf32>
// CHECK-NEXT:      %[[B:.*]] = img.read %start[%[[X]], %[[Y]] + 4, 0] : !img.func<3xf32>
// CHECK-NEXT:      %[[M:.*]] = arith.maxnumf %[[A]], %[[B]] : f32
// CHECK:           arith.select %{{.*}}, %[[M]], %[[OLD]] : f32
// CHECK:         %[[TWO:.*]] = img.stage "f_2" (%[[X2:.*]], %[[Y2:.*]]) -> f32 {
// CHECK:           img.read %[[ONE]][%[[X2]], %[[Y2]] + 4] : !img.func<2xf32>
// CHECK:         %[[ALL:.*]] = img.stage "f" (%{{.*}}, %{{.*}}, %[[T:.*]]) -> f32 {
// CHECK:           arith.cmpi eq, %[[T]], %{{.*}} : index
// CHECK:           img.read %[[ONE]][
// CHECK:           img.read %[[TWO]][
// CHECK:         img.return "f" = %[[ALL]]
// FEW-LABEL:   img.pipeline @doubled
// FEW:           img.update "f"
img.pipeline @doubled {
  %in = img.input "in" : !img.func<2xf32>
  %edge = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xf32>
  %low = arith.constant -3 : index
  %rows = img.extent 1 of %in : !img.func<2xf32>
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %start = img.stage "start" (%x, %y, %t) -> f32 {
    %v = img.read %edge[%x, %y] : !img.func<2xf32>
    img.yield %v : f32
  }
  %f = img.update "f" (%x) over (%y in [%low, %rows], %t in [%one, %two]) of (%c = %start : !img.func<3xf32>) {
    %a = img.read %c[%x, %y, %t - 1] : !img.func<3xf32>
    %b = img.read %c[%x, %y + 4, %t - 1] : !img.func<3xf32>
    %m = arith.maxnumf %a, %b : f32
    img.write %m at [%x, %y, %t] : f32
  }
  img.return "f" = %f : !img.func<3xf32>
}

// -----

// Of an input without a boundary, steps would be computed where it has no values.

// CHECK-LABEL: img.pipeline @bounded
// CHECK:         img.update "f"
img.pipeline @bounded {
  %in = img.input "in" : !img.func<2xf32>
  %low = arith.constant 0 : index
  %rows = img.extent 1 of %in : !img.func<2xf32>
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %start = img.stage "start" (%x, %y, %t) -> f32 {
    %v = img.read %in[%x, %y] : !img.func<2xf32>
    img.yield %v : f32
  }
  %f = img.update "f" (%x) over (%y in [%low, %rows], %t in [%one, %two]) of (%c = %start : !img.func<3xf32>) {
    %a = img.read %c[%x, %y, %t - 1] : !img.func<3xf32>
    img.write %a at [%x, %y, %t] : f32
  }
  img.return "f" = %f : !img.func<3xf32>
}

// -----

// A step that reads what it writes itself depends on the order within.

// CHECK-LABEL: img.pipeline @within
// CHECK:         img.update "f"
img.pipeline @within {
  %in = img.input "in" : !img.func<2xf32>
  %edge = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xf32>
  %low = arith.constant 0 : index
  %rows = img.extent 1 of %in : !img.func<2xf32>
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %start = img.stage "start" (%x, %y, %t) -> f32 {
    %v = img.read %edge[%x, %y] : !img.func<2xf32>
    img.yield %v : f32
  }
  %f = img.update "f" (%x) over (%y in [%low, %rows], %t in [%one, %two]) of (%c = %start : !img.func<3xf32>) {
    %a = img.read %c[%x, %y, %t - 1] : !img.func<3xf32>
    %b = img.read %c[%x, %y - 1, %t] : !img.func<3xf32>
    %m = arith.maxnumf %a, %b : f32
    img.write %m at [%x, %y, %t] : f32
  }
  img.return "f" = %f : !img.func<3xf32>
}
