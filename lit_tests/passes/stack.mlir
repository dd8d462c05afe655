// A CPU keeps the arrays of a tile on a thread's stack: what does not fit there would end the process.

// RUN: pipeline-opt %s -p 'validate-occupancy{target=cpu}' --split-input-file --verify-diagnostics -o /dev/null
// RUN: pipeline-opt %s -p 'validate-occupancy{target=cpu fix=true}' --split-input-file | filecheck %s

// CHECK: img.group "in_block" schedule #schedule.block_tile<tile = [2048, 256], threads = [1, 1]>
img.pipeline @block {
  %in = img.input "in" : !img.func<2xf32>
  // expected-error@+1 {{group 'in_block': 16785408 bytes of stack, most of them for 'p', where a tile has 4194304 on a CPU. Use a smaller tile, or fix=true}}
  %g = img.group "in_block" schedule #schedule.block_tile<tile = [2048, 2048], threads = [1, 1]> {
    %p = img.stage "p" (%x, %y) -> f32 place #img.place<block, shared> {
      %a = img.read %in[%x, %y] : !img.func<2xf32>
      %b = arith.addf %a, %a : f32
      img.yield %b : f32
    }
    %out = img.stage "in_block" (%x, %y) -> f32 {
      %a = img.read %p[%x, %y] : !img.func<2xf32>
      %b = img.read %p[%x + 1, %y] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    img.yield %out : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %g : !img.func<2xf32>
}

// -----

// CHECK: img.group "in_warps" schedule #schedule.warp_tile<tile = [31, 8192], threads = [32, 4]>
img.pipeline @warps {
  %in = img.input "in" : !img.func<2xf32>
  // expected-error@+1 {{group 'in_warps': 6356992 bytes of stack, most of them for 'p', where a tile has 4194304 on a CPU. Use a smaller tile, or fix=true}}
  %g = img.group "in_warps" schedule #schedule.warp_tile<tile = [31, 16384], threads = [32, 4]> {
    %p = img.stage "p" (%x, %y) -> f32 place #img.place<warp, register> {
      %a = img.read %in[%x, %y] : !img.func<2xf32>
      %b = arith.addf %a, %a : f32
      img.yield %b : f32
    }
    %out = img.stage "in_warps" (%x, %y) -> f32 {
      %a = img.read %p[%x, %y] : !img.func<2xf32>
      %b = img.read %p[%x + 1, %y] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    img.yield %out : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %g : !img.func<2xf32>
}
