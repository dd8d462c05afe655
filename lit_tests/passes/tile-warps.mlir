// Tiles of warps by hand: rows of a stage are computed by each warp that reads them, or go from warp to warp.

// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 8, exchange = 0"}' | filecheck %s --check-prefix=RECOMPUTE
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 8, exchange = 1"}' | filecheck %s --check-prefix=EXCHANGE
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,34 threads=32,4 vector=4 more="exchange = 1"}' | filecheck %s --check-prefix=HEIGHT
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 8, prefetch_rows = 5"}' | filecheck %s --check-prefix=AHEAD
// RUN: not pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 8, prefetch_rows = -5"}' 2>&1 | filecheck %s --check-prefix=NEGATIVE
// RUN: not pipeline-opt %s -p 'tile{more="prefetch_rows = 5"}' 2>&1 | filecheck %s --check-prefix=SEARCHED
// RUN: not pipeline-opt %s -p 'tile{sizes=64,16 threads=32,4 more="prefetch_rows = 5"}' 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile more="exchange = 0"}' | filecheck %s --check-prefix=RECOMPUTED
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile more="exchange = 1"}' | filecheck %s --check-prefix=EXCHANGED
// RUN: not pipeline-opt %s -p 'tile{shape=warp_tile more="rows = 4"}' 2>&1 | filecheck %s --check-prefix=ROWS
// RUN: not pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 more="tile = [4, 4]"}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 more="rows = [4, 2]"}' 2>&1 | filecheck %s --check-prefix=LIST
// RUN: not pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,31 threads=32,4 vector=4 more="exchange = 1"}' 2>&1 | filecheck %s --check-prefix=UNEVEN-EXCHANGE
// RUN: not pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,31 threads=32,4 vector=4 more="exchange = 0"}' 2>&1 | filecheck %s --check-prefix=UNEVEN
// RUN: not pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,1 vector=4 more="rows = 1, exchange = 1"}' 2>&1 | filecheck %s --check-prefix=SMALL

// RECOMPUTE:       img.group "blur" schedule #schedule.warp_tile<tile = [120, 32], threads = [32, 4], vector = 4> {
// RECOMPUTE-NOT:   #img.place<block, register>
// EXCHANGE:        img.group "blur" schedule #schedule.warp_tile<tile = [120, 30], threads = [32, 4], vector = 4> {
// EXCHANGE-NEXT:   img.stage "rows" (%x, %y) -> f32 place #img.place<block, register> {
// HEIGHT:          tile = [120, 34], threads = [32, 4], vector = 4
// AHEAD:           tile = [120, 32], threads = [32, 4], vector = 4, prefetch_rows = 5>
// NEGATIVE:        error: tile: more: 'rows = 8, prefetch_rows = -5' is no list of a schedule's parameters, as 'blocks = 2, unroll = [1, 2]'
// OTHER:           error: tile: block_tile has no parameter 'prefetch_rows' for more=; it has unroll, cache_inputs
// SEARCHED:        error: tile: more= has parameters of one execution model; name the model by shape=
// RECOMPUTED-NOT:  #img.place<block, register>
// EXCHANGED:       #img.place<block, register>
// ROWS:            error: tile: rows counts only for a tile by hand; add sizes=, or leave the search to choose
// OPTION:          error: tile: tile is an option by itself; write sizes=
// LIST:            error: tile: group 'blur': rows is one number, not a list; write rows = 4
// UNEVEN-EXCHANGE: error: group 'blur': a tile of 31 rows, with 1 and 1 more that the halo makes invalid, does not lie evenly on 4 warps; the next larger tile has 34 rows
// UNEVEN:          error: group 'blur': a tile of 31 rows, with 0 and 0 more that the halo makes invalid, does not lie evenly on 4 warps; the next larger tile has 32 rows
// SMALL:           error: group 'blur': 1 warps of 1 rows are too small for this halo
img.pipeline @p {
  %photo = img.input "photo" : !img.func<2xf32>
  %clamped = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  %out = img.group "blur" {
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
    img.yield %blur : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %out : !img.func<2xf32>
}
