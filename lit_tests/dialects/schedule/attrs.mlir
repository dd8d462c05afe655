// The schedules of the models that run updates, and of strips: numbers that are as by default are not printed.
// RUN: TILEFUSE_ROUNDTRIP
// RUN: TILEFUSE_GENERIC_ROUNDTRIP

// CHECK: in_order = [#schedule.in_order<threads = [32, 4]>, #schedule.in_order<threads = [1], points = 128>]
"test.op"() {in_order = [#schedule.in_order<threads = [32, 4]>, #schedule.in_order<threads = [1], points = 128>]} : () -> ()

// CHECK: gemm = [#schedule.gemm<threads = [32, 4], points = [4, 8], unroll = 4>, #schedule.gemm<threads = [1], points = [32]>]
"test.op"() {gemm = [#schedule.gemm<threads = [32, 4], points = [4, 8], unroll = 4>, #schedule.gemm<threads = [1], points = [32], unroll = 1>]} : () -> ()

// CHECK: scan = [#schedule.scan<threads = [32], unroll = 8>, #schedule.scan<threads = [1, 1], width = 64>]
"test.op"() {scan = [#schedule.scan<threads = [32], unroll = 8, width = 1>, #schedule.scan<threads = [1, 1], width = 64>]} : () -> ()

// CHECK: reduce = #schedule.reduce<tile = [1], threads = [32, 8], vector = 4, unroll = 4, segment = 8, split = 2>
"test.op"() {reduce = #schedule.reduce<tile = [1], threads = [32, 8], vector = 4, unroll = 4, segment = 8, split = 2, pure_lanes = 0>} : () -> ()

// CHECK: scatter = #schedule.scatter<threads = [1024], split = 132, copies = 32, points = 16>
"test.op"() {scatter = #schedule.scatter<threads = [1024], split = 132, copies = 32, points = 16>} : () -> ()

// CHECK: row_strip = #schedule.row_strip<tile = [2048, 64]>
"test.op"() {row_strip = #schedule.row_strip<tile = [2048, 64]>} : () -> ()
// CHECK: row_strip = #schedule.row_strip<tile = [2048, 64], rows_per_loop = 2, streaming_stores = 1, vector_bytes = 32>
"test.op"() {row_strip = #schedule.row_strip<tile = [2048, 64], rows_per_loop = 2, streaming_stores = 1, vector_bytes = 32>} : () -> ()
