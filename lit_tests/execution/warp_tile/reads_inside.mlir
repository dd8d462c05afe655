// Lanes beside a tile read what nobody needs: in interior tiles, too, the index is clamped to the buffer, but no boundary
// moves it. Where the boundary is that clamp there is nothing to tell apart.

// RUN: pipeline-opt %s -p "lower-groups,lower-warp-tiles,split-divisions,expand-division" -t cuda | filecheck %s

// CHECK-LABEL: void warps_g_tile
// CHECK:         [[X:i_[0-9]*_]] = border_ ? mirrored_min_x_ + {{.*}} : [[HALF:i_[0-9]*_]];
// CHECK:         [[FROM:i_[0-9]*_]] = [[X]] - mirrored_min_x_;
// CHECK:         [[AT:i_[0-9]*_]] = border_ ? [[FROM]] : max_idx(min_idx([[FROM]], mirrored_n1_ - 1), 0);
// CHECK-NOT:     border_ ?
// CHECK:         = edges_[max_idx(min_idx({{.*}} - edges_min_y_, edges_n0_ - 1), 0) * edges_s0_ +
// CHECK-NEXT:    = {{.*}} + mirrored_[{{.*}} + [[AT]]]
// CHECK-LABEL: __global__
img.pipeline @warps {
  %mirrored = img.input "mirrored" : !img.func<2xf32>
  %m = img.boundary mirror_image %mirrored dims [0, 1] : !img.func<2xf32>
  %edges = img.input "edges" : !img.func<2xf32>
  %e = img.boundary repeat_edge %edges dims [0, 1] : !img.func<2xf32>
  %g = img.group "g" schedule #schedule.warp_tile<tile = [124, 16], threads = [32, 4], vector = 4> {
    %g0 = img.stage "g" (%x, %y) -> f32 {
      %a = img.read %e[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %m[%x floordiv 2, %y floordiv 2] : !img.func<2xf32>
      %c = img.read %e[%x floordiv 2 + 1, %y floordiv 2] : !img.func<2xf32>
      %ab = arith.addf %a, %b : f32
      %abc = arith.addf %ab, %c : f32
      img.yield %abc : f32
    }
    img.yield %g0 : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}
