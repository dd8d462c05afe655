// RUN: pipeline-opt %s --split-input-file -p fold-grids | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p fold-grids,fold-grids | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p fold-grids -t cuda | filecheck %s --check-prefix=CUDA

// Three loops over blocks, with the bounds of the inner ones between them, become one, in the order of the blocks.

// CHECK:      func.func @copy(
// CHECK-NOT:    block_y
// CHECK-NOT:    block_z
// CHECK:        scf.for %block = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT:     %bx = arith.remui %block, %{{.*}} : index
// CHECK-NEXT:     %{{.*}} = arith.divui %block, %{{.*}} : index
// CHECK-NEXT:     %by = arith.remui %{{.*}}, %{{.*}} : index
// CHECK-NEXT:     %bz = arith.divui %{{.*}}, %{{.*}} : index
// CHECK:        } {kernel.level = "block_x"}
// CHECK-NEXT:   func.return

// CUDA:     copy_fn(
// CUDA:     blockIdx.x
// CUDA-NOT: blockIdx.y
// CUDA-NOT: blockIdx.z

func.func @copy(%a : memref<?x?x?xf32>, %out : memref<?x?x?xf32>) attributes {kernel.threads = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %nz = memref.dim %a, %c0 : memref<?x?x?xf32>
  scf.for %bz = %c0 to %nz step %c1 {
    %ny = memref.dim %a, %c1 : memref<?x?x?xf32>
    scf.for %by = %c0 to %ny step %c1 {
      %c2 = arith.constant 2 : index
      %nx = memref.dim %a, %c2 : memref<?x?x?xf32>
      scf.for %bx = %c0 to %nx step %c1 {
        %v = memref.load %a[%bz, %by, %bx] : memref<?x?x?xf32>
        memref.store %v, %out[%bz, %by, %bx] : memref<?x?x?xf32>
      } {kernel.level = "block_x"}
    } {kernel.level = "block_y"}
  } {kernel.level = "block_z"}
  func.return
}

// -----

// A grid along x is left alone.

// CHECK:      func.func @row(
// CHECK:        scf.for %bx = %c0 to %nx step %c1 {
// CHECK-NEXT:     %v = memref.load
// CHECK:        } {kernel.level = "block_x"}

// CUDA: row_fn(
// CUDA: blockIdx.x

func.func @row(%a : memref<?xf32>, %out : memref<?xf32>) attributes {kernel.threads = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %nx = memref.dim %a, %c0 : memref<?xf32>
  scf.for %bx = %c0 to %nx step %c1 {
    %v = memref.load %a[%bx] : memref<?xf32>
    memref.store %v, %out[%bx] : memref<?xf32>
  } {kernel.level = "block_x"}
  func.return
}
