// What is printed of funnel shifts parses back, and means the same to the real mlir-opt; in CUDA each is one instruction.

// RUN: pipeline-opt %s | pipeline-opt | filecheck %s
// RUN: pipeline-opt %s --print-op-generic | pipeline-opt | filecheck %s
// RUN: pipeline-opt %s | mlir-opt | filecheck %s
// RUN: pipeline-opt %s --print-op-generic | mlir-opt | filecheck %s
// RUN: pipeline-opt %s -t cuda | filecheck %s --check-prefix=CUDA
// RUN: not pipeline-opt %s -t c 2>&1 | filecheck %s --check-prefix=C

// CHECK-LABEL: func.func @shifts(
// CHECK:         llvm.intr.fshl({{%.*}}, {{%.*}}, {{%.*}}) : (i32, i32, i32) -> i32
// CHECK:         llvm.intr.fshr({{%.*}}, {{%.*}}, {{%.*}}) : (i32, i32, i32) -> i32
// CUDA:          __funnelshift_l(low_, high_, amount_)
// CUDA:          __funnelshift_r(low_, high_, amount_)
// C:             error: llvm.intr.fshl is not printed as C; for a CPU, lower with lower-warp-tiles{warps=false}
func.func @shifts(%out: memref<2xi32>, %high: i32, %low: i32, %amount: i32) attributes {kernel.inline} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %l = llvm.intr.fshl(%high, %low, %amount) : (i32, i32, i32) -> i32
  %r = llvm.intr.fshr(%high, %low, %amount) : (i32, i32, i32) -> i32
  memref.store %l, %out[%zero] : memref<2xi32>
  memref.store %r, %out[%one] : memref<2xi32>
  func.return
}
