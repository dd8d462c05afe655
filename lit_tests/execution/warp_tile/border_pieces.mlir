// A lane's pieces of a row that lie outside of a constant exterior's box are read at the ends of the box, where
// pieces lie as they do for the lanes: the buffer, which consumers asked for, may begin at any column.

// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 2"},promote-memory,lower-groups,lower-warp-tiles' -t cuda | filecheck %s

// CHECK-LABEL: void pieces_sum_tile6(
// CHECK:         if (border_) {
// CHECK-NEXT:      if (vectors_uniform_) {
// CHECK:             = max_idx(min_idx(x0_ + {{.*}} - left_, w_ - 4), 0);
// CHECK:             load_f32x4(&before_[

// The kernel asks once per tile whether they do: the box begins and ends between pieces, as far as the tile reaches, and
// lies in the buffer. What versions for border tiles compute is not computed before it is known that one is needed.

// CHECK-LABEL: __launch_bounds__(128) pieces_sum_kernel6(
// CHECK:         const idx [[FIRST:i_[0-9]+_]] = x0_ - 4;
// CHECK:         const idx [[AT:i_[0-9]+_]] = [[FIRST]] - left_;
// CHECK:         ([[AT]] >= 0 || ([[AT]] & 3) == 0) && ({{.*}} >= 128 || ({{.*}} & 3) == 0)
// CHECK:         w_ >= 4 && left_ >= before_min_x_
// CHECK:         pieces_sum_tile6({{.*}}, opaque(x0_, 1), y0_, true, true);
// CHECK:         pieces_sum_tile6({{.*}}, opaque(x0_, 2), y0_, true, false);
img.pipeline @pieces {
  %in = img.input "image" : !img.func<2xf32>
  %left = img.min 0 of %in : !img.func<2xf32>
  %top = img.min 1 of %in : !img.func<2xf32>
  %w = img.extent 0 of %in : !img.func<2xf32>
  %h = img.extent 1 of %in : !img.func<2xf32>
  %none = arith.constant 0.0 : f32
  %edge = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xf32>
  %a = img.group "before" {
    %before = img.stage "before" (%x, %y) -> f32 {
      %a = img.read %edge[%x, %y] : !img.func<2xf32>
      %s = arith.mulf %a, %a : f32
      img.yield %s : f32
    }
    img.yield %before : !img.func<2xf32>
  } : !img.func<2xf32>
  %b = img.boundary constant_exterior %a dims [0, 1] in [%left, %top] by [%w, %h] value %none : !img.func<2xf32>
  %out = img.group "sum" {
    %sum = img.stage "sum" (%x, %y) -> f32 {
      %l = img.read %b[%x - 1, %y] : !img.func<2xf32>
      %r = img.read %b[%x + 1, %y] : !img.func<2xf32>
      %s = arith.addf %l, %r : f32
      img.yield %s : f32
    }
    img.yield %sum : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "sum" = %out : !img.func<2xf32>
}
