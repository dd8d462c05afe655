// RUN: pipeline-opt %s --split-input-file -p interleave-planes | filecheck %s

// Two planes at two places: the copy has both planes of a place side by side, padded to four elements. It is made anew
// where a row needs other planes; a row that may read too many places stays as it was.

// CHECK-LABEL: @grid
func.func @grid(%in: memref<?xi32>, %grid: memref<?x?x?xf32>, %out: memref<?xf32>, %low: index, %high: index, %a: index, %b: index) {
  // CHECK:      %table = memref.alloca() : memref<16384xf32, 3 : i64>
  // CHECK:      %held = memref.alloca() : memref<5xindex, 3 : i64>
  // CHECK:      memref.store {{%.*}}, %held[{{%.*}}]
  // CHECK:      [[FEW:%.*]] = arith.cmpi sle, {{%.*}}, {{%.*}} : index
  // CHECK-NEXT: scf.if [[FEW]] {
  // CHECK:        arith.cmpi ne, {{%.*}}, %low : index
  // CHECK:        arith.cmpi ne, {{%.*}}, %high : index
  // CHECK:        scf.if {{%.*}} {
  // CHECK:          scf.for %i
  // CHECK:            scf.for
  // CHECK:              memref.load %grid[%low, %i, [[X:%.*]]]
  // CHECK-NEXT:         memref.store {{%.*}}, %table[[[PLACE:%.*]]]
  // CHECK-NEXT:         memref.load %grid[%high, %i, [[X]]]
  // CHECK:              memref.store {{%.*}}, %table[
  // CHECK:        scf.for %part = %a to %b step {{%.*}} {
  // CHECK:          scf.for
  // CHECK:            memref.load %in[
  // CHECK:            memref.store {{%.*}}, %places[
  // CHECK:            memref.store {{%.*}}, %places_1[
  // CHECK:          } {kernel.simd}
  // CHECK:          memref.load %places[
  // CHECK:            memref.load %table[
  // CHECK-NEXT:       memref.store {{%.*}}, %points[
  // CHECK:          } {kernel.deinterleave}
  // CHECK:            memref.load %places_1[
  // CHECK:          } {kernel.deinterleave}
  // CHECK:          scf.for
  // CHECK-NOT:        memref.load %grid
  // CHECK-COUNT-2:    memref.load %points
  // CHECK-COUNT-2:    memref.load %points_1
  // CHECK:            memref.store {{%.*}}, %out[
  // CHECK:          } {kernel.simd}
  // CHECK:      } else {
  // CHECK:        scf.for {{%.*}} = %a to %b step %one
  // CHECK-COUNT-4:  memref.load %grid[
  // CHECK:        } {kernel.simd}
  // CHECK-NEXT: }
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  scf.for %x = %a to %b step %one {
    %v = memref.load %in[%x] : memref<?xi32>
    %z = arith.index_cast %v : i32 to index
    %x0 = arith.floordivsi %x, %eight : index
    %x1 = arith.addi %x0, %one : index
    %p = memref.load %grid[%low, %z, %x0] : memref<?x?x?xf32>
    %q = memref.load %grid[%high, %z, %x0] : memref<?x?x?xf32>
    // computed again, as planes computed side by side do
    %w = memref.load %in[%x] : memref<?xi32>
    %z1 = arith.index_cast %w : i32 to index
    %r = memref.load %grid[%low, %z1, %x1] : memref<?x?x?xf32>
    %s = memref.load %grid[%high, %z1, %x1] : memref<?x?x?xf32>
    %pq = arith.mulf %p, %q : f32
    %rs = arith.mulf %r, %s : f32
    %sum = arith.addf %pq, %rs : f32
    memref.store %sum, %out[%x] : memref<?xf32>
  } {kernel.simd}
  func.return
}

// -----

// No table: places are not data's; planes are not words; one plane; a function that the kernel stores to.

// CHECK-LABEL: @others
// CHECK-NOT:   memref.alloca
func.func @others(%in: memref<?xi32>, %grid: memref<?x?xf32>, %bytes: memref<?x?xi8>, %own: memref<?x?xf32>, %out: memref<?xf32>, %low: index, %high: index, %a: index, %b: index) {
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %none = arith.constant 0.0 : f32
  memref.store %none, %own[%low, %a] : memref<?x?xf32>
  scf.for %x = %a to %b step %one {
    %v = memref.load %in[%x] : memref<?xi32>
    %z = arith.index_cast %v : i32 to index
    %z1 = arith.addi %z, %one : index
    %even = arith.muli %x, %two : index
    %p0 = memref.load %grid[%low, %even] : memref<?x?xf32>
    %p1 = memref.load %grid[%high, %even] : memref<?x?xf32>
    %b0 = memref.load %bytes[%low, %z] : memref<?x?xi8>
    %b1 = memref.load %bytes[%high, %z] : memref<?x?xi8>
    %b2 = memref.load %bytes[%low, %z1] : memref<?x?xi8>
    %b3 = memref.load %bytes[%high, %z1] : memref<?x?xi8>
    %g0 = memref.load %grid[%low, %z] : memref<?x?xf32>
    %g1 = memref.load %grid[%low, %z1] : memref<?x?xf32>
    %o0 = memref.load %own[%low, %z] : memref<?x?xf32>
    %o1 = memref.load %own[%high, %z] : memref<?x?xf32>
    %o2 = memref.load %own[%low, %z1] : memref<?x?xf32>
    %o3 = memref.load %own[%high, %z1] : memref<?x?xf32>
    %s0 = arith.addf %p0, %p1 : f32
    %s1 = arith.addf %g0, %g1 : f32
    %s2 = arith.addf %o0, %o1 : f32
    %s3 = arith.addf %o2, %o3 : f32
    %n0 = arith.addi %b0, %b1 : i8
    %n1 = arith.addi %b2, %b3 : i8
    %n2 = arith.addi %n0, %n1 : i8
    %f = arith.uitofp %n2 : i8 to f32
    %t0 = arith.addf %s0, %s1 : f32
    %t1 = arith.addf %s2, %s3 : f32
    %t2 = arith.addf %t0, %t1 : f32
    %t3 = arith.addf %t2, %f : f32
    memref.store %t3, %out[%x] : memref<?xf32>
  } {kernel.simd}
  func.return
}
