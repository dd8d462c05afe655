// RUN: pipeline-opt %s -p lower-groups -t c | filecheck %s
// RUN: pipeline-opt %s -p lower-groups -t cuda | filecheck %s --check-prefix=CUDA

// Sums down the columns: 64 of them take each row together, so that a CPU computes vectors.

// CHECK:      void sums_sums_update_kernel
// CHECK:      const idx tiles_x_ = (idx)((uidx)({{.*}} + 63) / 64);
// CHECK:      for (idx bx_ = 0; bx_ < tiles_x_; ++bx_) {
// CHECK:        for (idx r_ = 0; r_ < {{.*}}; ++r_) {
// CHECK:          #pragma omp simd
// CHECK-NEXT:     for (idx x_ = 0; x_ < {{.*}}; ++x_) {
// CHECK:            sums_[{{.*}}] = sums_[

// CUDA:       for (idx r_ = 0; r_ < {{.*}}; ++r_) {
// CUDA:         for (idx x_ = 0; x_ < {{.*}}; ++x_) {
img.pipeline @sums {
  %in = img.input "in" : !img.func<2xui32>
  %h = img.extent 1 of %in : !img.func<2xui32>
  %y0 = img.min 1 of %in : !img.func<2xui32>
  %s0 = img.group "sums" schedule #schedule.block_tile<tile = [64], threads = [64]> {
    %s = img.stage "sums" (%x) -> ui32 {
      %z = arith.constant 0 : i32
      img.yield %z : i32
    }
    img.yield %s : !img.func<1xui32>
  } : !img.func<1xui32>
  %s1 = img.group "sums_update" schedule #schedule.in_order<threads = [1], points = 64> {
    %u = img.update "sums_update" (%x) over (%r in [%y0, %h]) of (%s = %s0 : !img.func<1xui32>) combine [add] {
      %v = img.read %in[%x, %r] : !img.func<2xui32>
      img.write %v at [%x] : i32
    }
    img.yield %u : !img.func<1xui32>
  } : !img.func<1xui32>
  img.return "sums" = %s1 : !img.func<1xui32>
}
