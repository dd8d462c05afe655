// RUN: TILEFUSE_INVALID

// warp.layout

// expected-error @below {{lanes and warps, and the points of each, must be positive}}
"test.op"() {a = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [0, 2], columns = [0, 4], rows = [0, 2]>} : () -> ()

// -----

// expected-error @below {{the number of lanes must be a power of two, at most 64, not 24}}
"test.op"() {a = #warp.layout<origin = [0, 0], lanes = [24, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>} : () -> ()

// -----

// expected-error @below {{the number of lanes must be a power of two, at most 64, not 128}}
"test.op"() {a = #warp.layout<origin = [0, 0], lanes = [128, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>} : () -> ()

// -----

// expected-error @below {{[2, 2] is empty; a span is [first, end]}}
"test.op"() {a = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [2, 2]>} : () -> ()

// -----

// expected-error @below {{[3, 0] is empty; a span is [first, end]}}
"test.op"() {a = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2], depth = [[3, 0]]>} : () -> ()

// -----

// expected-error @below {{columns [1, 4] must contain a lane's own columns, [0, 4]}}
"test.op"() {a = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [1, 4], rows = [0, 2]>} : () -> ()

// -----

// expected-error @below {{expected two integers}}
"test.op"() {a = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2, 4]>} : () -> ()

// -----

// warp.tile

// expected-error @below {{should be of base attribute warp.layout}}
"test.op"() {a = !warp.tile<f32, 4>} : () -> ()

// -----

// warp.load

func.func @f(%m: memref<?x?xf32>, %i: index, %b: i1) {
  // expected-error @below {{warp.load: a tile of 3 dimensions needs a buffer and indices of as many}}
  %t = warp.load %m[%i, %i] : memref<?x?xf32> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2], depth = [[0, 3]]>>
  func.return
}

// -----

func.func @f(%m: memref<?x?xf32>, %i: index, %b: i1) {
  // expected-error @below {{warp.load: a tile of 2 dimensions needs a buffer and indices of as many}}
  %t = warp.load %m[%i] : memref<?x?xf32> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%m: memref<?x?xf32>, %i: index, %b: i1) {
  // expected-error @below {{warp.load: border needs a region points, and vectors_uniform a region rows}}
  %t = "warp.load"(%m, %i, %i, %b) <{operandSegmentSizes = array<i32: 1, 2, 0, 1, 0, 0>}> : (memref<?x?xf32>, index, index, i1) -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%m: memref<?x?xf32>, %i: index, %b: i1) {
  // expected-error @below {{warp.load: a buffer of f32 gives no i8}}
  %t = "warp.load"(%m, %i, %i) <{operandSegmentSizes = array<i32: 1, 2, 0, 0, 0, 0>}> : (memref<?x?xf32>, index, index) -> !warp.tile<i8, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%m: memref<?x?xf32>, %i: index, %b: i1, %v: f32) {
  // expected-error @below {{warp.load: its region takes 2 coordinates of type index, x first}}
  %t = warp.load %m[%i, %i] border %b vectors_uniform %b rows {
  ^bb0(%x: index):
    warp.yield %i, %i : index, index
  } points {
  ^bb0(%x: index, %y: index):
    warp.yield %v : f32
  } : memref<?x?xf32> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%m: memref<?x?xf32>, %i: index, %b: i1, %v: f32) {
  // expected-error @below {{warp.load: rows yields 2 indices, perhaps i1 and i1}}
  %t = warp.load %m[%i, %i] border %b vectors_uniform %b rows {
  ^bb0(%x: index, %y: index):
    warp.yield %b, %i, %i : i1, index, index
  } points {
  ^bb0(%x: index, %y: index):
    warp.yield %v : f32
  } : memref<?x?xf32> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%m: memref<?x?xf32>, %i: index, %b: i1, %v: f32) {
  // expected-error @below {{warp.load: rows yields 2 indices, perhaps i1 and i1, and i1 and f32}}
  %t = warp.load %m[%i, %i] border %b vectors_uniform %b replaces rows {
  ^bb0(%x: index, %y: index):
    warp.yield %i, %i, %b : index, index, i1
  } points {
  ^bb0(%x: index, %y: index):
    warp.yield %v : f32
  } : memref<?x?xf32> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%m: memref<?x?xf32>, %i: index, %b: i1, %v: f32) {
  // expected-error @below {{warp.load: points yields f32}}
  %t = warp.load %m[%i, %i] border %b vectors_uniform %b rows {
  ^bb0(%x: index, %y: index):
    warp.yield %i, %i : index, index
  } points {
  ^bb0(%x: index, %y: index):
    warp.yield %b : i1
  } : memref<?x?xf32> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%m: memref<?x?xf32>, %i: index, %b: i1, %v: f32) {
  // expected-error @below {{warp.load: its region must end in warp.yield}}
  %t = warp.load %m[%i, %i] border %b vectors_uniform %b rows {
  ^bb0(%x: index, %y: index):
    warp.yield %i, %i : index, index
  } points {
  ^bb0(%x: index, %y: index):
    "test.termop"() : () -> ()
  } : memref<?x?xf32> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%m: memref<?x?xf32>, %i: index) {
  // expected-error @below {{warp.load: replaces needs rows; add vectors_uniform}}
  %t = "warp.load"(%m, %i, %i) <{replaces, operandSegmentSizes = array<i32: 1, 2, 0, 0, 0, 0>}> : (memref<?x?xf32>, index, index) -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%m: memref<?x?xf32>, %i: index, %b: i1) {
  // expected-error @below {{expected a memref}}
  %t = warp.load %m[%i, %i] : index -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%m: memref<?x?xf32>, %i: index, %b: i1) {
  // expected-error @below {{expected a !warp.tile}}
  %t = warp.load %m[%i, %i] : memref<?x?xf32> -> f32
  func.return
}

