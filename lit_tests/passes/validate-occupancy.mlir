// RUN: pipeline-opt %s -p 'validate-occupancy{target=sm_90}' | filecheck %s
// RUN: pipeline-opt %s -p 'validate-occupancy{target=sm_90},validate-occupancy{target=sm_90}' | filecheck %s
// RUN: pipeline-opt %s -p 'validate-occupancy{target=cpu}' | filecheck %s --check-prefix=CPU
// RUN: pipeline-opt %S/Inputs/too_large.mlir -p 'validate-occupancy{target=sm_70 fix=true}' | filecheck %s --check-prefix=FIXED
// RUN: pipeline-opt %S/Inputs/too_large.mlir -p 'validate-occupancy{target=sm_70}' --split-input-file --verify-diagnostics -o /dev/null
// RUN: not pipeline-opt %s -p 'validate-occupancy{target=sm_91}' 2>&1 | filecheck %s --check-prefix=TARGET

// TARGET: error: validate-occupancy: unknown GPU 'sm_91'
// CPU-NOT: occupancy

// CHECK:      img.group "copy" schedule
// CHECK-SAME:   occupancy = "8 blocks per SM, 100% of the warps, limited by warps; 0 shared bytes"
// CHECK:      img.group "diff" schedule
// CHECK-SAME:   {{[0-9]+}} shared bytes"

// What a compiler reported counts: 255 registers for each of 256 threads leave one block.
// CHECK:      img.group "many" schedule
// CHECK-SAME:   occupancy = "1 blocks per SM, 12% of the warps, limited by registers; 0 shared bytes"

// FIXED:     img.group "diff" schedule #schedule.block_tile<tile = [{{64|128}}, {{[0-9]+}}], threads = [32, {{[0-9]+}}]>
// FIXED-NOT: tile = [128, 256]

img.pipeline @fits {
  %photo = img.input "photo" : !img.func<2xf32>
  %copy = img.group "copy" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> {
    %f = img.stage "copy" (%x, %y) -> f32 {
      %v = img.read %photo[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  %diff = img.group "diff" schedule #schedule.block_tile<tile = [64, 16], threads = [32, 8]> {
    %g = img.stage "g" (%x, %y) -> f32 place #img.place<block, shared> {
      %v = img.read %copy[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %h = img.stage "diff" (%x, %y) -> f32 {
      %a = img.read %g[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %g[%x + 1, %y] : !img.func<2xf32>
      %r = arith.subf %a, %b : f32
      img.yield %r : f32
    }
    img.yield %h : !img.func<2xf32>
  } : !img.func<2xf32>
  %many = img.group "many" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> attributes {registers = 255 : i64} {
    %f = img.stage "many" (%x, %y) -> f32 {
      %v = img.read %diff[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "many" = %many : !img.func<2xf32>
}
