// RUN: TILEFUSE_ROUNDTRIP
// RUN: TILEFUSE_GENERIC_ROUNDTRIP

// Lanes of four columns, four warps of two rows. A warp's own; with a row above; with a column at either side, too.
#own = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>
#above = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 2]>
#beside = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [-1, 5], rows = [-1, 2]>

// CHECK-LABEL: func.func @plain(
// CHECK-SAME:    %in: memref<?x?xf32>, %out: memref<?x?xf32>, %i: index, %j: index, %border: i1)
// CHECK-NEXT:    %a = warp.load %in[%j, %i] : memref<?x?xf32> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 2]>>
// CHECK-NEXT:    %b = warp.neighbours %a : !warp.tile<f32, {{.*}} rows = [-1, 2]>> -> !warp.tile<f32, {{.*}} columns = [-1, 5], rows = [-1, 2]>>
// CHECK-NEXT:    %c, %d = warp.map {
// CHECK-NEXT:    ^bb0(%x: index, %y: index):
// CHECK-NEXT:      %l = warp.at %b[-1, 0] : !warp.tile<f32, {{.*}}>
// CHECK-NEXT:      %r = warp.at %b[1, -1] : !warp.tile<f32, {{.*}}>
// CHECK-NEXT:      %s = arith.addf %l, %r : f32
// CHECK-NEXT:      warp.yield %s, %x : f32, index
// CHECK-NEXT:    } : !warp.tile<f32, {{.*}} rows = [0, 2]>>, !warp.tile<index, {{.*}} rows = [0, 2]>>
// CHECK-NEXT:    warp.store %c to %out[%j, %i] within [0, 128, 1, 8] border %border : !warp.tile<f32, {{.*}}>, memref<?x?xf32>
func.func @plain(%in: memref<?x?xf32>, %out: memref<?x?xf32>, %i: index, %j: index, %border: i1) {
  %a = warp.load %in[%j, %i] : memref<?x?xf32> -> !warp.tile<f32, #above>
  %b = warp.neighbours %a : !warp.tile<f32, #above> -> !warp.tile<f32, #beside>
  %c, %d = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %b[-1, 0] : !warp.tile<f32, #beside>
    %r = warp.at %b[1, -1] : !warp.tile<f32, #beside>
    %s = arith.addf %l, %r : f32
    warp.yield %s, %x : f32, index
  } : !warp.tile<f32, #own>, !warp.tile<index, #own>
  warp.store %c to %out[%j, %i] within [0, 128, 1, 8] border %border : !warp.tile<f32, #own>, memref<?x?xf32>
  func.return
}

// -----

#own = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>

// Whether vectors lie well; what points are in border tiles, and where rows lie if they are inside or outside as wholes;
// whether it is cut off along x only.

// CHECK-LABEL: func.func @borders(
// CHECK:         %a = warp.load %in[%j, %i] aligned %aligned border %border vectors_uniform %aligned rows {
// CHECK-NEXT:    ^bb0(%x: index, %y: index):
// CHECK-NEXT:      warp.yield %y, %x : index, index
// CHECK-NEXT:    } points {
// CHECK-NEXT:    ^bb{{[0-9]+}}(%x_1: index, %y_1: index):
// CHECK:           warp.yield %v : f32
// CHECK-NEXT:    } : memref<?x?xf32> -> !warp.tile<f32, {{.*}}>
// CHECK-NEXT:    %b = warp.load %in[%j, %i] border %border vectors_uniform %vectors_uniform x_edge_only %x_edge_only replaces rows {
// CHECK:           warp.yield %{{.*}}, %{{.*}}, %border, %zero : index, index, i1, f32
// CHECK:         } points {
// CHECK:         %c = warp.load %in[%j, %i] border %border points {
// CHECK:         warp.store %a to %out[%j, %i] within [-3, 120, 0, 8] aligned %aligned border %border vectors_uniform %vectors_uniform x_edge_only %x_edge_only from %i : !warp.tile<f32, {{.*}}>, memref<?x?xf32>
func.func @borders(%in: memref<?x?xf32>, %out: memref<?x?xf32>, %i: index, %j: index, %border: i1, %aligned: i1, %vectors_uniform: i1, %x_edge_only: i1) {
  %zero = arith.constant 0.0 : f32
  %a = warp.load %in[%j, %i] aligned %aligned border %border vectors_uniform %aligned rows {
  ^bb0(%x: index, %y: index):
    warp.yield %y, %x : index, index
  } points {
  ^bb1(%x: index, %y: index):
    %v = memref.load %in[%y, %x] : memref<?x?xf32>
    warp.yield %v : f32
  } : memref<?x?xf32> -> !warp.tile<f32, #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  %b = warp.load %in[%j, %i] border %border vectors_uniform %vectors_uniform x_edge_only %x_edge_only replaces rows {
  ^bb0(%x: index, %y: index):
    warp.yield %y, %x, %border, %zero : index, index, i1, f32
  } points {
  ^bb1(%x: index, %y: index):
    warp.yield %zero : f32
  } : memref<?x?xf32> -> !warp.tile<f32, #own>
  %c = warp.load %in[%j, %i] border %border points {
  ^bb1(%x: index, %y: index):
    warp.yield %zero : f32
  } : memref<?x?xf32> -> !warp.tile<f32, #own>
  warp.store %a to %out[%j, %i] within [-3, 120, 0, 8] aligned %aligned border %border vectors_uniform %vectors_uniform x_edge_only %x_edge_only from %i : !warp.tile<f32, #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, memref<?x?xf32>
  func.return
}