// -----

// warp.map

func.func @f(%v: f32) {
  // expected-error @below {{warp.map: needs a result}}
  "warp.map"() ({
  ^bb0(%x: index, %y: index):
    warp.yield
  }) : () -> ()
  func.return
}

// -----

func.func @f(%v: f32) {
  // expected-error @below {{warp.map: all results must have one layout}}
  %t, %u = warp.map {
  ^bb0(%x: index, %y: index):
    warp.yield %v, %v : f32, f32
  } : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 1]>>
  func.return
}

// -----

func.func @f(%v: f32) {
  // expected-error @below {{warp.map: a lane computes its own columns only; use warp.neighbours for others}}
  %t = warp.map {
  ^bb0(%x: index, %y: index):
    warp.yield %v : f32
  } : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [-1, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%v: f32) {
  // expected-error @below {{warp.map: its region takes 2 coordinates of type index, x first}}
  %t = warp.map {
  ^bb0(%x: index, %y: index, %z: index):
    warp.yield %v : f32
  } : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%v: f32, %b: i1) {
  // expected-error @below {{warp.map: its region yields f32}}
  %t = warp.map {
  ^bb0(%x: index, %y: index):
    warp.yield %b : i1
  } : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%v: f32) {
  // expected-error @below {{warp.map: its region must end in warp.yield}}
  %t = warp.map {
  ^bb0(%x: index, %y: index):
    "test.termop"() : () -> ()
  } : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

// warp.yield

func.func @f(%v: f32) {
  // expected-error @below {{'warp.yield' expects parent op to be one of 'warp.map', 'warp.load'}}
  warp.yield %v : f32
}

// -----

// warp.at

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>) {
  // expected-error @below {{warp.at: must be in the region of a warp.map}}
  %v = warp.at %a[0, 0] : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, %i: index) {
  %t = warp.map {
  ^bb0(%x: index, %y: index):
    // expected-error @below {{expected an offset in x and one in y}}
    %v = warp.at %a[0] : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
    warp.yield %v : f32
  } : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>) {
  %t = warp.map {
  ^bb0(%x: index, %y: index):
    // expected-error @below {{warp.at: needs an offset in x and one in y}}
    %v = "warp.at"(%a) <{offset = array<i64: 0>}> : (!warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>) -> f32
    warp.yield %v : f32
  } : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>) {
  %t = warp.map {
  ^bb0(%x: index, %y: index):
    // expected-error @below {{warp.at: the tile holds f32, not i8}}
    %v = "warp.at"(%a) <{offset = array<i64: 0, 0>}> : (!warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>) -> i8
    warp.yield %v : i8
  } : !warp.tile<i8, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, %i: index) {
  %t = warp.map {
  ^bb0(%x: index, %y: index):
    // expected-error @below {{warp.at: the tile is spread otherwise than the one computed from it}}
    %v = warp.at %a[0, 0] : !warp.tile<f32, #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
    warp.yield %v : f32
  } : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2], depth = [[0, 3]]>>, %i: index) {
  %t = warp.map {
  ^bb0(%x: index, %y: index):
    // expected-error @below {{warp.at: the tile has 1 further dimensions}}
    %v = warp.at %a[0, 0] : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2], depth = [[0, 3]]>>
    warp.yield %v : f32
  } : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [-1, 5], rows = [0, 2]>>, %i: index) {
  %t = warp.map {
  ^bb0(%x: index, %y: index):
    // expected-error @below {{warp.at: a lane holds columns [-1, 5] of the tile, not those at -2}}
    %v = warp.at %a[-2, 0] : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [-1, 5], rows = [0, 2]>>
    warp.yield %v : f32
  } : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, %i: index) {
  %t = warp.map {
  ^bb0(%x: index, %y: index):
    // expected-error @below {{warp.at: a lane holds columns [0, 4] of the tile, not those at 1}}
    %v = warp.at %a[1, 0] : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
    warp.yield %v : f32
  } : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, %i: index) {
  %t = warp.map {
  ^bb0(%x: index, %y: index):
    // expected-error @below {{warp.at: rows [0, 2] read rows at 1, but the tile holds rows [0, 2]}}
    %v = warp.at %a[0, 1] : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
    warp.yield %v : f32
  } : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 2]>>, %i: index) {
  %t = warp.map {
  ^bb0(%x: index, %y: index):
    // expected-error @below {{warp.at: rows [-1, 2] read rows at -1, but the tile holds rows [-1, 2]}}
    %v = warp.at %a[0, -1] : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 2]>>
    warp.yield %v : f32
  } : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 2]>>
  func.return
}

