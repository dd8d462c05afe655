// RUN: pipeline-opt %s -p tile | filecheck %s --check-prefixes=SEARCH,KEPT
// RUN: pipeline-opt %s -p 'tile{target=sm_70 shape=block_tile extent=1024,1024}' | filecheck %s --check-prefixes=BLOCK,KEPT
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile only=blur},tile' | filecheck %s --check-prefixes=WARP,KEPT
// RUN: pipeline-opt %s -p 'tile{target=cpu}' | filecheck %s --check-prefixes=CPU,KEPT
// RUN: pipeline-opt %s -p 'tile{sizes=64,16 threads=32,8 vector=2}' | filecheck %s --check-prefixes=HAND,KEPT
// RUN: pipeline-opt %s -p 'tile{sizes=64,16 threads=32,8 vector=2},tile{sizes=8,8 threads=8,8}' | filecheck %s --check-prefixes=HAND,KEPT
// RUN: pipeline-opt %s -p 'tile{sizes=64,16 threads=32,8 only=channels}' | filecheck %s --check-prefixes=ONLY,KEPT
// RUN: pipeline-opt %s -p 'tile{sizes=64,16 threads=16,4 vector=2 more="unroll = [2, 1]"}' | filecheck %s --check-prefixes=UNROLL,KEPT

// RUN: not pipeline-opt %s -p 'tile{sizes=64,16 threads=32,8 more="unroll = [3, 1]"}' 2>&1 | filecheck %s --check-prefix=ROUNDS
// RUN: not pipeline-opt %s -p 'tile{sizes=64,16 threads=32,8 more="unroll = 2"}' 2>&1 | filecheck %s --check-prefix=FACTOR
// RUN: not pipeline-opt %s -p 'tile{target=pentium}' 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not pipeline-opt %s -p 'tile{only=blurr}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not pipeline-opt %s -p 'tile{vector=2 blocks=4}' 2>&1 | filecheck %s --check-prefix=ALONE
// RUN: not pipeline-opt %s -p 'tile{sizes=64 threads=32,8}' 2>&1 | filecheck %s --check-prefix=COUNT

// TARGET: error: tile: unknown GPU 'pentium'
// NAME:   error: tile: no group is called 'blurr'; there are blur, channels, by_hand
// ROUNDS: tile.mlir:{{.*}}: error: tile: group 'blur': unroll = 3 in dimension 0 does not divide the 2 rounds of a thread's loop there
// ALONE:  error: tile: vector, blocks count only for a tile by hand; add sizes=, or leave the search to choose
// FACTOR: tile.mlir:{{.*}}: error: tile: group 'blur': unroll is a list, one factor per dimension; write unroll = [2, 1]
// COUNT:  tile.mlir:{{.*}}: error: tile: 1 sizes but 2 threads; give one of each per dimension

// Every dimension has a tile; one that is declared and small is held whole by it, and by one thread.

// SEARCH: img.group "blur" schedule #schedule.{{(block|warp)}}_tile<tile = [{{[0-9]+, [0-9]+}}]
// SEARCH: img.group "channels" schedule #schedule.{{(block|warp)}}_tile<tile = [{{[0-9]+, [0-9]+}}, 3], threads = [{{[0-9]+, [0-9]+}}, 1]
// BLOCK:  img.group "blur" schedule #schedule.block_tile<
// BLOCK:  img.group "channels" schedule #schedule.block_tile<
// WARP:   img.group "blur" schedule #schedule.warp_tile<tile = [{{[0-9]+, [0-9]+}}], threads = [32, {{[0-9]+}}]
// CPU:    img.group "blur" schedule #schedule.row_strip<tile = [{{[0-9]+, [0-9]+}}], vector_bytes = {{[0-9]+}}{{(, static = 1)?}}> {
// HAND:   img.group "blur" schedule #schedule.block_tile<tile = [64, 16], threads = [32, 8], vector = 2> {
// HAND:   img.group "channels" schedule #schedule.block_tile<tile = [64, 16, 3], threads = [32, 8, 1], vector = 2> {
// UNROLL: img.group "blur" schedule #schedule.block_tile<tile = [64, 16], threads = [16, 4], vector = 2, unroll = [2, 1]> {
// UNROLL: img.group "channels" schedule #schedule.block_tile<tile = [64, 16, 3], threads = [16, 4, 1], vector = 2, unroll = [2, 1, 3]> {
// ONLY:   img.group "blur" {
// ONLY:   img.group "channels" schedule #schedule.block_tile<tile = [64, 16, 3], threads = [32, 8, 1]> {
// KEPT:   img.group "by_hand" schedule #schedule.block_tile<tile = [40, 2], threads = [8, 2]> {

img.pipeline @p {
  %photo = img.input "photo" : !img.func<2xf32>
  %clamped = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  %rgb = img.input "rgb" bounds #img.box<[*, *, 0:3]> : !img.func<3xf32>
  %blur = img.group "blur" {
    %blur_x = img.stage "blur_x" (%x, %y) -> f32 {
      %a = img.read %clamped[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %clamped[%x + 1, %y] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    %blur_y = img.stage "blur_y" (%x, %y) -> f32 {
      %a = img.read %blur_x[%x, %y - 1] : !img.func<2xf32>
      %b = img.read %blur_x[%x, %y + 1] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    img.yield %blur_y : !img.func<2xf32>
  } : !img.func<2xf32>
  %channels = img.group "channels" {
    %bright = img.stage "bright" (%x, %y, %c) -> f32 bounds #img.box<[*, *, 0:3]> {
      %a = img.read %rgb[%x, %y, %c] : !img.func<3xf32>
      %b = img.read %blur[%x, %y] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    img.yield %bright : !img.func<3xf32>
  } : !img.func<3xf32>
  %by_hand = img.group "by_hand" schedule #schedule.block_tile<tile = [40, 2], threads = [8, 2]> {
    %red = img.stage "red" (%x, %y) -> f32 {
      %v = img.read %channels[%x, %y, 0] : !img.func<3xf32>
      img.yield %v : f32
    }
    img.yield %red : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "red" = %by_hand : !img.func<2xf32>
}
