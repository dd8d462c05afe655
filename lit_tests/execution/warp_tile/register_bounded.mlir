// `blocks` bounds the registers of a kernel only where its group is `register_bounded`, or blocks of a single wave have a version for
// the sides; else they are left to the compiler.

// RUN: pipeline-opt %s -p lower-groups,lower-warp-tiles -t cuda | filecheck %s

// CHECK:     __launch_bounds__(128) two_free_kernel3(
// CHECK:     __launch_bounds__(128, 3) two_bounded_kernel3(
img.pipeline @two {
  %in = img.input "in" : !img.func<2xf32>
  %a = img.group "free" schedule #schedule.warp_tile<tile = [128, 8], threads = [32, 4], vector = 4, blocks = 3> {
    %free = img.stage "free" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %free : !img.func<2xf32>
  } : !img.func<2xf32>
  %b = img.group "bounded" schedule #schedule.warp_tile<tile = [128, 8], threads = [32, 4], vector = 4, blocks = 3> attributes {register_bounded} {
    %bounded = img.stage "bounded" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      %w = arith.addf %v, %v : f32
      img.yield %w : f32
    }
    img.yield %bounded : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "free" = %a : !img.func<2xf32>, "bounded" = %b : !img.func<2xf32>
}

// CHECK:     __launch_bounds__(128) wave_aligned_kernel4(
// CHECK:     __launch_bounds__(128, 3) wave_anywhere_kernel4(
img.pipeline @wave {
  %in = img.input "in" {img.align = 4 : i64} : !img.func<2xf32>
  %rest = img.input "rest" {img.align = 1 : i64} : !img.func<2xf32>
  %a = img.group "aligned" schedule #schedule.warp_tile<tile = [128, 8], threads = [32, 4], vector = 4, blocks = 3> attributes {single_wave} {
    %aligned = img.stage "aligned" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %aligned : !img.func<2xf32>
  } : !img.func<2xf32>
  %b = img.group "anywhere" schedule #schedule.warp_tile<tile = [120, 8], threads = [32, 4], vector = 4, blocks = 3> attributes {single_wave} {
    %anywhere = img.stage "anywhere" (%x, %y) -> f32 {
      %v = img.read %rest[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %anywhere : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "aligned" = %a : !img.func<2xf32>, "anywhere" = %b : !img.func<2xf32> {output_aligns = array<i64: 4, 1>}
}
