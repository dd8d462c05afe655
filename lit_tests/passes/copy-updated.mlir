// RUN: pipeline-opt %s -p copy-updated | filecheck %s

// The first update has its old function to itself. The second one's is read by another stage, too, and the third's is
// an input: they are copied.

// CHECK:      %f = img.stage "f"
// CHECK:      %f1 = img.update "f_update" (%x_1) of (%c = %f : !img.func<1xf32>) {
// CHECK:      %f_second_old = img.stage "f_second_old" (%x_2) -> f32 {
// CHECK-NEXT:   %0 = img.read %f1[%x_2] : !img.func<1xf32>
// CHECK-NEXT:   img.yield %0 : f32
// CHECK-NEXT: }
// CHECK-NEXT: %f2 = img.update "f_second" (%x_3) of (%c_1 = %f_second_old : !img.func<1xf32>) {
// CHECK:      img.stage "in_update_old"
// CHECK-NEXT:   img.read %in
// CHECK:      img.update "in_update"
img.pipeline @copies {
  %in = img.input "in" : !img.func<1xf32>
  %f = img.stage "f" (%x) -> f32 {
    %v = img.read %in[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  %f1 = img.update "f_update" (%x) of (%c = %f : !img.func<1xf32>) {
    %v = img.read %c[%x] : !img.func<1xf32>
    %w = arith.addf %v, %v : f32
    img.write %w at [%x] : f32
  }
  %f2 = img.update "f_second" (%x) of (%c = %f1 : !img.func<1xf32>) {
    %v = img.read %c[%x] : !img.func<1xf32>
    %w = arith.mulf %v, %v : f32
    img.write %w at [%x] : f32
  }
  %g = img.update "in_update" () of (%c = %in : !img.func<1xf32>) {
    %v = img.read %c[0] : !img.func<1xf32>
    img.write %v at [1] : f32
  }
  img.return "f1" = %f1 : !img.func<1xf32>, "f2" = %f2 : !img.func<1xf32>, "g" = %g : !img.func<1xf32>
}
