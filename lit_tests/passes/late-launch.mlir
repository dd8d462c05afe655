// RUN: pipeline-opt %s -p 'validate-occupancy' | filecheck %s
// RUN: pipeline-opt %s -p 'validate-occupancy,lower-groups,chain-kernels' | filecheck %s --check-prefix=CHAIN
// RUN: pipeline-opt %s -p 'validate-occupancy{target=a100}' | filecheck %s --check-prefix=BEFORE-SM90

// "rows" leaves an SM with a small L1 cache, through which "copy" loads: "copy" starts when the blocks of "rows" have ended.

// CHECK:      img.group "rows" schedule
// CHECK-SAME:   8 blocks per SM
// CHECK-SAME:   21760 shared bytes", late_launch}
// CHECK-NOT:  late_launch

// Before sm_90 no kernel starts before the one before has ended: nothing is marked.

// BEFORE-SM90-NOT: late_launch

// CHAIN:      func.func @late_rows_kernel4(
// CHAIN-NOT:    griddepcontrol launch_dependents
// CHAIN:        griddepcontrol wait
// CHAIN:      func.func @late_copy_kernel4(
// CHAIN-NEXT:   griddepcontrol launch_dependents

img.pipeline @late {
  %photo = img.input "photo" : !img.func<2xf32>
  %rows = img.group "rows" schedule #schedule.block_tile<tile = [128, 40], threads = [32, 8]> {
    %g = img.stage "g" (%x, %y) -> f32 place #img.place<block, shared> {
      %v = img.read %photo[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %h = img.stage "rows" (%x, %y) -> f32 {
      %a = img.read %g[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %g[%x + 1, %y] : !img.func<2xf32>
      %r = arith.subf %a, %b : f32
      img.yield %r : f32
    }
    img.yield %h : !img.func<2xf32>
  } : !img.func<2xf32>
  %copy = img.group "copy" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> {
    %f = img.stage "copy" (%x, %y) -> f32 {
      %v = img.read %rows[%x, %y + 1] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "copy" = %copy : !img.func<2xf32>
}
