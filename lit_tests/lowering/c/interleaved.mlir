// RUN: pipeline-opt %s -t c | filecheck %s

// A marked loop that loads the adjacent planes of places, and stores a row of each, is a call; with anything else it is a
// loop.

// CHECK:       static inline void load_planes_f32(float* restrict r, int pitch, const float* restrict table, const idx* restrict at,
// CHECK-LABEL: void planes_fn(
func.func @planes(%n: index, %out: memref<?xf32>) attributes {kernel.inline} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  %table = memref.alloca() : memref<64xf32, 3>
  %places = memref.alloca() : memref<16xindex, 3>
  %points = memref.alloca() : memref<4x16xf32, 3>
  // CHECK: load_planes_f32(&points_[0][0], 16, &table_[0], &places_[0], 4, n_);
  scf.for %i = %zero to %n step %one {
    %p = memref.load %places[%i] : memref<16xindex, 3>
    %a = memref.load %table[%p] : memref<64xf32, 3>
    memref.store %a, %points[%zero, %i] : memref<4x16xf32, 3>
    %p1 = arith.addi %p, %one : index
    %b = memref.load %table[%p1] : memref<64xf32, 3>
    memref.store %b, %points[%one, %i] : memref<4x16xf32, 3>
    %p2 = arith.addi %p, %two : index
    %c = memref.load %table[%p2] : memref<64xf32, 3>
    memref.store %c, %points[%two, %i] : memref<4x16xf32, 3>
    %p3 = arith.addi %p, %three : index
    %d = memref.load %table[%p3] : memref<64xf32, 3>
    memref.store %d, %points[%three, %i] : memref<4x16xf32, 3>
  } {kernel.deinterleave}
  // CHECK-NEXT: for (idx i_ = 0; i_ < n_; ++i_) {
  // CHECK-NEXT:   out_[i_] = table_[places_[i_]];
  scf.for %i = %zero to %n step %one {
    %p = memref.load %places[%i] : memref<16xindex, 3>
    %a = memref.load %table[%p] : memref<64xf32, 3>
    memref.store %a, %out[%i] : memref<?xf32>
  } {kernel.deinterleave}
  func.return
}
