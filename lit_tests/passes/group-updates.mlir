// RUN: pipeline-opt %s -p 'group-stages,tile,group-updates' | filecheck %s
// RUN: pipeline-opt %s -p 'group-stages,tile,group-updates,group-updates' | filecheck %s

// Stages before and after an update are groups of their own, and so is the update; a thread has a pure point.

// CHECK:      %f = img.group "f" schedule #schedule.
// CHECK:      %f1 = img.group "f_update" {
// CHECK-NEXT:   %f1_1 = img.update "f_update" (%x_1) over (%r in [%0, %n]) of (%c = %f : !img.func<2xf32>) combine [add] {
// CHECK-NEXT:     %v_1 = img.read %in[%x_1, %r] : !img.func<2xf32>
// CHECK-NEXT:     img.write %v_1 at [%x_1, 0] : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   img.yield %f1_1 : !img.func<2xf32>
// CHECK-NEXT: } : !img.func<2xf32>
// CHECK:      %g = img.group "g" schedule
// CHECK:      img.read %f1
img.pipeline @groups {
  %in = img.input "in" : !img.func<2xf32>
  %n = img.extent 1 of %in : !img.func<2xf32>
  %0 = arith.constant 0 : index
  %f = img.stage "f" (%x, %y) -> f32 {
    %v = img.read %in[%x, %y] : !img.func<2xf32>
    img.yield %v : f32
  }
  %f1 = img.update "f_update" (%x) over (%r in [%0, %n]) of (%c = %f : !img.func<2xf32>) combine [add] {
    %v = img.read %in[%x, %r] : !img.func<2xf32>
    img.write %v at [%x, 0] : f32
  }
  %g = img.stage "g" (%x, %y) -> f32 {
    %v = img.read %f1[%x, %y] : !img.func<2xf32>
    img.yield %v : f32
  }
  img.return "g" = %g : !img.func<2xf32>
}
