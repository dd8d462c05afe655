// Stages of one group that are stored beside its anchor, in each execution model.
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 4"},promote-memory,validate-occupancy,lower-groups' \
// RUN:   | filecheck %s --check-prefix=WARP
// RUN: pipeline-opt %s -p 'tile{shape=block_tile sizes=32,8 threads=32,8},promote-memory,validate-occupancy,lower-groups' \
// RUN:   | filecheck %s --check-prefix=BLOCK
// RUN: pipeline-opt %s -p 'tile{shape=block_tile sizes=32,8 threads=32,8},promote-memory' | filecheck %s --check-prefix=PLACES
// RUN: pipeline-opt %s -p 'tile{shape=block_tile sizes=32,8 threads=32,8},promote-memory,lower-groups,expand-division' -t cuda \
// RUN:   | filecheck %s --check-prefix=CUDA

// A stage that only a thread's own points need is stored from its registers, others from shared memory.
// PLACES: img.stage "point" {{.*}} place #img.place<thread, register>
// PLACES: img.stage "wide" {{.*}} place #img.place<block, shared>

// Of the rows that a warp computes of "wide" it stores its own.
// WARP:      %point = warp.map
// WARP:      warp.store %point to %out_point[{{.*}} within [0, 120, 0, 16]
// WARP:      %wide = warp.map
// WARP:      rows = [-1, 5]
// WARP:      warp.store %wide to %out_wide[{{.*}} within [0, 120, 0, 16]
// WARP:      %anchor = warp.map
// WARP:      warp.store %anchor to %out_anchor[{{.*}} within [0, 120, 0, 16]

// Behind the barrier, "wide" goes from shared memory to the picture; then what a thread has in registers.
// BLOCK:     %sh_wide = memref.alloca() : memref<{{.*}}, 3 : i64>
// BLOCK:     gpu.barrier
// BLOCK:     memref.load %sh_wide
// BLOCK:     memref.store %{{.*}}, %out_wide[
// BLOCK:     memref.store %{{.*}}, %out_anchor[
// BLOCK:     memref.store %{{.*}}, %out_point[

// The grid covers the boxes of all three.
// CUDA:      min_idx(min_idx(out_anchor_min_x_, out_wide_min_x_), out_point_min_x_)

img.pipeline @several {
  %in = img.input "in" : !img.func<2xf32>
  %edge = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xf32>
  %g:3 = img.group "g" {
    %point = img.stage "point" (%x, %y) -> f32 {
      %a = img.read %edge[%x, %y] : !img.func<2xf32>
      %v = arith.addf %a, %a : f32
      img.yield %v : f32
    }
    %wide = img.stage "wide" (%x, %y) -> f32 {
      %a = img.read %edge[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %edge[%x + 1, %y] : !img.func<2xf32>
      %v = arith.addf %a, %b : f32
      img.yield %v : f32
    }
    %anchor = img.stage "anchor" (%x, %y) -> f32 {
      %a = img.read %wide[%x, %y - 1] : !img.func<2xf32>
      %b = img.read %wide[%x, %y + 1] : !img.func<2xf32>
      %c = img.read %point[%x, %y] : !img.func<2xf32>
      %ab = arith.addf %a, %b : f32
      %v = arith.addf %ab, %c : f32
      img.yield %v : f32
    }
    img.yield %point, %wide, %anchor : !img.func<2xf32>, !img.func<2xf32>, !img.func<2xf32>
  } : !img.func<2xf32>, !img.func<2xf32>, !img.func<2xf32>
  img.return "point" = %g#0 : !img.func<2xf32>, "wide" = %g#1 : !img.func<2xf32>, "anchor" = %g#2 : !img.func<2xf32>
}
