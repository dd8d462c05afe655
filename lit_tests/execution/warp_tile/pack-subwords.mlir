// Bodies of 8 and 16 bits are computed in i16, two points to a register; others are left as they are.

// RUN: pipeline-opt %s -p pack-subwords --split-input-file | filecheck %s

#own = #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>
#beside = #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [-1, 5], rows = [0, 2]>

// A mean of three bytes in i32: every value is known to be below 2^16.

// CHECK-LABEL: func.func @mean(
// CHECK-NEXT:    %a = warp.load %in[%j, %i] : memref<?x?xi8> -> !warp.tile<i8, {{.*}} columns = [0, 4], rows = [0, 2], packed = 2, pair_stride = 1>>
// CHECK-NEXT:    %b = warp.neighbours %a : {{.*}} packed = 2, pair_stride = 1>> -> {{.*}} columns = [-1, 5], rows = [0, 2], packed = 2, pair_stride = 1>>
// CHECK-NEXT:    %c = warp.map {
// CHECK-NEXT:    ^bb0(%x: index, %y: index):
// CHECK-NEXT:      %l = warp.at %b[-1, 0] : {{.*}} packed = 2, pair_stride = 1>>
// CHECK-NEXT:      %l_1 = arith.extui %l : i8 to i16
// CHECK-NEXT:      %m = warp.at %b[0, 0] : {{.*}} packed = 2, pair_stride = 1>>
// CHECK-NEXT:      %m_1 = arith.extui %m : i8 to i16
// CHECK-NEXT:      %r = warp.at %b[1, 0] : {{.*}} packed = 2, pair_stride = 1>>
// CHECK-NEXT:      %r_1 = arith.extui %r : i8 to i16
// CHECK-NEXT:      %lm = arith.addi %l_1, %m_1 overflow<nuw> : i16
// CHECK-NEXT:      %sum = arith.addi %lm, %r_1 overflow<nuw> : i16
// CHECK-NEXT:      %0 = arith.constant 3 : i16
// CHECK-NEXT:      %mean = arith.divui %sum, %0 : i16
// CHECK-NEXT:      %narrow = arith.trunci %mean : i16 to i8
// CHECK-NEXT:      warp.yield %narrow : i8
// CHECK-NEXT:    } : !warp.tile<i8, {{.*}} packed = 2, pair_stride = 1>>
// CHECK-NEXT:    warp.store %c to {{.*}} packed = 2, pair_stride = 1>>, memref<?x?xi8>
func.func @mean(%in: memref<?x?xi8>, %out: memref<?x?xi8>, %i: index, %j: index, %border: i1) {
  %a = warp.load %in[%j, %i] : memref<?x?xi8> -> !warp.tile<i8, #own>
  %b = warp.neighbours %a : !warp.tile<i8, #own> -> !warp.tile<i8, #beside>
  %c = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %b[-1, 0] : !warp.tile<i8, #beside>
    %lw = arith.extui %l : i8 to i32
    %m = warp.at %b[0, 0] : !warp.tile<i8, #beside>
    %mw = arith.extui %m : i8 to i32
    %r = warp.at %b[1, 0] : !warp.tile<i8, #beside>
    %rw = arith.extui %r : i8 to i32
    %lm = arith.addi %lw, %mw : i32
    %sum = arith.addi %lm, %rw : i32
    %three = arith.constant 3 : i32
    %mean = arith.divsi %sum, %three : i32
    %narrow = arith.trunci %mean : i32 to i8
    warp.yield %narrow : i8
  } : !warp.tile<i8, #own>
  warp.store %c to %out[%j, %i] within [0, 120, 0, 8] border %border : !warp.tile<i8, #own>, memref<?x?xi8>
  func.return
}

// -----

#own = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>

// Bytes that may wrap are masked; 16 bits wrap by themselves.

