// An output of so few points that waking other threads takes longer is one thread's, however many blocks it is.

// RUN: pipeline-opt %s -t c | filecheck %s

// CHECK: #pragma omp parallel for schedule(static) if(out_n0_ >= 2 && out_n0_ * 3 >= 1000)

func.func @double(%in: memref<?x3xf32, strided<[?, 1]>>, %out: memref<?x3xf32, strided<[?, 1]>>) attributes {kernel.threads = array<i64: 1, 1, 1>, kernel.parallel_threshold = array<i64: 1000, 1, 0, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %blocks = memref.dim %out, %c0 : memref<?x3xf32, strided<[?, 1]>>
  scf.for %by = %c0 to %blocks step %c1 {
    scf.for %x = %c0 to %c3 step %c1 {
      %a = memref.load %in[%by, %x] : memref<?x3xf32, strided<[?, 1]>>
      %b = arith.addf %a, %a : f32
      memref.store %b, %out[%by, %x] : memref<?x3xf32, strided<[?, 1]>>
    }
  } {kernel.level = "block_y"}
  func.return
}
