// RUN: pipeline-opt %s -p 'inline-stages{target=zen3}' --split-input-file | filecheck %s

// Colours over a weight, of four planes: a CPU computes all three colours of a point in one loop, and the weight once.

// CHECK-LABEL: img.pipeline @colours
// CHECK-NOT:   img.stage "sums"
// CHECK:       img.stage "out"
img.pipeline @colours {
  %in = img.input "in" : !img.func<3xf32>
  %sums = img.stage "sums" (%x, %y, %c) -> f32 {
    %a = img.read %in[%x, %y, %c] : !img.func<3xf32>
    %b = img.read %in[%x, %y + 1, %c] : !img.func<3xf32>
    %d = img.read %in[%x, %y + 2, %c] : !img.func<3xf32>
    %e = img.read %in[%x, %y + 3, %c] : !img.func<3xf32>
    %f = arith.divf %a, %b : f32
    %g = arith.divf %d, %e : f32
    %h = arith.divf %f, %g : f32
    img.yield %h : f32
  }
  %out = img.stage "out" (%x, %y, %c) -> f32 bounds #img.box<[*, *, 0:3]> {
    %a = img.read %sums[%x, %y, %c] : !img.func<3xf32>
    %b = img.read %sums[%x, %y, 3] : !img.func<3xf32>
    %d = arith.divf %a, %b : f32
    img.yield %d : f32
  }
  img.return "out" = %out : !img.func<3xf32>
}

// -----

// Neighbours would compute a point of the weight twice.

// CHECK-LABEL: img.pipeline @others
// CHECK:       img.stage "sums"
// CHECK:       img.stage "beside"
img.pipeline @others {
  %in = img.input "in" : !img.func<3xf32>
  %sums = img.stage "sums" (%x, %y, %c) -> f32 {
    %a = img.read %in[%x, %y, %c] : !img.func<3xf32>
    %b = img.read %in[%x, %y + 1, %c] : !img.func<3xf32>
    %d = img.read %in[%x, %y + 2, %c] : !img.func<3xf32>
    %e = img.read %in[%x, %y + 3, %c] : !img.func<3xf32>
    %f = arith.divf %a, %b : f32
    %g = arith.divf %d, %e : f32
    %h = arith.divf %f, %g : f32
    img.yield %h : f32
  }
  %beside = img.stage "beside" (%x, %y, %c) -> f32 bounds #img.box<[*, *, 0:3]> {
    %a = img.read %sums[%x, %y, %c] : !img.func<3xf32>
    %b = img.read %sums[%x + 1, %y, 3] : !img.func<3xf32>
    %d = arith.divf %a, %b : f32
    img.yield %d : f32
  }
  img.return "beside" = %beside : !img.func<3xf32>
}
