// A product of matrices: a thread has 2 x 2 points, whose four sums stay in registers, and reads two operands of each.
// RUN: pipeline-opt %s -p 'tile{shape=gemm sizes=64,4 threads=32,2},validate-occupancy' | filecheck %s --check-prefix=TILE
// RUN: pipeline-opt %s -p 'tile{shape=gemm sizes=64,4 threads=32,2},lower-groups,cse' | filecheck %s
// RUN: pipeline-opt %s -p 'tile{shape=gemm sizes=64,4 threads=32,2},lower-groups,cse' -t cuda | filecheck %s --check-prefix=CUDA
// RUN: pipeline-opt %s -p 'tile{shape=gemm sizes=32,2 threads=1,1},lower-groups,cse' -t c | filecheck %s --check-prefix=C

// TILE: img.group "c" schedule #schedule.gemm<threads = [32, 2], points = [2, 2]>

// CHECK:      func.func @product_c_kernel{{.*}}(%zero: memref<?x?xf32
// CHECK-SAME: kernel.threads = array<i64: 32, 2, 1>
// CHECK:      %[[SUMS:.*]] = memref.alloca() : memref<4xf32, 5 : i64>
// CHECK:      scf.for %k = {{.*}} {
// CHECK:        memref.load %a[
// CHECK:        memref.load %b[
// CHECK:        memref.load %b[
// CHECK:        memref.load %a[
// CHECK-NOT:    memref.load %{{[ab]}}[
// CHECK:      } else {

// CUDA:      if (out_c_n1_ >= 64 && out_c_n0_ >= 4) {
// CUDA:      float sums_[4];
// CUDA:      for (idx k_ = 0; k_ <
// CUDA:      sums_[3] = sums_[3] + {{.*}};
// CUDA:      if (test_ && test_1_) {
// CUDA-NEXT: zero_[{{.*}}] = sums_[0];

// C:      float sums_[2][32];
// C:      for (idx k_ = 0; k_ <
// C:      #pragma omp simd
// C-NEXT: for (idx i_5_ = 0; i_5_ < 32; ++i_5_) {
// C:      sums_[1][i_5_] = sums_[1][i_5_] +
img.pipeline @product {
  %a = img.input "a" : !img.func<2xf32>
  %b = img.input "b" : !img.func<2xf32>
  %n = img.extent 0 of %a : !img.func<2xf32>
  %first = img.min 0 of %a : !img.func<2xf32>
  %z = img.group "zero" schedule #schedule.block_tile<tile = [32, 4], threads = [32, 4]> {
    %s = img.stage "zero" (%x, %y) -> f32 {
      %v = arith.constant 0.0 : f32
      img.yield %v : f32
    }
    img.yield %s : !img.func<2xf32>
  } : !img.func<2xf32>
  %c = img.group "c" {
    %u = img.update "c" (%x, %y) over (%k in [%first, %n]) of (%h = %z : !img.func<2xf32>) combine [add] {
      %l = img.read %a[%k, %y] : !img.func<2xf32>
      %r = img.read %b[%x, %k] : !img.func<2xf32>
      %p = arith.mulf %l, %r : f32
      img.write %p at [%x, %y] : f32
    }
    img.yield %u : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "c" = %c : !img.func<2xf32>
}
