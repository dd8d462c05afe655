// RUN: pipeline-opt %s -p 'thread-arrays' | filecheck %s

// %kept has a place for every thread; %own is of one thread loop alone.

// CHECK:      %kept = memref.alloca() : memref<2x32x4xf32, 3 : i64>
// CHECK-NEXT: scf.for %ty =
// CHECK-NEXT:   scf.for %tx =
// CHECK-NEXT:     %own = memref.alloca() : memref<1xf32, 5 : i64>
// CHECK-NEXT:     memref.store %v, %own[%0] : memref<1xf32, 5 : i64>
// CHECK-NEXT:     memref.store %v, %kept[%ty, %tx, %0] : memref<2x32x4xf32, 3 : i64>
// CHECK:      "gpu.barrier"() : () -> ()
// CHECK-NEXT: scf.for %ty_1 =
// CHECK-NEXT:   scf.for %tx_1 =
// CHECK-NEXT:     %w = memref.load %kept[%ty_1, %tx_1, %0] : memref<2x32x4xf32, 3 : i64>
func.func @kernel(%v: f32, %out: memref<32x2xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %32 = arith.constant 32 : index
  %kept = memref.alloca() : memref<4xf32, 5 : i64>
  scf.for %ty = %0 to %2 step %1 {
    scf.for %tx = %0 to %32 step %1 {
      %own = memref.alloca() : memref<1xf32, 5 : i64>
      memref.store %v, %own[%0] : memref<1xf32, 5 : i64>
      memref.store %v, %kept[%0] : memref<4xf32, 5 : i64>
    } {kernel.level = "thread_x"}
  } {kernel.level = "thread_y"}
  "gpu.barrier"() : () -> ()
  scf.for %ty = %0 to %2 step %1 {
    scf.for %tx = %0 to %32 step %1 {
      %w = memref.load %kept[%0] : memref<4xf32, 5 : i64>
      memref.store %w, %out[%tx, %ty] : memref<32x2xf32>
    } {kernel.level = "thread_x"}
  } {kernel.level = "thread_y"}
  func.return
}
