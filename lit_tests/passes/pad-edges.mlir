// RUN: pipeline-opt %s --split-input-file -p 'group-stages{target=zen3 extent=64,64},pad-edges{target=zen3 extent=64,64}' | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p 'group-stages{target=zen3 extent=4096,64},pad-edges{target=zen3 extent=4096,64}' | filecheck %s --check-prefix=WIDE

// Many columns of a small picture are read beyond its edges: all reads are of a copy. In a wide picture they are few.

// CHECK-LABEL: img.pipeline @wide_window
// CHECK:         img.group "f" {
// CHECK-NEXT:      %in_padded = img.stage "in_padded" (%x, %y) -> f32 {
// CHECK-NEXT:        [[V:%.*]] = img.read %edge[%x, %y] : !img.func<2xf32>
// CHECK-NEXT:        img.yield [[V]] : f32
// CHECK:           img.stage "f"
// CHECK-NEXT:        img.read %in_padded[%x{{.*}} - 9, %y{{.*}}]
// CHECK-NEXT:        img.read %in_padded[%x{{.*}} + 9, %y{{.*}} + 1]
// CHECK-NOT:         img.read %edge

// WIDE-LABEL: img.pipeline @wide_window
// WIDE-NOT:     in_padded
img.pipeline @wide_window {
  %in = img.input "in" : !img.func<2xf32>
  %edge = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xf32>
  %f = img.stage "f" (%x, %y) -> f32 {
    %a = img.read %edge[%x - 9, %y] : !img.func<2xf32>
    %b = img.read %edge[%x + 9, %y + 1] : !img.func<2xf32>
    %r = arith.addf %a, %b : f32
    img.yield %r : f32
  }
  img.return "f" = %f : !img.func<2xf32>
}

// -----

// Not what is read at half the columns, by anything.

// CHECK-LABEL: img.pipeline @halves
// CHECK-NOT:     in_padded
img.pipeline @halves {
  %in = img.input "in" : !img.func<2xf32>
  %edge = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xf32>
  %f = img.stage "f" (%x, %y) -> f32 {
    %a = img.read %edge[%x - 9, %y] : !img.func<2xf32>
    %b = img.read %edge[%x floordiv 2, %y + 1] : !img.func<2xf32>
    %r = arith.addf %a, %b : f32
    img.yield %r : f32
  }
  img.return "f" = %f : !img.func<2xf32>
}
