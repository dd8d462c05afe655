// Warp tiles become registers, shuffles and shared rows; for a machine without warps, arrays and loops.

// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 2, exchange = 1"},promote-memory,lower-groups,lower-warp-tiles' | filecheck %s --check-prefixes=BOTH,WARPS
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 2, exchange = 1"},promote-memory,lower-groups,lower-warp-tiles{warps=false}' | filecheck %s --check-prefixes=BOTH,ARRAYS

// Rows computed in the first round and in the second pass through two buffers, so each round has one barrier.

// BOTH:        func.func @p_third_tile1(
// BOTH-NOT:    warp.
// WARPS:       %w_clamped = memref.alloca() : memref<2x6xf32, 5 : i64>
// WARPS:       %w_rows = memref.alloca() : memref<4x4xf32, 5 : i64>
// WARPS:       %w_blur = memref.alloca() : memref<3x4xf32, 5 : i64>
// WARPS:       %w_third = memref.alloca() : memref<2x4xf32, 5 : i64>
// WARPS:       %exchange = memref.alloca() : memref<6144xi8, 3 : i64>
// WARPS:       %[[AT0:[0-9]+]] = arith.constant 0 : index
// WARPS-NEXT:  %x_rows = memref.view %exchange[%[[AT0]]][] : memref<6144xi8, 3 : i64> to memref<4x2x128xf32, 3 : i64>
// WARPS-NEXT:  %[[AT1:[0-9]+]] = arith.constant 4096 : index
// WARPS-NEXT:  %x_blur = memref.view %exchange[%[[AT1]]][] : memref<6144xi8, 3 : i64> to memref<4x1x128xf32, 3 : i64>

// A lane's last column goes to the next lane and its first one to the lane before.

// WARPS:       gpu.shuffle up
// WARPS-NEXT:  memref.store %{{[0-9]+}}, %w_clamped[
// WARPS:       gpu.shuffle down
// WARPS-NOT:   gpu.shuffle
// WARPS:       vector.store %{{[0-9]+}}, %x_rows[
// WARPS:       vector.store %{{[0-9]+}}, %x_rows[
// WARPS:       gpu.barrier
// WARPS-NOT:   gpu.barrier
// WARPS:       vector.load %x_rows[
// WARPS:       vector.load %x_rows[
// WARPS:       vector.store %{{[0-9]+}}, %x_blur[
// WARPS:       gpu.barrier
// WARPS-NOT:   gpu.barrier
// WARPS:       vector.load %x_blur[
// WARPS-NOT:   gpu.barrier
// WARPS:       func.func @p_third_kernel1(

// ARRAYS:      %w_clamped = memref.alloca() : memref<4x2x130xf32, 3 : i64>
// ARRAYS:      %w_rows = memref.alloca() : memref<4x4x128xf32, 3 : i64>
// ARRAYS:      %w_blur = memref.alloca() : memref<4x3x128xf32, 3 : i64>
// ARRAYS:      %w_third = memref.alloca() : memref<4x2x128xf32, 3 : i64>
// ARRAYS-NOT:  gpu.shuffle
// ARRAYS:      func.func @p_third_kernel1(

img.pipeline @p {
  %photo = img.input "photo" : !img.func<2xf32>
  %clamped = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  %out = img.group "third" {
    %rows = img.stage "rows" (%x, %y) -> f32 {
      %a = img.read %clamped[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %clamped[%x + 1, %y] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    %blur = img.stage "blur" (%x, %y) -> f32 {
      %a = img.read %rows[%x, %y - 1] : !img.func<2xf32>
      %b = img.read %rows[%x, %y + 1] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    %third = img.stage "third" (%x, %y) -> f32 {
      %a = img.read %blur[%x, %y - 1] : !img.func<2xf32>
      %b = img.read %blur[%x, %y] : !img.func<2xf32>
      %s = arith.mulf %a, %b : f32
      img.yield %s : f32
    }
    img.yield %third : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %out : !img.func<2xf32>
}
