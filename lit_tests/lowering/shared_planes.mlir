// One kernel for two planes of a picture: it counts planes from the one that it reads on, and each launch says which.

// RUN: pipeline-opt %s -p 'tile{shape=block_tile sizes=32,8 threads=32,8},promote-memory,lower-groups' | filecheck %s
// RUN: pipeline-opt %s -p 'tile{shape=block_tile sizes=32,8 threads=32,8},promote-memory,lower-groups' -t cuda | filecheck %s --check-prefix=CUDA

// CHECK-LABEL: func.func @planes_first_tile6(
// CHECK:         %[[ZERO:[0-9]+]] = arith.constant 0 : index
// CHECK:         %[[PLANE:[0-9]+]] = arith.subi %[[ZERO]], %in_min_z : index
// CHECK:         %[[MOVED:[0-9]+]] = arith.select %border, %{{[0-9]+}}, %[[PLANE]] : index
// CHECK:         memref.load %in[%[[MOVED]], %
// CHECK-NOT:   func.func @planes_second
// CHECK:       img.pipeline @planes
// CHECK:           attributes {kernel = "planes_first_kernel6"}

// CUDA:      __global__ void {{.*}}planes_first_kernel
// CUDA-NOT:  __global__

img.pipeline @planes {
  %in = img.input "in" : !img.func<3xf32>
  %first = img.group "first" {
    %s = img.stage "first" (%x, %y) -> f32 {
      %l = img.read %in[%x - 1, %y, 4] : !img.func<3xf32>
      %r = img.read %in[%x + 1, %y, 4] : !img.func<3xf32>
      %sum = arith.addf %l, %r : f32
      img.yield %sum : f32
    }
    img.yield %s : !img.func<2xf32>
  } : !img.func<2xf32>
  %second = img.group "second" {
    %s = img.stage "second" (%x, %y) -> f32 {
      %l = img.read %in[%x - 1, %y, 2] : !img.func<3xf32>
      %r = img.read %in[%x + 1, %y, 2] : !img.func<3xf32>
      %sum = arith.addf %l, %r : f32
      img.yield %sum : f32
    }
    img.yield %s : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "first" = %first : !img.func<2xf32>, "second" = %second : !img.func<2xf32>
}
