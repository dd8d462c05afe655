// RUN: pipeline-opt %s -p 'validate-occupancy{target=cpu},lower-groups' -t c | filecheck %s
// RUN: sed 's/at \[%%x, %%r, %%t\]/at [%%x, %%y0, %%t]/' %s | not pipeline-opt -p 'validate-occupancy{target=cpu}' 2>&1 | filecheck %s --check-prefix=STILL

// Maxima of 2, 4 and 8 pixels of a column: each step writes a row of 64 pixels; its lines are prefetched four steps
// before, one of the cache, 64 bytes, at a time.

// CHECK:      for (idx t_ = 0; t_ < 3; ++t_) {
// CHECK:        for (idx [[STEP:r_.*]] = 0; [[STEP]] < {{.*}}; ++[[STEP]]) {
// CHECK:          const idx [[ROW:i_.*]] = {{.*}} + [[STEP]];
// CHECK:          for (idx [[LINE:line_.*]] = 0; [[LINE]] < 64; [[LINE]] += 16) {
// CHECK-NEXT:       prefetch_write_l1(&logs_[{{.*}} ([[ROW]] + 4 - logs_min_y_) * logs_s1_ + {{.*}}[[LINE]]{{.*}}]);
// CHECK:          #pragma omp simd
// CHECK-NEXT:     for (idx x_ = 0; x_ < {{.*}}; ++x_) {

// STILL: its steps do not write row after row, so nothing can be prefetched
img.pipeline @logs {
  %in = img.input "in" : !img.func<2xf32>
  %h = img.extent 1 of %in : !img.func<2xf32>
  %y0 = img.min 1 of %in : !img.func<2xf32>
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %s0 = img.group "logs" schedule #schedule.block_tile<tile = [64, 1, 1], threads = [1, 1, 1]> {
    %s = img.stage "logs" (%x, %y, %t) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %s : !img.func<3xf32>
  } : !img.func<3xf32>
  %s1 = img.group "logs_update" schedule #schedule.in_order<threads = [1], points = 64, prefetch = 4> {
    %u = img.update "logs_update" (%x) over (%r in [%y0, %h], %t in [%one, %three]) of (%s = %s0 : !img.func<3xf32>) {
      %a = img.read %s[%x, %r, %t - 1] : !img.func<3xf32>
      %b = img.read %s[%x, %r + 1, %t - 1] : !img.func<3xf32>
      %m = arith.maximumf %a, %b : f32
      img.write %m at [%x, %r, %t] : f32
    }
    img.yield %u : !img.func<3xf32>
  } : !img.func<3xf32>
  img.return "logs" = %s1 : !img.func<3xf32>
}
