// RUN: TILEFUSE_ROUNDTRIP
// RUN: TILEFUSE_GENERIC_ROUNDTRIP

// Layouts: lanes and warps of a block, own points of each, and all points that they hold.

// CHECK: layouts = [#warp.layout<origin = [0, 0], lanes = [32, 1], warps = [1, 1], columns = [0, 1], rows = [0, 1]>, #warp.layout<origin = [-4, -1], lanes = [32, 4], warps = [8, 8], columns = [-1, 5], rows = [-1, 9]>]
"test.op"() {layouts = [#warp.layout<origin = [0, 0], lanes = [32, 1], warps = [1, 1], columns = [0, 1], rows = [0, 1]>, #warp.layout<origin = [-4, -1], lanes = [32, 4], warps = [8, 8], columns = [-1, 5], rows = [-1, 9]>]} : () -> ()

// Rows may leave out some of a warp's own; further dimensions follow, if there are any.

// CHECK: layouts = [#warp.layout<origin = [0, 0], lanes = [64, 2], warps = [4, 4], columns = [0, 2], rows = [1, 6]>, #warp.layout<origin = [0, 0], lanes = [16, 2], warps = [4, 4], columns = [-3, 5], rows = [0, 4], depth = {{\[\[}}0, 3]]>, #warp.layout<origin = [0, 0], lanes = [32, 2], warps = [4, 4], columns = [0, 2], rows = [0, 4], depth = {{\[\[}}0, 3], [-2, 5]]>]
"test.op"() {layouts = [#warp.layout<origin = [0, 0], lanes = [64, 2], warps = [4, 4], columns = [0, 2], rows = [1, 6]>, #warp.layout<origin = [0, 0], lanes = [16, 2], warps = [4, 4], columns = [-3, 5], rows = [0, 4], depth = [[0, 3]]>, #warp.layout<origin = [0, 0], lanes = [32, 2], warps = [4, 4], columns = [0, 2], rows = [0, 4], depth = [[0, 3], [-2, 5]]>]} : () -> ()

// Types: values of one element type, spread so.

// CHECK: types = [!warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 1], warps = [1, 1], columns = [0, 1], rows = [0, 1]>>, !warp.tile<i8, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [2, 2], columns = [0, 4], rows = [0, 2], depth = {{\[\[}}0, 2]]>>]
"test.op"() {types = [!warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 1], warps = [1, 1], columns = [0, 1], rows = [0, 1]>>, !warp.tile<i8, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [2, 2], columns = [0, 4], rows = [0, 2], depth = [[0, 2]]>>]} : () -> ()

// Two points in a register.

// CHECK: types = [!warp.tile<i8, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [2, 2], columns = [-2, 6], rows = [0, 2], packed = 2>>, !warp.tile<i16, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [2, 2], columns = [-2, 6], rows = [0, 2], depth = {{\[\[}}0, 2]], packed = 2>>]
"test.op"() {types = [!warp.tile<i8, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [2, 2], columns = [-2, 6], rows = [0, 2], packed = 2>>, !warp.tile<i16, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [2, 2], columns = [-2, 6], rows = [0, 2], depth = [[0, 2]], packed = 2>>]} : () -> ()

// The halves of a register may be closer than half of a lane's columns; where they are not, nothing is said.

// CHECK: {a = #warp.layout<origin = [0, 0], lanes = [32, 8], warps = [2, 2], columns = [-2, 10], rows = [0, 2], packed = 2, pair_stride = 2>,
// CHECK-SAME: b = #warp.layout<origin = [0, 0], lanes = [32, 8], warps = [2, 2], columns = [0, 8], rows = [0, 2], packed = 2>}
"test.op"() {a = #warp.layout<origin = [0, 0], lanes = [32, 8], warps = [2, 2], columns = [-2, 10], rows = [0, 2], packed = 2, pair_stride = 2>, b = #warp.layout<origin = [0, 0], lanes = [32, 8], warps = [2, 2], columns = [0, 8], rows = [0, 2], packed = 2, pair_stride = 4>} : () -> ()
