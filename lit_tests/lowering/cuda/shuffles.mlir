// Lanes' values from above and below, from a lane's own number with some bits turned, and from any lane; of 32 and of 64 bits.

// RUN: pipeline-opt %s -t cuda | filecheck %s
// RUN: not pipeline-opt %s -t c 2>&1 | filecheck %s --check-prefix=C

// CHECK:      const unsigned int a_ = __shfl_up_sync(0xffffffffu, v_, 1, 32);
// CHECK-NEXT: const unsigned long long b_ = __shfl_down_sync(0xffffffffu, w_, 1, 32);
// CHECK-NEXT: const float c_ = __shfl_xor_sync(0xffffffffu, f_, 1, 32);
// CHECK-NEXT: const double d_ = __shfl_sync(0xffffffffu, g_, 1, 32);
// C: gpu.shuffle cannot be printed as C
func.func @lanes(%out: memref<?xi32>, %v: i32, %w: i64, %f: f32, %g: f64) attributes {kernel.threads = array<i64: 32, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1 : i32
  %width = arith.constant 32 : i32
  scf.for %t = %c0 to %c32 step %c1 {
    %a, %0 = gpu.shuffle up %v, %one, %width : i32
    %b, %1 = gpu.shuffle down %w, %one, %width : i64
    %c, %2 = gpu.shuffle xor %f, %one, %width : f32
    %d, %3 = gpu.shuffle idx %g, %one, %width : f64
    %e = arith.trunci %b : i64 to i32
    %ab = arith.addi %a, %e : i32
    %ci = arith.fptosi %c : f32 to i32
    %di = arith.fptosi %d : f64 to i32
    %cd = arith.addi %ci, %di : i32
    %s = arith.addi %ab, %cd : i32
    memref.store %s, %out[%t] : memref<?xi32>
  } {kernel.level = "thread_x"}
  func.return
}
