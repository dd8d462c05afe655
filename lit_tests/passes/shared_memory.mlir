// Too much shared memory is one message, by what a block has without asking for more, however much it is.

// RUN: not pipeline-opt %s -p 'validate-occupancy{target=h200}' 2>&1 | filecheck %s

// CHECK:      error: group 'out': 525312 bytes of shared memory, most of them for stage 'p', where a block has 49152 on h200. Use a smaller tile, or fix=true
// CHECK-NOT:  shared memory
img.pipeline @large {
  %in = img.input "in" : !img.func<2xf32>
  %g = img.group "out" schedule #schedule.block_tile<tile = [512, 256], threads = [32, 8]> {
    %p = img.stage "p" (%x, %y) -> f32 place #img.place<block, shared> {
      %a = img.read %in[%x, %y] : !img.func<2xf32>
      %b = arith.addf %a, %a : f32
      img.yield %b : f32
    }
    %out = img.stage "out" (%x, %y) -> f32 {
      %a = img.read %p[%x, %y] : !img.func<2xf32>
      %b = img.read %p[%x + 1, %y] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    img.yield %out : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %g : !img.func<2xf32>
}