// -----

#own = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>
#deep = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2], depth = [[0, 3]]>

// Further dimensions: their indices are absolute.

// CHECK-LABEL: func.func @deep(
// CHECK:         ^bb0(%x: index, %y: index):
// CHECK-NEXT:      %v = warp.at %a[0, 0](%two) : !warp.tile<f32, {{.*}} depth = {{\[\[}}0, 3]]>>
// CHECK:         ^bb{{[0-9]+}}(%x_1: index, %y_1: index, %z: index):
// CHECK:         warp.store %c to %out[%zero, %zero, %zero] within [0, 128, 0, 8] border %border
func.func @deep(%in: memref<3x?x?xf32>, %out: memref<3x?x?xf32>, %border: i1) {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %a = warp.load %in[%zero, %zero, %zero] : memref<3x?x?xf32> -> !warp.tile<f32, #deep>
  %b = warp.map {
  ^bb0(%x: index, %y: index):
    %v = warp.at %a[0, 0](%two) : !warp.tile<f32, #deep>
    warp.yield %v : f32
  } : !warp.tile<f32, #own>
  %c = warp.map {
  ^bb0(%x: index, %y: index, %z: index):
    %v = warp.at %b[0, 0] : !warp.tile<f32, #own>
    warp.yield %v : f32
  } : !warp.tile<f32, #deep>
  warp.store %c to %out[%zero, %zero, %zero] within [0, 128, 0, 8] border %border : !warp.tile<f32, #deep>, memref<3x?x?xf32>
  func.return
}

// -----

// As many rows from the neighbouring warps as these have.

// CHECK-LABEL: func.func @rows_exchanged(
// CHECK:         warp.neighbours %a : !warp.tile<i8, {{.*}} rows = [0, 2]>> -> !warp.tile<i8, {{.*}} rows = [-2, 4]>>
func.func @rows_exchanged(%in: memref<?x?xi8>, %zero: index) {
  %a = warp.load %in[%zero, %zero] : memref<?x?xi8> -> !warp.tile<i8, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  %b = warp.neighbours %a : !warp.tile<i8, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>> -> !warp.tile<i8, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-2, 4]>>
  func.return
}

// -----

// Rows that do not lie as vectors do may be loaded in pieces; at one side a lane may have from the next what that loads.

// CHECK-LABEL: func.func @in_pieces(
// CHECK-NEXT:    %a = warp.load %in[%j, %i] pieces : memref<?x?xi8> -> !warp.tile<i8, {{.*}}>
// CHECK-NEXT:    %b = warp.load %in[%j, %i] pieces partial right : memref<?x?xi8> -> !warp.tile<i8, {{.*}}>
// CHECK-NEXT:    %c = warp.load %floats[%j, %i] pieces partial left : memref<?x?xf32> -> !warp.tile<f32, {{.*}}>
func.func @in_pieces(%in: memref<?x?xi8>, %floats: memref<?x?xf32>, %i: index, %j: index) {
  %a = warp.load %in[%j, %i] pieces : memref<?x?xi8> -> !warp.tile<i8, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  %b = warp.load %in[%j, %i] pieces partial right : memref<?x?xi8> -> !warp.tile<i8, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  %c = warp.load %floats[%j, %i] pieces partial left : memref<?x?xf32> -> !warp.tile<f32, #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
  func.return
}

// -----

// CHECK-LABEL: func.func @prefetch(
// CHECK:         warp.prefetch %in[%j, %i] within [-4, 60, -4, 36] by 4 : memref<?x?xf32>
func.func @prefetch(%in: memref<?x?xf32>, %i: index, %j: index) {
  warp.prefetch %in[%j, %i] within [-4, 60, -4, 36] by 4 : memref<?x?xf32>
  func.return
}
