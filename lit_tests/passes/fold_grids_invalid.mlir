// RUN: pipeline-opt %s --split-input-file -p fold-grids --verify-diagnostics

// Loops that do not count blocks are refused, as they are where kernels are printed.

func.func @from_two(%a : memref<?x?xf32>) attributes {kernel.threads = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  // expected-error@+1 {{a loop over blocks must run from 0 with step 1}}
  scf.for %by = %c2 to %n step %c1 {
    scf.for %bx = %c0 to %n step %c1 {
    } {kernel.level = "block_x"}
  } {kernel.level = "block_y"}
  func.return
}

// -----

func.func @every_other(%a : memref<?x?xf32>) attributes {kernel.threads = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  scf.for %by = %c0 to %n step %c1 {
    // expected-error@+1 {{a loop over blocks must run from 0 with step 1}}
    scf.for %bx = %c0 to %n step %c2 {
    } {kernel.level = "block_x"}
  } {kernel.level = "block_y"}
  func.return
}