// CHECK-LABEL: func.func @wraps(
// CHECK:         %bytes, %words = warp.map {
// CHECK:           [[SUM:%[a-z0-9_]+]] = arith.addi %{{.*}}, %{{.*}} overflow<nuw> : i16
// CHECK-NEXT:      [[ALL:%[a-z0-9_]+]] = arith.constant 255 : i16
// CHECK-NEXT:      [[LOW:%[a-z0-9_]+]] = arith.andi [[SUM]], [[ALL]] : i16
// CHECK:           [[WIDE:%[a-z0-9_]+]] = arith.subi %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : i16
// CHECK-NEXT:      [[BYTE:%[a-z0-9_]+]] = arith.trunci [[LOW]] : i16 to i8
// CHECK-NEXT:      warp.yield [[BYTE]], [[WIDE]] : i8, i16
func.func @wraps(%in: memref<?x?xi8>, %other: memref<?x?xi16>, %i: index, %j: index) {
  %a = warp.load %in[%j, %i] : memref<?x?xi8> -> !warp.tile<i8, #own>
  %b = warp.load %other[%j, %i] : memref<?x?xi16> -> !warp.tile<i16, #own>
  %bytes, %words = warp.map {
  ^bb0(%x: index, %y: index):
    %p = warp.at %a[0, 0] : !warp.tile<i8, #own>
    %q = warp.at %b[0, 0] : !warp.tile<i16, #own>
    %s = arith.addi %p, %p : i8
    %c = arith.constant 7 : i16
    %t = arith.subi %q, %c : i16
    warp.yield %s, %t : i8, i16
  } : !warp.tile<i8, #own>, !warp.tile<i16, #own>
  func.return
}

// -----

#own = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>

// A difference that may be negative in 32 bits, a comparison, and a product that is cheaper apart.

// CHECK-LABEL: func.func @apart(
// CHECK-NOT:     packed
func.func @apart(%in: memref<?x?xi16>, %i: index, %j: index) {
  %a = warp.load %in[%j, %i] : memref<?x?xi16> -> !warp.tile<i16, #own>
  %b = warp.map {
  ^bb0(%x: index, %y: index):
    %p = warp.at %a[0, 0] : !warp.tile<i16, #own>
    %w = arith.extui %p : i16 to i32
    %c = arith.constant 7 : i32
    %d = arith.subi %w, %c : i32
    %n = arith.trunci %d : i32 to i16
    warp.yield %n : i16
  } : !warp.tile<i16, #own>
  %e = warp.map {
  ^bb0(%x: index, %y: index):
    %p = warp.at %a[0, 0] : !warp.tile<i16, #own>
    %c = arith.constant 7 : i16
    %t = arith.cmpi ult, %p, %c : i16
    %s = arith.select %t, %p, %c : i16
    warp.yield %s : i16
  } : !warp.tile<i16, #own>
  %f = warp.map {
  ^bb0(%x: index, %y: index):
    %p = warp.at %a[0, 0] : !warp.tile<i16, #own>
    %s = arith.muli %p, %p : i16
    warp.yield %s : i16
  } : !warp.tile<i16, #own>
  func.return
}

// -----

#own = #warp.layout<origin = [-8, 0], lanes = [32, 8], warps = [4, 2], columns = [0, 8], rows = [0, 2]>
#beside = #warp.layout<origin = [-8, 0], lanes = [32, 8], warps = [4, 2], columns = [-1, 9], rows = [0, 2]>

// Neighbours share a register. Only where rows beside a lane's own are read more often than rows are loaded and stored,
// and no further than a column, it is columns half of a lane's apart.

