// RUN: pipeline-opt %s -t c | filecheck %s

// A view of a row is a pointer; GCC does not add up its address for each element anew, as it does not know the array.

// CHECK-LABEL: void rows_fn(
func.func @rows(%in: memref<?x?xf32>, %out: memref<?xf32>, %n: index, %y: index, %x: index) attributes {kernel.inline} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %kept = memref.alloca() : memref<3x64xf32, 3>
  // CHECK:      const float* row_ = &in_[y_ * in_n1_ + x_]; hide(row_);
  %row = memref.subview %in[%y, %x][1, %n][1, 1] : memref<?x?xf32> to memref<?xf32, strided<[1], offset: ?>>
  // CHECK-NEXT: float* kept_row_ = &kept_[1][0]; hide(kept_row_);
  %kept_row = memref.subview %kept[%one, %zero][1, %n][1, 1] : memref<3x64xf32, 3> to memref<?xf32, strided<[1], offset: ?>, 3>
  scf.for %k = %zero to %n step %one {
    // CHECK: kept_row_[k_] = row_[k_] + row_[k_ + 1];
    %next = arith.addi %k, %one : index
    %a = memref.load %row[%k] : memref<?xf32, strided<[1], offset: ?>>
    %b = memref.load %row[%next] : memref<?xf32, strided<[1], offset: ?>>
    %c = arith.addf %a, %b : f32
    memref.store %c, %kept_row[%k] : memref<?xf32, strided<[1], offset: ?>, 3>
  } {kernel.simd}
  func.return
}
