// An update of few steps is one thread's: pure points times those of the domain, whose extents a call may give.

// RUN: pipeline-opt %s -p lower-groups{warps=false},expand-division | filecheck %s
// RUN: pipeline-opt %s -p lower-groups{warps=false},expand-division -t c | filecheck %s --check-prefix=C
// RUN: pipeline-opt %s -p lower-groups | filecheck %s --check-prefix=GPU
// RUN: pipeline-opt %s -p 'lower-groups{warps=false target=zen5}' | filecheck %s --check-prefix=ZEN5

// The first factor is the extent of the domain, argument 8 of the kernel; the second axis 0 of the result, argument 5.
// CHECK:  func.func @sums_f_update_kernel4({{.*}}kernel.parallel_threshold = array<i64: 150000, 8, -1, 5, 0>
// C:      #pragma omp parallel for schedule(static) if(tiles_x_ >= 2 && (double)h_ * out_f_update_n0_ >= 150000)
// GPU-NOT: kernel.parallel_threshold
// A faster core does more before others would have begun.
// ZEN5:   kernel.parallel_threshold = array<i64: 175000, 8, -1, 5, 0>
img.pipeline @sums {
  %in = img.input "in" : !img.func<2xf32>
  %y0 = img.min 1 of %in : !img.func<2xf32>
  %h = img.extent 1 of %in : !img.func<2xf32>
  %f0 = img.group "f" schedule #schedule.block_tile<tile = [256], threads = [256]> {
    %s = img.stage "f" (%x) -> f32 {
      %z = arith.constant 0.0 : f32
      img.yield %z : f32
    }
    img.yield %s : !img.func<1xf32>
  } : !img.func<1xf32>
  %f1 = img.group "f_update" schedule #schedule.in_order<threads = [32]> {
    %u = img.update "f_update" (%x) over (%r in [%y0, %h]) of (%old = %f0 : !img.func<1xf32>) combine [add] {
      %v = img.read %in[%x, %r] : !img.func<2xf32>
      img.write %v at [%x] : f32
    }
    img.yield %u : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "f" = %f1 : !img.func<1xf32>
}
