// A filter up the columns of which a transposition is stored: a thread takes 16 columns side by side, and stores 8 steps
// of each at once, along a row of the output, from a multiple of 8 on. The 8 before them, which come next, are prefetched.
// RUN: pipeline-opt %s -p 'validate-occupancy{target=cpu},lower-groups' -t c | filecheck %s

// CHECK:      float results_[8][17];
// CHECK-NEXT: float kept_[1][16];
// CHECK:      const idx [[FIRST:i_.*]] = {{.*}} - 2 - out_up_min_x_;
// CHECK:      const idx [[BEFORE:i_.*]] = 7 - ([[FIRST]] - ([[FIRST]] >> 3) * 8);
// CHECK:      for (idx slice_ = 0;
// CHECK-NEXT:   const idx [[START:i_.*]] = slice_ * 8 - [[BEFORE]];
// CHECK:        #pragma omp simd
// CHECK-NEXT:   for (idx [[LINE:i_.*]] = 0;
// CHECK:          results_[{{.*}}][[[LINE]]] = v_
// CHECK:          kept_[0][[[LINE]]] = v_
// CHECK:        const idx [[ROW_0:i_.*]] = [[FIRST]] - i_{{[0-9]+}}_;
// CHECK:        prefetch_write_l1(&out_up_[{{.*}} + [[ROW_0]] - 8 + {{.*}}]);
// CHECK-NEXT:   #pragma omp simd
// CHECK-NEXT:   for (idx row_ =
// CHECK-NEXT:     out_up_[{{.*}} + [[ROW_0]] + row_ {{.*}}] = results_[row_]
img.pipeline @up {
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
  %turned = img.group "up" schedule #schedule.scan<threads = [1], width = 16, slice = 8, prefetch = 1> {
    %up = img.update "up" (%x) over (%r in [%one, %n]) of (%h = %start : !img.func<2xf32>) {
      %a = img.read %h[%x, %n + %r * -1] : !img.func<2xf32>
      %b = img.read %in[%x, %n + %r * -1 - 1] : !img.func<2xf32>
      %v = arith.addf %a, %b : f32
      img.write %v at [%x, %n + %r * -1 - 1] : f32
    }
    %t = img.stage "turned" (%x, %y) -> f32 {
      %v = img.read %up[%y, %x] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %t : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "turned" = %turned : !img.func<2xf32>
}
