// RUN: pipeline-opt %s -p lower-groups | filecheck %s
// RUN: pipeline-opt %s -p lower-groups,expand-division -t cuda | filecheck %s --check-prefix=CUDA

// A thread has a cell, and a table of what it may write for that: sums of floats, in the order of the domain.

// CHECK:       func.func @grid_splat_kernel4(%start: memref<?x?x?xf32, strided<[?, ?, 1]>>,
// CHECK:       scf.if
// CHECK:         %table = memref.alloca() {{.*}}: memref<512xf32, 3 : i64>
// CHECK:         scf.for %i{{.*}} {
// CHECK:           memref.load %start[
// CHECK:           memref.store {{.*}}, %table[
// CHECK:         scf.for %ry{{.*}} {
// CHECK:           scf.for %rx{{.*}} {
// CHECK:             memref.load %in[
// CHECK:             %[[OLD:.*]] = memref.load %table[
// CHECK-NEXT:        %[[NEW:.*]] = arith.addf %[[OLD]], {{.*}} : f32
// CHECK-NEXT:        memref.store %[[NEW]], %table[
// CHECK:         scf.for %i{{.*}} {
// CHECK:           memref.load %table[
// CHECK:           memref.store {{.*}}, %start[

// Neighbouring lanes have elements side by side.
// CUDA:        __shared__ __align__(16) float table_[512];
// CUDA:        table_[{{.*}} * 128 + {{.*}}] =
img.pipeline @grid {
  %in = img.input "in" : !img.func<2xui8>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %s0 = img.group "start" schedule #schedule.block_tile<tile = [32, 4, 1], threads = [32, 4, 1]> {
    %s = img.stage "start" (%x, %y, %z) -> f32 {
      %zero = arith.constant 0.0 : f32
      img.yield %zero : f32
    }
    img.yield %s : !img.func<3xf32>
  } : !img.func<3xf32>
  %s1 = img.group "splat" schedule #schedule.scatter<threads = [32, 4], thread_tables = 1> {
    %u = img.update "splat" (%x, %y) over (%rx in [%c0, %c8], %ry in [%c0, %c8]) of (%old = %s0 : !img.func<3xf32>) combine [add] {
      %v = img.read %in[8 * %x + %rx, 8 * %y + %ry] : !img.func<2xui8>
      %n = arith.extui %v : i8 to i32
      %six = arith.constant 6 : i32
      %q = arith.shrui %n, %six : i32
      %z = arith.index_cast %q : i32 to index
      %f = arith.uitofp %v : i8 to f32
      img.write %f at [%x, %y, %z] : f32
    }
    img.yield %u : !img.func<3xf32>
  } : !img.func<3xf32>
  img.return "grid" = %s1 : !img.func<3xf32>
}

// What a stage beside the update gives is where the tables of a thread's points begin, and what is stored around them.

// CHECK:       func.func @beside_splat_kernel{{[0-9]+}}(%in: memref<?x?xi8
// CHECK-NOT:     memref.load %out
// CHECK:         %table = memref.alloca() {{.*}}: memref<1024xf32, 3 : i64>
// CHECK:         scf.for %rx{{.*}} {
// CHECK:           memref.load %in[
// CHECK-COUNT-2:   memref.store {{.*}}, %table[
// CHECK-COUNT-2:   scf.for %i{{.*}} {
img.pipeline @beside {
  %in = img.input "in" : !img.func<2xui8>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %s1 = img.group "splat" schedule #schedule.scatter<threads = [32, 4, 1], points = 2, thread_tables = 1> {
    %s = img.stage "start" (%x, %y, %z, %c) -> f32 {
      %one = arith.constant 1.0 : f32
      img.yield %one : f32
    }
    %u = img.update "splat" (%x, %y, %c) over (%rx in [%c0, %c8]) of (%old = %s : !img.func<4xf32>) combine [add] {
      %v = img.read %in[8 * %x + %rx, %y] : !img.func<2xui8>
      %n = arith.extui %v : i8 to i32
      %six = arith.constant 6 : i32
      %q = arith.shrui %n, %six : i32
      %z = arith.index_cast %q : i32 to index
      %f = arith.uitofp %v : i8 to f32
      img.write %f at [%x, %y, %z, %c] : f32
    }
    img.yield %u : !img.func<4xf32>
  } : !img.func<4xf32>
  img.return "grid" = %s1 : !img.func<4xf32>
}