// CHECK-LABEL: func.func @once(
// CHECK-NEXT:    %a = warp.load %in[%j, %i] : memref<?x?xi8> -> !warp.tile<i8, {{.*}} columns = [0, 8], rows = [0, 2], packed = 2, pair_stride = 1>>
// CHECK-NEXT:    %b = warp.neighbours %a : {{.*}} columns = [-1, 9], rows = [0, 2], packed = 2, pair_stride = 1>>
// CHECK:         warp.store %c to %out[%j, %i] within [0, 240, 0, 8] border %border : !warp.tile<i8, {{.*}} packed = 2, pair_stride = 1>>
func.func @once(%in: memref<?x?xi8>, %out: memref<?x?xi8>, %i: index, %j: index, %border: i1) {
  %a = warp.load %in[%j, %i] : memref<?x?xi8> -> !warp.tile<i8, #own>
  %b = warp.neighbours %a : !warp.tile<i8, #own> -> !warp.tile<i8, #beside>
  %c = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %b[-1, 0] : !warp.tile<i8, #beside>
    %r = warp.at %b[1, 0] : !warp.tile<i8, #beside>
    %o = arith.ori %l, %r : i8
    warp.yield %o : i8
  } : !warp.tile<i8, #own>
  warp.store %c to %out[%j, %i] within [0, 240, 0, 8] border %border : !warp.tile<i8, #own>, memref<?x?xi8>
  func.return
}

// CHECK-LABEL: func.func @twice(
// CHECK:         packed = 2>
// CHECK-NOT:     pair_stride
func.func @twice(%in: memref<?x?xi8>, %out: memref<?x?xi8>, %i: index, %j: index, %border: i1) {
  %a = warp.load %in[%j, %i] : memref<?x?xi8> -> !warp.tile<i8, #own>
  %b = warp.neighbours %a : !warp.tile<i8, #own> -> !warp.tile<i8, #beside>
  %c = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %b[-1, 0] : !warp.tile<i8, #beside>
    %r = warp.at %b[1, 0] : !warp.tile<i8, #beside>
    %o = arith.ori %l, %r : i8
    warp.yield %o : i8
  } : !warp.tile<i8, #own>
  %d = warp.neighbours %c : !warp.tile<i8, #own> -> !warp.tile<i8, #beside>
  %e = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %d[-1, 0] : !warp.tile<i8, #beside>
    %r = warp.at %d[1, 0] : !warp.tile<i8, #beside>
    %o = arith.ori %l, %r : i8
    warp.yield %o : i8
  } : !warp.tile<i8, #own>
  warp.store %e to %out[%j, %i] within [0, 240, 0, 8] border %border : !warp.tile<i8, #own>, memref<?x?xi8>
  func.return
}

// What a loop written by hand carries keeps its layout, and so does what is read with it.

// CHECK-LABEL: func.func @looped(
// CHECK-NOT:     packed
// CHECK:         func.return
func.func @looped(%in: memref<?x?xi8>, %out: memref<?x?xi8>, %i: index, %j: index, %border: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = warp.load %in[%j, %i] : memref<?x?xi8> -> !warp.tile<i8, #own>
  %b = warp.neighbours %a : !warp.tile<i8, #own> -> !warp.tile<i8, #beside>
  %c = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %b[-1, 0] : !warp.tile<i8, #beside>
    %r = warp.at %b[1, 0] : !warp.tile<i8, #beside>
    %o = arith.ori %l, %r : i8
    warp.yield %o : i8
  } : !warp.tile<i8, #own>
  %d = scf.for %k = %c0 to %c3 step %c1 iter_args(%t = %a) -> (!warp.tile<i8, #own>) {
    %s = warp.map {
    ^bb0(%x: index, %y: index):
      %p = warp.at %t[0, 0] : !warp.tile<i8, #own>
      %q = arith.muli %p, %p : i8
      warp.yield %q : i8
    } : !warp.tile<i8, #own>
    scf.yield %s : !warp.tile<i8, #own>
  }
  %e = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %d[0, 0] : !warp.tile<i8, #own>
    %r = warp.at %c[0, 0] : !warp.tile<i8, #own>
    %o = arith.ori %l, %r : i8
    warp.yield %o : i8
  } : !warp.tile<i8, #own>
  warp.store %e to %out[%j, %i] within [0, 240, 0, 8] border %border : !warp.tile<i8, #own>, memref<?x?xi8>
  func.return
}
