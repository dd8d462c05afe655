// RUN: pipeline-opt %s -p lower-groups | filecheck %s
// RUN: pipeline-opt %s -p lower-groups -t c | filecheck %s --check-prefix=C
// RUN: pipeline-opt %s -p lower-groups -t cuda | filecheck %s --check-prefix=CUDA

// A histogram per row: a thread for each y, which goes over x in order and writes where the old function lies.

// CHECK:      func.func @hist_hist_update_kernel4(%hist: memref<?x?xi32, strided<[?, 1]>>,
// CHECK-SAME: kernel.threads = array<i64: 64, 1, 1>
// CHECK:      scf.for %bx = {{.*}} {
// CHECK:        scf.for %tx = {{.*}} {
// CHECK:          scf.if
// CHECK:            scf.for %r = {{.*}} {
// CHECK:              scf.if %p {
// CHECK:                %[[OLD:.*]] = memref.load %hist[
// CHECK-NEXT:           %[[NEW:.*]] = arith.addi %[[OLD]], %one : i32
// CHECK-NEXT:           memref.store %[[NEW]], %hist[
// CHECK:        {kernel.level = "thread_x"}
// CHECK:      {kernel.level = "block_x"}

// C:      void hist_hist_update_kernel4(
// C:      #pragma omp parallel for
// C-NEXT: for (idx bx_ = 0; bx_ < {{.*}}; ++bx_) {
// C:        for (idx r_ = 0; r_ < {{.*}}; ++r_) {
// C:          if (v_ > 3) {

// CUDA:      hist_hist_update_kernel4(
// CUDA-NEXT: unsigned int* __restrict__ hist_,
// CUDA:      const unsigned char* __restrict__ in_,
// CUDA:      for (idx r_ = 0; r_ < {{.*}}; ++r_) {
// CUDA:      hist_[{{.*}}] = hist_[{{.*}}] + 1;
img.pipeline @hist {
  %in = img.input "in" : !img.func<2xui8>
  %w = img.extent 0 of %in : !img.func<2xui8>
  %x0 = img.min 0 of %in : !img.func<2xui8>
  %h0 = img.group "hist" schedule #schedule.block_tile<tile = [32, 4], threads = [32, 4]> {
    %s = img.stage "hist" (%x, %y) -> ui32 {
      %z = arith.constant 0 : i32
      img.yield %z : i32
    }
    img.yield %s : !img.func<2xui32>
  } : !img.func<2xui32>
  %h1 = img.group "hist_update" schedule #schedule.in_order<threads = [64]> {
    %u = img.update "hist_update" (%y) over (%r in [%x0, %w]) of (%h = %h0 : !img.func<2xui32>) combine [add] {
      %v = img.read %in[%r, %y] : !img.func<2xui8>
      %n = arith.extui %v : i8 to i32
      %i = arith.index_cast %n : i32 to index
      %one = arith.constant 1 : i32
      %c = arith.constant 3 : i8
      %p = arith.cmpi ugt, %v, %c : i8
      img.write %one at [%i, %y] where %p : i32
    }
    img.yield %u : !img.func<2xui32>
  } : !img.func<2xui32>
  img.return "hist" = %h1 : !img.func<2xui32>
}
