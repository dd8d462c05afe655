// RUN: TILEFUSE_ROUNDTRIP
// RUN: TILEFUSE_GENERIC_ROUNDTRIP

// Types.

// CHECK: types = [!img.func<0xi1>, !img.func<1xui8>, !img.func<2xui16>, !img.func<3xui32>, !img.func<4xui64>, !img.func<2xsi8>, !img.func<2xsi16>, !img.func<2xsi32>, !img.func<2xsi64>, !img.func<2xf16>, !img.func<2xbf16>, !img.func<2xf32>, !img.func<8xf64>]
"test.op"() {types = [!img.func<0xi1>, !img.func<1xui8>, !img.func<2xui16>, !img.func<3xui32>, !img.func<4xui64>, !img.func<2xsi8>, !img.func<2xsi16>, !img.func<2xsi32>, !img.func<2xsi64>, !img.func<2xf16>, !img.func<2xbf16>, !img.func<2xf32>, !img.func<8xf64>]} : () -> ()

// Boundary kinds.

// CHECK: kinds = [#img<boundary_kind repeat_edge>, #img<boundary_kind mirror_image>, #img<boundary_kind mirror_interior>, #img<boundary_kind repeat_image>, #img<boundary_kind constant_exterior>]
"test.op"() {kinds = [#img<boundary_kind repeat_edge>, #img<boundary_kind mirror_image>, #img<boundary_kind mirror_interior>, #img<boundary_kind repeat_image>, #img<boundary_kind constant_exterior>]} : () -> ()

// Boxes.

// CHECK: boxes = [#img.box<[]>, #img.box<[*]>, #img.box<[0:3, *, -2:5]>]
"test.op"() {boxes = [#img.box<[]>, #img.box<[*]>, #img.box<[0:3, *, -2:5]>]} : () -> ()

// Places; slot 0 and no padding are not written.

// CHECK: places = [#img.place<block, shared>, #img.place<block, shared, slot = 2, pad = 1>, #img.place<warp, register>, #img.place<block, register>, #img.place<thread, register>, #img.place<block, shared>]
"test.op"() {places = [#img.place<block, shared>, #img.place<block, shared, slot = 2, pad = 1>, #img.place<warp, register>, #img.place<block, register>, #img.place<thread, register>, #img.place<block, shared, pad = 0, slot = 0>]} : () -> ()

// Schedules; a vector width of one is not written, nor no number of blocks.

// CHECK: schedules = [#schedule.block_tile<tile = [128, 16], threads = [32, 8]>, #schedule.block_tile<tile = [128, 16], threads = [32, 8], vector = 4>, #schedule.warp_tile<tile = [64], threads = [32]>, #schedule.warp_tile<tile = [120, 28], threads = [32, 8], vector = 4, blocks = 3>, #schedule.warp_tile<tile = [120, 28], threads = [32, 8], blocks = 3>, #schedule.block_tile<tile = [8], threads = [8]>]
"test.op"() {schedules = [#schedule.block_tile<tile = [128, 16], threads = [32, 8]>, #schedule.block_tile<tile = [128, 16], threads = [32, 8], vector = 4>, #schedule.warp_tile<tile = [64], threads = [32]>, #schedule.warp_tile<tile = [120, 28], threads = [32, 8], vector = 4, blocks = 3>, #schedule.warp_tile<tile = [120, 28], threads = [32, 8], blocks = 3>, #schedule.block_tile<tile = [8], threads = [8], vector = 1>]} : () -> ()

// What is unrolled stands between vector and blocks; by default all is.

// CHECK: unrolled = [#schedule.block_tile<tile = [128, 16], threads = [32, 8], unroll = [2, 1]>, #schedule.block_tile<tile = [256, 16], threads = [32, 8], vector = 4, unroll = [1, 2], blocks = 2>, #schedule.block_tile<tile = [64, 16], threads = [1, 1], unroll = [1, 4]>, #schedule.block_tile<tile = [8], threads = [8]>]
"test.op"() {unrolled = [#schedule.block_tile<tile = [128, 16], threads = [32, 8], unroll = [2, 1]>, #schedule.block_tile<tile = [256, 16], threads = [32, 8], blocks = 2, unroll = [1, 2], vector = 4>, #schedule.block_tile<tile = [64, 16], threads = [1, 1], unroll = [1, 4]>, #schedule.block_tile<tile = [8], threads = [8], unroll = []>]} : () -> ()

// What belongs to one model is last.

// CHECK: cached = [#schedule.block_tile<tile = [128, 16], threads = [32, 8], vector = 4, blocks = 2, cache_inputs = 1>, #schedule.block_tile<tile = [128, 16], threads = [32, 8]>]
"test.op"() {cached = [#schedule.block_tile<tile = [128, 16], threads = [32, 8], cache_inputs = 1, blocks = 2, vector = 4>, #schedule.block_tile<tile = [128, 16], threads = [32, 8], cache_inputs = 0>]} : () -> ()

// CHECK: prefetches = [#schedule.warp_tile<tile = [56, 32], threads = [32, 4], vector = 2, blocks = 8, prefetch_rows = 38>, #schedule.warp_tile<tile = [56, 32], threads = [32, 4], vector = 2>]
"test.op"() {prefetches = [#schedule.warp_tile<tile = [56, 32], threads = [32, 4], prefetch_rows = 38, blocks = 8, vector = 2>, #schedule.warp_tile<tile = [56, 32], threads = [32, 4], vector = 2, prefetch_rows = 0>]} : () -> ()
