// What cannot be printed is said in one line, at the operation.

// RUN: not pipeline-opt %s -t c -o /dev/null 2>%t.errors
// RUN: filecheck %s < %t.errors

// CHECK: invalid.mlir:7:{{[0-9]+}}: error: @few: kernel.parallel_threshold must be array<i64: the least work, then per factor the number of an argument and an axis of it, -1 for an index>
func.func @few(%n: index, %out: memref<?xf32>) attributes {kernel.threads = array<i64: 1, 1, 1>, kernel.parallel_threshold = array<i64: 1000, 0, 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %bx = %c0 to %n step %c1 {
  } {kernel.level = "block_x"}
  func.return
}