// -----

func.func @f(%a: f32) {
  %t = warp.map {
  ^bb0(%x: index, %y: index):
    // expected-error @below {{expected a !warp.tile}}
    %v = warp.at %a[0, 0] : f32
    warp.yield %v : f32
  } : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

// warp.neighbours

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>) {
  // expected-error @below {{warp.neighbours: only the columns and rows per lane may change}}
  %n = warp.neighbours %a : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>> -> !warp.tile<i8, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [-1, 5], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>) {
  // expected-error @below {{warp.neighbours: only the columns and rows per lane may change}}
  %n = warp.neighbours %a : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>> -> !warp.tile<f32, #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [-1, 5], rows = [0, 2]>>) {
  // expected-error @below {{warp.neighbours: the result holds all that the operand does}}
  %n = warp.neighbours %a : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [-1, 5], rows = [0, 2]>> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 5], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>) {
  // expected-error @below {{warp.neighbours: the result holds all that the operand does}}
  %n = warp.neighbours %a : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2], depth = [[0, 3]]>>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>) {
  // expected-error @below {{warp.neighbours: columns come from the same warp}}
  %n = warp.neighbours %a : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [-129, 4], rows = [0, 2]>>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 2]>>) {
  // expected-error @below {{warp.neighbours: a warp gives its own rows, [0, 2], not [-1, 2]}}
  %n = warp.neighbours %a : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 2]>> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 3]>>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>) {
  // expected-error @below {{warp.neighbours: rows [-3, 2] reach beyond the neighbouring warps, of 2 rows}}
  %n = warp.neighbours %a : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-3, 2]>>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>) {
  // expected-error @below {{warp.neighbours: rows [0, 5] reach beyond the neighbouring warps, of 2 rows}}
  %n = warp.neighbours %a : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 5]>>
  func.return
}

// -----

// warp.store

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, %m: memref<?x?xf32>, %i: index, %b: i1) {
  // expected-error @below {{warp.store: a tile of 2 dimensions needs a buffer and indices of as many}}
  warp.store %a to %m[%i] within [0, 128, 0, 8] border %b : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, memref<?x?xf32>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2], depth = [[0, 3]]>>, %m: memref<?x?xf32>, %i: index, %b: i1) {
  // expected-error @below {{warp.store: a tile of 3 dimensions needs a buffer and indices of as many}}
  warp.store %a to %m[%i, %i] within [0, 128, 0, 8] border %b : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2], depth = [[0, 3]]>>, memref<?x?xf32>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, %m: memref<?x?xi8>, %i: index, %b: i1) {
  // expected-error @below {{warp.store: f32 does not go into i8}}
  warp.store %a to %m[%i, %i] within [0, 128, 0, 8] border %b : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, memref<?x?xi8>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, %m: memref<?x?xf32>, %i: index, %b: i1) {
  // expected-error @below {{expected [x first, x end, y first, y end]}}
  warp.store %a to %m[%i, %i] within [0, 128] border %b : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, memref<?x?xf32>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, %m: memref<?x?xf32>, %i: index, %b: i1) {
  // expected-error @below {{warp.store: within is [x first, x end, y first, y end]}}
  "warp.store"(%a, %m, %i, %i, %b) <{box = array<i64: 0, 8>, operandSegmentSizes = array<i32: 1, 1, 2, 0, 1, 0, 0, 0>}> : (!warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, memref<?x?xf32>, index, index, i1) -> ()
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, %m: memref<?x?xf32>, %i: index, %b: i1) {
  // expected-error @below {{warp.store: the lanes hold columns [0, 128] and the warps rows [0, 8] of the tile}}
  warp.store %a to %m[%i, %i] within [-1, 128, 0, 8] border %b : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, memref<?x?xf32>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, %m: memref<?x?xf32>, %i: index, %b: i1) {
  // expected-error @below {{warp.store: the lanes hold columns [0, 128] and the warps rows [0, 8] of the tile}}
  warp.store %a to %m[%i, %i] within [0, 129, 0, 8] border %b : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, memref<?x?xf32>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, %m: memref<?x?xf32>, %i: index, %b: i1) {
  // expected-error @below {{warp.store: the lanes hold columns [0, 128] and the warps rows [0, 8] of the tile}}
  warp.store %a to %m[%i, %i] within [0, 128, 0, 9] border %b : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, memref<?x?xf32>
  func.return
}

