// Rows that lie beyond a repeated or mirrored picture take one remainder for all of a tile: each row is that place in the
// period, or lies in the next. So the picture must have at least as many rows as the tile reads.

// RUN: pipeline-opt %s -p "lower-groups,lower-warp-tiles,split-divisions,expand-division" -t cuda | filecheck %s
// RUN: pipeline-opt %s -p "lower-groups,lower-warp-tiles" --print-op-generic | mlir-opt --allow-unregistered-dialect -o /dev/null

// CHECK-LABEL: void folded_g_tile
// CHECK:         const idx [[PERIOD:i_]] = mirrored_n0_ * 2;
// CHECK-NEXT:    const idx [[START:i_[0-9]*_]] = (y0_ - 1 - mirrored_min_y_) % [[PERIOD]];
// CHECK:         float4 rows_[4];
// CHECK:         const idx [[ROW:i_[0-9]*_]] = {{.*}}[[START]] < 0 ? [[START]] + [[PERIOD]] : [[START]]) + (
// CHECK:         mirrored_[max_idx(min_idx([[ROW]], [[PERIOD]] - 1 - [[ROW]]), [[ROW]] - [[PERIOD]]) * mirrored_s0_
// CHECK-LABEL: __global__
// CHECK:         mirrored_n0_ >= 10
// CHECK:         repeated_n0_ >= 9
img.pipeline @folded {
  %mirrored = img.input "mirrored" : !img.func<2xf32>
  %m = img.boundary mirror_image %mirrored dims [1] : !img.func<2xf32>
  %repeated = img.input "repeated" : !img.func<2xf32>
  %r = img.boundary repeat_image %repeated dims [1] : !img.func<2xf32>
  %g = img.group "g" schedule #schedule.warp_tile<tile = [128, 8], threads = [32, 4], vector = 4> {
    %g0 = img.stage "g" (%x, %y) -> f32 {
      %a = img.read %m[%x, %y - 1] : !img.func<2xf32>
      %b = img.read %m[%x, %y + 1] : !img.func<2xf32>
      %c = img.read %r[%x, %y] : !img.func<2xf32>
      %d = img.read %r[%x, %y + 1] : !img.func<2xf32>
      %ab = arith.addf %a, %b : f32
      %cd = arith.addf %c, %d : f32
      %abcd = arith.addf %ab, %cd : f32
      img.yield %abcd : f32
    }
    img.yield %g0 : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}
