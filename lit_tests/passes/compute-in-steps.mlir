// RUN: pipeline-opt %s -p 'group-stages,group-updates,compute-in-steps' | filecheck %s
// RUN: pipeline-opt %s -p 'group-stages,group-updates,compute-in-steps,tile,promote-memory,validate-occupancy' | filecheck %s --check-prefix=TILED
// RUN: pipeline-opt %s -p 'group-stages,group-updates,compute-in-steps{force=true}' | filecheck %s --check-prefix=ALWAYS

// The sum over %r reads "blurred" at %r, which nobody else does: each step of it computes a tile of that. What two read
// stays in a kernel of its own; so does what is read at places that move with %r. What terms alone read is computed there
// where that is cheaper, else with force=true.

img.pipeline @sum {
  %in = img.input "in" : !img.func<2xf32>
  %edge = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xf32>
  %lo = arith.constant -3 : index
  %n = arith.constant 40 : index
  %moved = img.stage "moved" (%x, %y) -> f32 {
    %a = img.read %edge[%x - 9, %y] : !img.func<2xf32>
    %b = img.read %edge[%x + 9, %y] : !img.func<2xf32>
    %v = arith.divf %a, %b : f32
    img.yield %v : f32
  }
  %apart = img.stage "apart" (%x, %y, %d) -> f32 {
    %a = img.read %edge[%x, %y] : !img.func<2xf32>
    %b = img.read %edge[%x + %d, %y] : !img.func<2xf32>
    %v = arith.divf %a, %b : f32
    img.yield %v : f32
  }
  %blurred = img.stage "blurred" (%x, %y, %d) -> f32 {
    %a = img.read %apart[%x - 1, %y, %d] : !img.func<3xf32>
    %b = img.read %apart[%x, %y, %d] : !img.func<3xf32>
    %c = img.read %apart[%x + 1, %y, %d] : !img.func<3xf32>
    %ab = arith.addf %a, %b : f32
    %v = arith.addf %ab, %c : f32
    img.yield %v : f32
  }
  %zero = img.stage "zero" (%x, %y) -> f32 {
    %v = arith.constant 0.0 : f32
    img.yield %v : f32
  }
  %sum = img.update "sum" (%x, %y) over (%r in [%lo, %n]) of (%s = %zero : !img.func<2xf32>) combine [add] {
    %a = img.read %blurred[%x, %y, %r] : !img.func<3xf32>
    %b = img.read %moved[%x + %r, %y] : !img.func<2xf32>
    %v = arith.mulf %a, %b : f32
    img.write %v at [%x, %y] : f32
  }
  img.return "sum" = %sum : !img.func<2xf32>
}

// CHECK:      img.group "moved" {
// CHECK-NOT:  img.group "blurred"
// CHECK:      %sum = img.group "sum" {
// CHECK-NEXT:   %apart = img.stage "apart" (%x_1, %y_1, %d) -> f32 {
// CHECK:        %blurred = img.stage "blurred" (%x_2, %y_2, %d_1) -> f32 {
// CHECK:        %sum_term = img.stage "sum_term" (%x_3, %y_3, %r) -> f32 {
// CHECK-NEXT:     %a_3 = img.read %blurred[%x_3, %y_3, %r] : !img.func<3xf32>
// CHECK-NEXT:     %b_3 = img.read %moved[%x_3 + %r, %y_3] : !img.func<2xf32>
// CHECK-NEXT:     %v_3 = arith.mulf %a_3, %b_3 : f32
// CHECK-NEXT:     img.yield %v_3 : f32
// CHECK:        %zero = img.stage "zero" (%x_4, %y_4) -> f32 {
// CHECK:        %sum_1 = img.update "sum" (%x_5, %y_5) over (%r_1 in [%lo, %n]) of (%s = %zero : !img.func<2xf32>) combine [add] {
// CHECK-NEXT:     %0 = img.read %sum_term[%x_5, %y_5, %r_1] : !img.func<3xf32>
// CHECK-NEXT:     img.write %0 at [%x_5, %y_5] : f32

// TILED: img.group "sum" schedule #schedule.block_tile<tile = [{{[0-9]+, [0-9]+}}, 1], threads = [{{[0-9]+, [0-9]+}}, 1]
// TILED: img.stage "apart" (%x_1, %y_1, %d) -> f32 place #img.place<block, shared> {

// ALWAYS-NOT: img.group "moved"
// ALWAYS:     img.group "sum" {
// ALWAYS:       %sum_term = img.stage "sum_term" (%x_2, %y_2, %r) -> f32 {
// ALWAYS-NEXT:    %a_2 = img.read %blurred[%x_2, %y_2, %r] : !img.func<3xf32>
// ALWAYS-NEXT:    %a_3 = img.read %edge[%x_2 + %r - 9, %y_2] : !img.func<2xf32>

img.pipeline @read_twice {
  %in = img.input "in" : !img.func<2xf32>
  %lo = arith.constant 0 : index
  %n = arith.constant 40 : index
  %cubes = img.stage "cubes" (%x, %d) -> f32 {
    %a = img.read %in[%x, %d] : !img.func<2xf32>
    %b = math.exp %a : f32
    img.yield %b : f32
  }
  %zero = img.stage "zero" (%x) -> f32 {
    %v = arith.constant 0.0 : f32
    img.yield %v : f32
  }
  %sum = img.update "sum" (%x) over (%r in [%lo, %n]) of (%s = %zero : !img.func<1xf32>) combine [add] {
    %a = img.read %cubes[%x, %r] : !img.func<2xf32>
    img.write %a at [%x] : f32
  }
  img.return "sum" = %sum : !img.func<1xf32>, "cubes" = %cubes : !img.func<2xf32>
}

// CHECK-LABEL: img.pipeline @read_twice {
// CHECK:         img.group "cubes" {
// CHECK:         img.group "sum" {
// CHECK-NEXT:      img.stage "zero"
// CHECK-NOT:     sum_term
