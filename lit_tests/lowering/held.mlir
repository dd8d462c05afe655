// `blocks` bounds the registers of a kernel only where its group is `held`; else they are left to the compiler.

// RUN: pipeline-opt %s -p lower-groups,lower-warp-tiles -t cuda | filecheck %s

// CHECK:     __launch_bounds__(128) two_free(
// CHECK:     __launch_bounds__(128, 3) two_bounded(
img.pipeline @two {
  %in = img.input "in" : !img.func<2xf32>
  %a = img.group "free" schedule #img.schedule<warp_tile, tile = [128, 8], threads = [32, 4], vector = 4, blocks = 3> {
    %free = img.stage "free" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %free : !img.func<2xf32>
  } : !img.func<2xf32>
  %b = img.group "bounded" schedule #img.schedule<warp_tile, tile = [128, 8], threads = [32, 4], vector = 4, blocks = 3> attributes {held} {
    %bounded = img.stage "bounded" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      %w = arith.addf %v, %v : f32
      img.yield %w : f32
    }
    img.yield %bounded : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "free" = %a : !img.func<2xf32>, "bounded" = %b : !img.func<2xf32>
}
