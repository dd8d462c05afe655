// RUN: pipeline-opt %s --split-input-file -p row-pointers | filecheck %s

// Each row is one view, of the columns that are read: rows `%same` and `%next` are both y + 1.

// CHECK-LABEL: @neighbours
// CHECK:      [[COLUMNS:%.*]] = arith.subi %b, %a : index
// CHECK:      [[FIRST:%.*]] = arith.addi %first, %a : index
// CHECK:      [[SIZE:%.*]] = arith.addi [[COLUMNS]], {{%.*}} : index
// CHECK-NEXT: %in_row = memref.subview %in[%y, [[FIRST]]] [1, [[SIZE]]] [1, 1] : memref<?x?xf32> to memref<?xf32, strided<[1], offset: ?>>
// CHECK:      %in_row_1 = memref.subview %in[%same, {{%.*}}] [1, {{%.*}}] [1, 1]
// CHECK-NEXT: %out_row = memref.subview %out[%a] [[[COLUMNS]]] [1]
// CHECK-NOT:  subview
// CHECK:      scf.for %k = {{%.*}} to [[COLUMNS]] step %one {
// CHECK:        [[RIGHT:%.*]] = arith.addi %k, {{%.*}} : index
// CHECK-NEXT:   %p = memref.load %in_row[%k] : memref<?xf32, strided<[1], offset: ?>>
// CHECK-NEXT:   %q = memref.load %in_row[[[RIGHT]]]
// CHECK-NEXT:   %r = memref.load %in_row_1[%k]
// CHECK-NEXT:   %s = memref.load %in_row_1[[[RIGHT]]]
// CHECK:        memref.store %v, %out_row[%k]
// CHECK-NEXT: } {kernel.simd}
func.func @neighbours(%in: memref<?x?xf32>, %out: memref<4096xf32>, %a: index, %b: index, %y: index, %first: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %below = arith.addi %y, %two : index
  %same = arith.subi %below, %one : index
  %next = arith.addi %y, %one : index
  scf.for %x = %a to %b step %one {
    %column = arith.addi %first, %x : index
    %right = arith.addi %column, %one : index
    %p = memref.load %in[%y, %column] : memref<?x?xf32>
    %q = memref.load %in[%y, %right] : memref<?x?xf32>
    %r = memref.load %in[%same, %column] : memref<?x?xf32>
    %s = memref.load %in[%next, %right] : memref<?x?xf32>
    %t = arith.addf %p, %q : f32
    %u = arith.addf %r, %s : f32
    %v = arith.addf %t, %u : f32
    memref.store %v, %out[%x] : memref<4096xf32>
  } {kernel.simd}
  func.return
}

// -----

// The addresses of two rows find registers by themselves.

// CHECK-LABEL: @few
// CHECK-NOT:  subview
func.func @few(%in: memref<?xf32>, %out: memref<?xf32>, %a: index, %b: index) {
  %one = arith.constant 1 : index
  scf.for %x = %a to %b step %one {
    %p = memref.load %in[%x] : memref<?xf32>
    memref.store %p, %out[%x] : memref<?xf32>
  } {kernel.simd}
  func.return
}

// -----

// A loop that reads every other column stays as it is.

// CHECK-LABEL: @strided
// CHECK-NOT:  subview
func.func @strided(%in: memref<?x?xf32>, %rows: memref<3x64xf32, 3>, %out: memref<?xf32>, %a: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %end = arith.constant 64 : index
  scf.for %x = %zero to %end step %one {
    %t = arith.muli %x, %two : index
    %q = memref.load %in[%a, %t] : memref<?x?xf32>
    %r = memref.load %rows[%zero, %x] : memref<3x64xf32, 3>
    %v = arith.addf %q, %r : f32
    memref.store %v, %out[%x] : memref<?xf32>
    memref.store %v, %rows[%one, %x] : memref<3x64xf32, 3>
  } {kernel.simd}
  func.return
}

// -----

// A number that is the same for all columns is read as before; where the column is computed with, the first is added.

// CHECK-LABEL: @column
// CHECK:      memref.subview %rows[%zero, %start] [1, {{%.*}}] [1, 1] : memref<3x64xf32, 3 : i64> to memref<?xf32, strided<[1], offset: ?>, 3 : i64>
// CHECK:      scf.for %k
// CHECK-NEXT:   %x = arith.addi %k, %start : index
// CHECK-NEXT:   %t = arith.index_cast %x
// CHECK:        %p = memref.load %in[%a, %a]
// CHECK-NEXT:   %r = memref.load %rows_row[%k]
func.func @column(%in: memref<?x?xf32>, %rows: memref<3x64xf32, 3>, %out: memref<?xf32>, %a: index, %start: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 64 : index
  scf.for %x = %start to %end step %one {
    %t = arith.index_cast %x : index to i32
    %f = arith.sitofp %t : i32 to f32
    %p = memref.load %in[%a, %a] : memref<?x?xf32>
    %r = memref.load %rows[%zero, %x] : memref<3x64xf32, 3>
    %v = arith.addf %p, %r : f32
    %w = arith.addf %v, %f : f32
    memref.store %w, %out[%x] : memref<?xf32>
    memref.store %w, %rows[%one, %x] : memref<3x64xf32, 3>
  } {kernel.simd}
  func.return
}
