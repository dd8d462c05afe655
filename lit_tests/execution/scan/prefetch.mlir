// RUN: pipeline-opt %s -p 'validate-occupancy{target=cpu},lower-groups' -t c | filecheck %s
// RUN: sed 's/\[%%x, %%r\]/[%%r, %%x]/; s/\[%%x, %%r - 1\]/[%%r - 1, %%x]/' %s | not pipeline-opt -p 'validate-occupancy{target=cpu}' 2>&1 | filecheck %s --check-prefix=ROWS

// A sum down each column, 64 columns side by side: the row four steps further, from the second row on, is prefetched, 16 columns at a time.

// CHECK:      for (idx [[STEP:r_.*]] = 0; [[STEP]] < {{.*}}; ++[[STEP]]) {
// CHECK:        for (idx [[LINE:line_.*]] = 0; [[LINE]] < 64; [[LINE]] += 16) {
// CHECK-NEXT:     prefetch_write_l1(&start_[([[STEP]] + 5{{.*}}) * start_s0_ + {{.*}}[[LINE]]{{.*}}]);
// CHECK-NEXT:   }
// CHECK:        #pragma omp simd

// ROWS: its steps go along rows, which need no prefetch; write prefetch = 0
img.pipeline @down {
  %in = img.input "in" : !img.func<2xf32>
  %n = img.extent 1 of %in : !img.func<2xf32>
  %one = arith.constant 1 : index
  %start = img.group "start" schedule #schedule.row_strip<tile = [64, 32]> {
    %c = img.stage "start" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %c : !img.func<2xf32>
  } : !img.func<2xf32>
  %sums = img.group "down" schedule #schedule.scan<threads = [1], width = 64, prefetch = 4> {
    %down = img.update "down" (%x) over (%r in [%one, %n]) of (%h = %start : !img.func<2xf32>) combine [add] {
      %a = img.read %h[%x, %r - 1] : !img.func<2xf32>
      img.write %a at [%x, %r] : f32
    }
    img.yield %down : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "down" = %sums : !img.func<2xf32>
}
