// Zeros around a stage: behind the first barrier, border tiles take them from masks of columns and rows.

// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 4, exchange = 1"},promote-memory,lower-groups,lower-warp-tiles' -t cuda | filecheck %s
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 4, exchange = 1"},promote-memory,lower-groups,lower-warp-tiles' --print-op-generic | mlir-opt --allow-unregistered-dialect -o /dev/null
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 4"},promote-memory,lower-groups,lower-warp-tiles' -t cuda | filecheck %s --check-prefix=ALONE

// ALONE-NOT: inside_

// CHECK-LABEL: void zeros_last_tile5(
// CHECK:         __shared__ __align__(16) unsigned int inside_x_[128];
// CHECK-NEXT:    __shared__ __align__(16) unsigned int inside_y_[4][4];

// The first warp writes those of the columns, every warp those of its rows; only border tiles do.

// CHECK:             if (warp_ == 0) {
// CHECK:               inside_x_[{{.*}}] = -((uidx)(x0_ + {{.*}}) < (uidx){{[a-z_0-9]+}});
// CHECK:             if (lane_ < 4) {
// CHECK-NEXT:          inside_y_[warp_][lane_] = -((uidx)(y0_ + {{.*}}) < (uidx){{[a-z_0-9]+}});

// The first stage is computed before the barrier: it compares.

// CHECK:           !border_ ||
// CHECK:           w_first_[
// CHECK:         __syncthreads();

// The second one takes a mask of either kind. What is not zero outside is compared.

// CHECK-NOT:       !border_ ||
// CHECK:           & inside_x_[{{.*}}] & inside_y_[warp_][{{.*}}];
// CHECK-NEXT:      w_second_[{{.*}}] = border_ ? __uint_as_float({{.*}}) : {{.*}};
// CHECK:         __syncthreads();
// CHECK:           !border_ ||
// CHECK:           w_third_[
img.pipeline @zeros {
  %in = img.input "image" : !img.func<2xf32>
  %w = img.extent 0 of %in : !img.func<2xf32>
  %h = img.extent 1 of %in : !img.func<2xf32>
  %c0 = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %edge = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xf32>
  %out = img.group "last" {
    %first = img.stage "first" (%x, %y) -> f32 {
      %a = img.read %edge[%x, %y] : !img.func<2xf32>
      %s = arith.mulf %a, %a : f32
      img.yield %s : f32
    }
    %first_b = img.boundary constant_exterior %first dims [0, 1] in [%c0, %c0] by [%w, %h] value %none : !img.func<2xf32>
    %second = img.stage "second" (%x, %y) -> f32 {
      %a = img.read %first_b[%x, %y - 1] : !img.func<2xf32>
      %b = img.read %first_b[%x, %y + 1] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    %second_b = img.boundary constant_exterior %second dims [0, 1] in [%c0, %c0] by [%w, %h] value %none : !img.func<2xf32>
    %third = img.stage "third" (%x, %y) -> f32 {
      %a = img.read %second_b[%x, %y - 1] : !img.func<2xf32>
      %b = img.read %second_b[%x, %y + 1] : !img.func<2xf32>
      %s = arith.subf %a, %b : f32
      img.yield %s : f32
    }
    %third_b = img.boundary constant_exterior %third dims [0, 1] in [%c0, %c0] by [%w, %h] value %one : !img.func<2xf32>
    %last = img.stage "last" (%x, %y) -> f32 {
      %a = img.read %third_b[%x, %y - 1] : !img.func<2xf32>
      %b = img.read %third_b[%x, %y + 1] : !img.func<2xf32>
      %s = arith.mulf %a, %b : f32
      img.yield %s : f32
    }
    img.yield %last : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %out : !img.func<2xf32>
}
