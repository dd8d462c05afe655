// What is printed of nvvm.griddepcontrol parses back, and means the same to the real mlir-opt.

// RUN: TILEFUSE_ROUNDTRIP
// RUN: TILEFUSE_GENERIC_ROUNDTRIP
// RUN: pipeline-opt %s | mlir-opt | filecheck %s
// RUN: pipeline-opt %s --print-op-generic | mlir-opt | filecheck %s
// RUN: pipeline-opt %s -t cuda | filecheck %s --check-prefix=CUDA
// RUN: pipeline-opt %s -t c | filecheck %s --check-prefix=C

// CHECK-LABEL: func.func @early(
// CHECK:         nvvm.griddepcontrol {{ ?}}launch_dependents
// CHECK:         nvvm.griddepcontrol {{ ?}}wait
// CUDA:          #if __CUDA_ARCH__ >= 900
// CUDA-NEXT:     asm volatile("griddepcontrol.launch_dependents;");
// CUDA-NEXT:     #endif
// CUDA:          asm volatile("griddepcontrol.wait;" ::: "memory");
// CUDA:        early_fn(
// CUDA-NEXT:     griddepcontrol_launch_dependents();
// CUDA-NEXT:     griddepcontrol_wait();
// C-NOT:       griddepcontrol
func.func @early() attributes {kernel.threads = array<i64: 32, 1, 1>} {
  nvvm.griddepcontrol launch_dependents
  nvvm.griddepcontrol wait
  func.return
}
