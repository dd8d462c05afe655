// RUN: pipeline-opt %s --split-input-file -p stream-stores | filecheck %s

// A part of the row is kept; pixels before the first line, whole lines, and pixels after the last are stored.

// CHECK-LABEL: @row
func.func @row(%in: memref<?xf32>, %out: memref<?x?xf32, strided<[?, 1]>>, %y: index, %a: index, %b: index) {
  // CHECK-NEXT: %line_out = memref.alloca() : memref<1024xf32, 3 : i64>
  // CHECK:      scf.for %part = %a to %b
  // CHECK:        [[END:%.*]] = arith.minsi
  // CHECK-NEXT:   scf.for %x = %part to [[END]] step %one {
  // CHECK:          memref.store {{%.*}}, %line_out
  // CHECK-NEXT:   } {kernel.simd}
  // CHECK:        "memref.extract_aligned_pointer_as_index"(%out)
  // CHECK-NEXT:   memref.extract_strided_metadata %out
  // CHECK:        scf.for %i
  // CHECK:          memref.store {{%.*}}, %out[%y, {{%.*}}]
  // CHECK:        scf.for %line
  // CHECK:          [[LINE:%.*]] = vector.load %line_out[{{%.*}}] : memref<1024xf32, 3 : i64>, vector<16xf32>
  // CHECK:          vector.store [[LINE]], %out[%y, {{%.*}}] {nontemporal = true}
  // CHECK:        scf.for %i
  // CHECK:          memref.store {{%.*}}, %out[%y, {{%.*}}]
  // CHECK:      nvvm.memory.barrier <gpu>
  // CHECK-NEXT: func.return
  %one = arith.constant 1 : index
  scf.for %x = %a to %b step %one {
    %p = memref.load %in[%x] : memref<?xf32>
    %v = arith.mulf %p, %p : f32
    memref.store %v, %out[%y, %x] : memref<?x?xf32, strided<[?, 1]>>
  } {kernel.simd, kernel.stream}
  func.return
}

// -----

// Pixels that do not lie side by side stay; so do rows that are not marked.

// CHECK-LABEL: @apart
// CHECK-NOT:   memref.alloca
// CHECK-NOT:   nvvm.memory.barrier
func.func @apart(%in: memref<?xf32>, %out: memref<?xf32>, %a: index, %b: index) {
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  scf.for %x = %a to %b step %one {
    %p = memref.load %in[%x] : memref<?xf32>
    %at = arith.muli %x, %two : index
    memref.store %p, %out[%at] : memref<?xf32>
  } {kernel.simd, kernel.stream}
  scf.for %x = %a to %b step %one {
    %p = memref.load %in[%x] : memref<?xf32>
    memref.store %p, %out[%x] : memref<?xf32>
  } {kernel.simd}
  func.return
}
