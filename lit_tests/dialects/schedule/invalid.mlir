// RUN: TILEFUSE_INVALID

// expected-error @below {{threads must be positive}}
"test.op"() {s = #schedule.in_order<threads = [0]>} : () -> ()

// -----

// expected-error @below {{points must be positive, and 1 if a block has several threads}}
"test.op"() {s = #schedule.in_order<threads = [1, 4], points = 64>} : () -> ()

// -----

// expected-error @below {{by_planes is 2: 1 for all rows of a plane before those of the next, else 0}}
"test.op"() {s = #schedule.row_strip<tile = [64, 32, 3], by_planes = 2>} : () -> ()

// -----

// expected-error @below {{prefetch must not be negative, and 0 without several points}}
"test.op"() {s = #schedule.in_order<threads = [64], prefetch = 4>} : () -> ()

// -----

// expected-error @below {{prefetch must not be negative, and 0 without a width of several lines}}
"test.op"() {s = #schedule.scan<threads = [1], prefetch = 4>} : () -> ()

// -----

// expected-error @below {{threads has 2 dimensions but points has 1}}
"test.op"() {s = #schedule.gemm<threads = [32, 4], points = [2]>} : () -> ()

// -----

// expected-error @below {{unroll must be 1}}
"test.op"() {s = #schedule.scan<threads = [1], width = 8, unroll = 2>} : () -> ()

// -----

// expected-error @below {{without line coordinates, width must be 1}}
"test.op"() {s = #schedule.scan<threads = [], width = 8>} : () -> ()

// -----

// expected-error @below {{a slice with a width of several lines needs one thread, one row and one buffer}}
"test.op"() {s = #schedule.scan<threads = [1], width = 8, slice = 8, buffers = 2>} : () -> ()

// -----

// expected-error @below {{pure_lanes must be 0 or 1}}
"test.op"() {s = #schedule.reduce<tile = [1], threads = [32, 1], pure_lanes = 2>} : () -> ()

// -----

// expected-error @below {{copies must be 0 or a power of two}}
"test.op"() {s = #schedule.scatter<threads = [1024], copies = 3>} : () -> ()

// -----

// expected-error @below {{tile must have two numbers or more}}
"test.op"() {s = #schedule.row_strip<tile = [2048]>} : () -> ()

// -----

// expected-error @below {{tile has 2 dimensions but threads has 1}}
"test.op"() {s = #schedule.warp_tile<tile = [120, 28], threads = [32]>} : () -> ()
