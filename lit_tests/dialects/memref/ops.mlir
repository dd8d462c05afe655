// What is printed of memref.prefetch parses back, and means the same to the real mlir-opt.

// RUN: TILEFUSE_ROUNDTRIP
// RUN: TILEFUSE_GENERIC_ROUNDTRIP
// RUN: pipeline-opt %s | mlir-opt | filecheck %s
// RUN: pipeline-opt %s --print-op-generic | mlir-opt | filecheck %s
// RUN: pipeline-opt %s -t cuda | filecheck %s --check-prefix=CUDA
// RUN: pipeline-opt %s -t c | filecheck %s --check-prefix=C

// CHECK-LABEL: func.func @lines(
// CHECK:         memref.prefetch {{%.*}}[{{%.*}}, {{%.*}}], read, locality<2>, data : memref<?x?xf32>
// CHECK:         memref.prefetch {{%.*}}[{{%.*}}, {{%.*}}], read, locality<3>, data : memref<?x?xf32>
// CHECK:         memref.prefetch {{%.*}}[{{%.*}}, {{%.*}}], write, locality<3>, data : memref<?x?xf32>
// CUDA-DAG:    void prefetch_write_l1(const void* p) { asm volatile("prefetch.global.L1 [%0];" :: "l"(p)); }
// CUDA-DAG:    void prefetch_l1(const void* p) { asm volatile("prefetch.global.L1 [%0];" :: "l"(p)); }
// CUDA-DAG:    void prefetch_l2(const void* p) { asm volatile("prefetch.global.L2 [%0];" :: "l"(p)); }
// CUDA:        prefetch_l2(&in_[i_ * in_n1_ + i_]);
// CUDA:        prefetch_l1(&in_[i_ * in_n1_ + i_]);
// CUDA:        prefetch_write_l1(&in_[i_ * in_n1_ + i_]);
// C:           __builtin_prefetch(p, 0, 2)
// C:           __builtin_prefetch(p, 1, 3)
// C:           prefetch_l2(&in_[i_ * in_n1_ + i_]);
// C:           prefetch_write_l1(&in_[i_ * in_n1_ + i_]);
func.func @lines(%in: memref<?x?xf32>, %i: index) attributes {kernel.inline} {
  memref.prefetch %in[%i, %i], read, locality<2>, data : memref<?x?xf32>
  memref.prefetch %in[%i, %i], read, locality<3>, data : memref<?x?xf32>
  memref.prefetch %in[%i, %i], write, locality<3>, data : memref<?x?xf32>
  func.return
}
