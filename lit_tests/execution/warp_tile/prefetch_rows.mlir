// `prefetch_rows`: blocks prefetch lines of the input before these may be loaded, and the lines of the block some rows of tiles below.

// RUN: pipeline-opt %s -p lower-groups | filecheck %s
// RUN: pipeline-opt %s -p lower-groups,lower-warp-tiles | filecheck %s --check-prefix=LINES
// RUN: pipeline-opt %s -p lower-groups,lower-warp-tiles,chain-kernels -t cuda | filecheck %s --check-prefix=CUDA
// RUN: pipeline-opt %s -p 'lower-groups,lower-warp-tiles{warps=false}' -t c | filecheck %s --check-prefix=C
// RUN: pipeline-opt %s -p 'lower-groups,lower-warp-tiles{warps=false}' | pipeline-opt | filecheck %s --check-prefix=ARRAYS

// C has its caches filled by the machine.

// C-NOT:       prefetch_l
// C-NOT:       _prefetch3
// C-NOT:       if (by_
// ARRAYS-NOT:  warp.prefetch
// ARRAYS-NOT:  memref.prefetch
// ARRAYS-NOT:  _prefetch3

// Of each plane the tile's own rows and columns: what else it reads is other blocks' own.

// CHECK:       func.func @two_blur_prefetch3(
// CHECK:         warp.prefetch %in[%{{.*}}, %{{.*}}, %{{.*}}] within [0, 120, 0, 16] by 4 : memref<?x?x?xf32
// CHECK:         warp.prefetch %in[%{{.*}}, %{{.*}}, %{{.*}}] within [0, 120, 0, 16] by 4 : memref<?x?x?xf32
// CHECK-NOT:     warp.prefetch
// CHECK:         func.return

// After the loads, what lies 3 tiles of 16 rows below.

// CHECK:       func.func @two_blur_tile3(
// CHECK:         warp.load
// CHECK:         warp.prefetch %in[%{{.*}}, %{{.*}}, %{{.*}}] within [0, 120, 48, 64] by 4 : memref<?x?x?xf32
// CHECK:         warp.prefetch %in[%{{.*}}, %{{.*}}, %{{.*}}] within [0, 120, 48, 64] by 4 : memref<?x?x?xf32
// CHECK:         warp.map

// Blocks of rows of tiles below are asked for by those above them.

// CHECK:       func.func @two_blur_kernel3(
// CHECK:         [[FIRST:%.*]] = arith.cmpi slt, %by, %{{.*}} : index
// CHECK:         scf.if [[FIRST]] {
// CHECK-NEXT:      func.call @two_blur_prefetch3(
// CHECK:         func.call @two_blur_tile3(

// 120 columns are 4 lines, the last of which may be the next block's: 16 x 4 lines for 128 lanes.

// LINES:       func.func @two_blur_prefetch3(
// LINES:         arith.divui
// LINES:         [[INSIDE:%.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : index
// LINES:         scf.if
// LINES-NEXT:      memref.prefetch %in[%{{.*}}, %{{.*}}, %{{.*}}], read, locality<2>, data : memref<?x?x?xf32
// LINES:       func.func @two_blur_tile3(
// LINES:         vector.load
// LINES:         memref.prefetch

// CUDA:        two_blur_kernel3(
// CUDA:          griddepcontrol_launch_dependents();
// CUDA:          if (by_ < 3) {
// CUDA-NEXT:       two_blur_prefetch3(
// CUDA:            griddepcontrol_wait();
// CUDA-NEXT:       written_meanwhile(in_);
// CUDA-NEXT:       two_blur_tile3(

// What another group gives is in the cache already.

// CHECK-NOT:   @two_half_prefetch
// CHECK:       func.func @two_half_tile3(
// CHECK-NOT:     warp.prefetch
// CHECK:       func.func @two_half_kernel3(
// CHECK-NOT:     nvvm.griddepcontrol
// CHECK:         func.return

img.pipeline @two {
  %in = img.input "in" : !img.func<3xf32>
  %a = img.group "blur" schedule #schedule.warp_tile<tile = [120, 16], threads = [32, 4], vector = 4, blocks = 3, prefetch_rows = 3> {
    %sum = img.stage "sum" (%x, %y) -> f32 {
      %p = img.read %in[%x - 1, %y - 20, 0] : !img.func<3xf32>
      %q = img.read %in[%x + 1, %y + 1, 1] : !img.func<3xf32>
      %s = arith.addf %p, %q : f32
      img.yield %s : f32
    }
    img.yield %sum : !img.func<2xf32>
  } : !img.func<2xf32>
  %b = img.group "half" schedule #schedule.warp_tile<tile = [128, 16], threads = [32, 4], vector = 4, prefetch_rows = 2> {
    %halved = img.stage "halved" (%x, %y) -> f32 {
      %v = img.read %a[%x, %y] : !img.func<2xf32>
      %half = arith.constant 0.5 : f32
      %w = arith.mulf %v, %half : f32
      img.yield %w : f32
    }
    img.yield %halved : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "halved" = %b : !img.func<2xf32>
}