// -----

func.func @f(%a: !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, %m: memref<?x?xf32>, %i: index, %b: i1) {
  // expected-error @below {{warp.store: the lanes hold columns [0, 128] and the warps rows [0, 8] of the tile}}
  warp.store %a to %m[%i, %i] within [0, 128, 4, 4] border %b : !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, memref<?x?xf32>
  func.return
}

// -----

// expected-error @below {{pairs of columns that lie 2 apart take at most 2 of a lane's neighbours, not 3}}
"test.op"() {a = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [2, 2], columns = [-3, 5], rows = [0, 2], packed = 2>} : () -> ()

// -----

// expected-error @below {{packed = 2 needs an even number of columns per lane, not 3}}
"test.op"() {a = #warp.layout<origin = [0, 0], lanes = [32, 3], warps = [2, 2], columns = [0, 3], rows = [0, 2], packed = 2>} : () -> ()

// -----

// expected-error @below {{pair_stride = 3 says how far the two points of a register lie from each other: it takes packed = 2, and pairs that fill a lane's 8 columns}}
"test.op"() {a = #warp.layout<origin = [0, 0], lanes = [32, 8], warps = [2, 2], columns = [0, 8], rows = [0, 2], packed = 2, pair_stride = 3>} : () -> ()

// -----

// expected-error @below {{pairs of bytes are neighbours, of whole words, or an even number of columns apart, not 3 of 6}}
"test.op"() {a = !warp.tile<i8, #warp.layout<origin = [0, 0], lanes = [32, 6], warps = [2, 2], columns = [0, 6], rows = [0, 2], packed = 2>>} : () -> ()

// -----

// expected-error @below {{pairs of bytes are neighbours, of whole words, or an even number of columns apart, not 1 of 6}}
"test.op"() {a = !warp.tile<i8, #warp.layout<origin = [0, 0], lanes = [32, 6], warps = [2, 2], columns = [0, 6], rows = [0, 2], packed = 2, pair_stride = 1>>} : () -> ()

// -----

#whole = #warp.layout<origin = [0, 0], lanes = [32, 8], warps = [2, 1], columns = [0, 8], rows = [0, 1], packed = 2>
#words = #warp.layout<origin = [0, 0], lanes = [32, 8], warps = [2, 1], columns = [0, 8], rows = [0, 1], packed = 2, pair_stride = 2>
func.func @other_pairs(%a: !warp.tile<i16, #words>) {
  %b = warp.map {
  ^bb0(%x: index, %y: index):
    // expected-error @below {{warp.at: the tile's pairs of columns lie 2 apart, those computed 4}}
    %v = warp.at %a[0, 0] : !warp.tile<i16, #words>
    warp.yield %v : i16
  } : !warp.tile<i16, #whole>
  func.return
}

// -----

// expected-error @below {{packed must be 1 or 2, not 3}}
"test.op"() {a = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [2, 2], columns = [0, 4], rows = [0, 2], packed = 3>} : () -> ()

// -----

// expected-error @below {{two points share a register if they have at most 16 bits, not as f32}}
"test.op"() {a = !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [2, 2], columns = [0, 4], rows = [0, 2], packed = 2>>} : () -> ()

// -----

func.func @pieces_of_one_element(%in: memref<?x?xf32>, %i: index) {
  // expected-error @below {{warp.load: 1 f32 a lane are not loaded in pieces}}
  %a = warp.load %in[%i, %i] pieces : memref<?x?xf32> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 1], warps = [1, 1], columns = [0, 1], rows = [0, 1]>>
  func.return
}

// -----

func.func @pieces_of_halves(%in: memref<?x?xf16>, %i: index) {
  // expected-error @below {{warp.load: 8 f16 a lane are not loaded in pieces}}
  %a = warp.load %in[%i, %i] pieces : memref<?x?xf16> -> !warp.tile<f16, #warp.layout<origin = [0, 0], lanes = [32, 8], warps = [1, 1], columns = [0, 8], rows = [0, 1]>>
  func.return
}

// -----

func.func @partial_without_pieces(%in: memref<?x?xf32>, %i: index) {
  // expected-error @below {{warp.load: partial needs pieces}}
  %a = warp.load %in[%i, %i] partial left : memref<?x?xf32> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [1, 1], columns = [0, 4], rows = [0, 1]>>
  func.return
}

// -----

func.func @words_partial_at_the_left(%in: memref<?x?xi8>, %i: index) {
  // expected-error @below {{warp.load: pieces of i8 are partial at the right}}
  %a = warp.load %in[%i, %i] pieces partial left : memref<?x?xi8> -> !warp.tile<i8, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [1, 1], columns = [0, 4], rows = [0, 1]>>
  func.return
}

// -----

func.func @uniform_without_border(%in: memref<?x?xf32>, %i: index, %b: i1) {
  // expected-error @below {{warp.load: vectors_uniform needs border; add border}}
  %a = "warp.load"(%in, %i, %i, %b) <{operandSegmentSizes = array<i32: 1, 2, 0, 0, 1, 0>}> : (memref<?x?xf32>, index, index, i1) -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [1, 1], columns = [0, 4], rows = [0, 1]>>
  func.return
}

// -----

func.func @x_edge_only_without_uniform(%in: memref<?x?xf32>, %i: index, %b: i1) {
  // expected-error @below {{warp.load: x_edge_only needs vectors_uniform; add vectors_uniform}}
  %a = "warp.load"(%in, %i, %i, %b) <{operandSegmentSizes = array<i32: 1, 2, 0, 0, 0, 1>}> : (memref<?x?xf32>, index, index, i1) -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [1, 1], columns = [0, 4], rows = [0, 1]>>
  func.return
}

// -----

func.func @sides_of_planes(%in: memref<?x?x?xf32>, %i: index, %b: i1, %v: f32) {
  // expected-error @below {{warp.load: x_edge_only needs a tile of two dimensions}}
  %a = warp.load %in[%i, %i, %i] border %b vectors_uniform %b x_edge_only %b rows {
  ^bb0(%x: index, %y: index, %z: index):
    warp.yield %z, %y, %x, %b, %b : index, index, index, i1, i1
  } points {
  ^bb0(%x: index, %y: index, %z: index):
    warp.yield %v : f32
  } : memref<?x?x?xf32> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [1, 1], columns = [0, 4], rows = [0, 1], depth = [[0, 3]]>>
  func.return
}

// -----

func.func @uniform_of_long_rows(%in: memref<?x?xf32>, %i: index, %b: i1, %v: f32) {
  // expected-error @below {{warp.load: 8 f32 a lane are not one access; leave vectors_uniform out}}
  %a = warp.load %in[%i, %i] border %b vectors_uniform %b rows {
  ^bb0(%x: index, %y: index):
    warp.yield %i, %i : index, index
  } points {
  ^bb0(%x: index, %y: index):
    warp.yield %v : f32
  } : memref<?x?xf32> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 8], warps = [1, 1], columns = [0, 8], rows = [0, 1]>>
  func.return
}

// -----

// warp.prefetch

func.func @f(%in: memref<?x?xf32>, %i: index) {
  // expected-error @below {{warp.prefetch: a buffer of two dimensions or more, and as many indices}}
  warp.prefetch %in[%i] within [-4, 60, -4, 36] by 4 : memref<?x?xf32>
  func.return
}

// -----

func.func @f(%in: memref<?x?xf32>, %i: index) {
  // expected-error @below {{warp.prefetch: within is empty, or by no warps}}
  warp.prefetch %in[%i, %i] within [-4, 60, 36, 36] by 4 : memref<?x?xf32>
  func.return
}

// -----

func.func @f(%in: memref<?x?xf32>, %i: index) {
  // expected-error @below {{expected [x first, x end, y first, y end]}}
  warp.prefetch %in[%i, %i] within [-4, 60] by 4 : memref<?x?xf32>
  func.return
}

// -----

func.func @f(%in: memref<?x?xindex>, %i: index) {
  // expected-error @below {{warp.prefetch: of integers or floats, not index}}
  warp.prefetch %in[%i, %i] within [-4, 60, -4, 36] by 4 : memref<?x?xindex>
  func.return
}
