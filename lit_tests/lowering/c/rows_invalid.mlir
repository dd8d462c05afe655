// RUN: not pipeline-opt %s -t c -o /dev/null 2>%t.errors
// RUN: filecheck %s < %t.errors

// CHECK: rows_invalid.mlir:7:{{[0-9]+}}: error: memref.subview: only a part of one row is printed, its first element given by values
func.func @rows(%in: memref<?x?xf32>, %out: memref<?xf32>, %n: index, %y: index, %x: index) attributes {kernel.inline} {
  %zero = arith.constant 0 : index
  %column = memref.subview %in[%y, %x][%n, 1][1, 1] : memref<?x?xf32> to memref<?xf32, strided<[?], offset: ?>>
  %a = memref.load %column[%zero] : memref<?xf32, strided<[?], offset: ?>>
  memref.store %a, %out[%zero] : memref<?xf32>
  func.return
}
