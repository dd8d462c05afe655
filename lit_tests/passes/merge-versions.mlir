// RUN: pipeline-opt %s -p 'merge-versions{min_operations=12}' | filecheck %s
// RUN: pipeline-opt %s -p 'merge-versions{min_operations=12}' --print-op-generic | mlir-opt -o /dev/null
// RUN: pipeline-opt %s -p 'merge-versions{min_operations=12},merge-versions{min_operations=12}' | filecheck %s
// RUN: pipeline-opt %s -p 'merge-versions{min_operations=12}' -t cuda | filecheck %s --check-prefix=CUDA
// RUN: pipeline-opt %s -p merge-versions | filecheck %s --check-prefix=SHORT

// A long tile body is left in two versions: one for the interior, and one, not inlined, for all other tiles. The
// operations of unrolled loops count as often as they run; a body that is not long keeps its versions.

// SHORT-COUNT-4: func.call @long_tile1(
// SHORT-NOT:     kernel.outlined

// CHECK:      func.func @long_border1(%out: memref<?xf32>, %x0: index, %uniform: i1) attributes {kernel.outlined} {
// CHECK-NEXT:   %yes = arith.constant true
// CHECK-NEXT:   func.call @long_tile1(%out, %x0, %yes, %uniform)
// CHECK-NEXT:   func.return
// CHECK:      func.func @kernel(
// CHECK:          %[[FAST:[0-9]+]] = arith.andi %interior, %aligned : i1
// CHECK-NEXT:     scf.if %[[FAST]] {
// CHECK-NEXT:       func.call @long_tile1(%out, %bx, %no, %yes)
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %uniform = arith.andi %aligned, %aligned : i1
// CHECK-NEXT:       func.call @long_border1(%out, %bx, %uniform)
// CHECK-NEXT:     }

// The body of two operations in a loop of one round is short.
// CHECK:      func.func @other(
// CHECK-COUNT-2: func.call @short_tile1(

// CUDA:       static __device__ __noinline__ void long_border1(
// CUDA:         long_tile1(out_, out_n0_, x0_, true, uniform_);

func.func @long_tile1(%out: memref<?xf32>, %x0: index, %border: i1, %uniform: i1) attributes {kernel.inline} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  scf.for %tx = %c0 to %c32 step %c1 {
    scf.for %i = %c0 to %c4 step %c1 {
      memref.store %zero, %out[%tx] : memref<?xf32>
    } {kernel.unroll}
  } {kernel.level = "thread_x"}
  func.return
}
func.func @kernel(%out: memref<?xf32>, %interior: i1, %aligned: i1) attributes {kernel.threads = array<i64: 32, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %yes = arith.constant true
  %no = arith.constant false
  scf.for %bx = %c0 to %c1 step %c1 {
    scf.if %interior {
      scf.if %aligned {
        func.call @long_tile1(%out, %bx, %no, %yes) : (memref<?xf32>, index, i1, i1) -> ()
      } else {
        func.call @long_tile1(%out, %bx, %no, %no) : (memref<?xf32>, index, i1, i1) -> ()
      }
    } else {
      %uniform = arith.andi %aligned, %aligned : i1
      scf.if %uniform {
        func.call @long_tile1(%out, %bx, %yes, %yes) {kernel.no_cse = 1 : i64} : (memref<?xf32>, index, i1, i1) -> ()
      } else {
        func.call @long_tile1(%out, %bx, %yes, %no) {kernel.no_cse = 1 : i64} : (memref<?xf32>, index, i1, i1) -> ()
      }
    }
  } {kernel.level = "block_x"}
  func.return
}
func.func @short_tile1(%out: memref<?xf32>, %border: i1) attributes {kernel.inline} {
  func.return
}
func.func @other(%out: memref<?xf32>, %interior: i1) attributes {kernel.threads = array<i64: 32, 1, 1>} {
  %yes = arith.constant true
  %no = arith.constant false
  scf.if %interior {
    func.call @short_tile1(%out, %no) : (memref<?xf32>, i1) -> ()
  } else {
    func.call @short_tile1(%out, %yes) : (memref<?xf32>, i1) -> ()
  }
  func.return
}
