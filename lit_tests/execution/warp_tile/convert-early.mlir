// Floats that are only read as integers are converted before lanes get them from one another.

// RUN: pipeline-opt %s -p convert-early --split-input-file | filecheck %s
// RUN: pipeline-opt %s -p convert-early --split-input-file | pipeline-opt --split-input-file | filecheck %s

#own = #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2], depth = [[0, 3]]>
#beside = #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [-1, 5], rows = [0, 2], depth = [[0, 3]]>

// CHECK-LABEL: func.func @converted(
// CHECK:         %a = warp.load
// CHECK-NEXT:    [[I:%[a-z0-9_]+]] = warp.map {
// CHECK-NEXT:    ^bb0(%{{[0-9a-z]+}}: index, %{{[0-9a-z]+}}: index, [[C:%[0-9a-z]+]]: index):
// CHECK-NEXT:      [[V:%[0-9]+]] = warp.at %a[0, 0]([[C]]) : !warp.tile<f32,
// CHECK-NEXT:      [[S:%[0-9a-z_]+]] = arith.fptosi [[V]] : f32 to i32
// CHECK-NEXT:      warp.yield [[S]] : i32
// CHECK-NEXT:    } : !warp.tile<i32, {{.*}} columns = [0, 4]
// CHECK-NEXT:    [[B:%[a-z0-9_]+]] = warp.neighbours [[I]] : !warp.tile<i32, {{.*}} columns = [0, 4], {{.*}} -> {{.*}} columns = [-1, 5]
// CHECK-NEXT:    %c = warp.map {
// CHECK-NEXT:    ^bb0(%x: index, %y: index, %z: index):
// CHECK-NEXT:      [[L:%[a-z0-9_]+]] = warp.at [[B]][-1, 0](%z) : !warp.tile<i32,
// CHECK-NEXT:      [[R:%[a-z0-9_]+]] = warp.at [[B]][1, 0](%z) : !warp.tile<i32,
// CHECK-NEXT:      %s = arith.addi [[L]], [[R]] : i32
// CHECK-NEXT:      warp.yield %s : i32
func.func @converted(%in: memref<3x?x?xf32>, %out: memref<3x?x?xi32>, %i: index, %j: index, %border: i1) {
  %0 = arith.constant 0 : index
  %a = warp.load %in[%0, %j, %i] : memref<3x?x?xf32> -> !warp.tile<f32, #own>
  %b = warp.neighbours %a : !warp.tile<f32, #own> -> !warp.tile<f32, #beside>
  %c = warp.map {
  ^bb0(%x: index, %y: index, %z: index):
    %l = warp.at %b[-1, 0](%z) : !warp.tile<f32, #beside>
    %li = arith.fptosi %l : f32 to i32
    %r = warp.at %b[1, 0](%z) : !warp.tile<f32, #beside>
    %ri = arith.fptosi %r : f32 to i32
    %s = arith.addi %li, %ri : i32
    warp.yield %s : i32
  } : !warp.tile<i32, #own>
  warp.store %c to %out[%0, %j, %i] within [0, 120, 0, 8] border %border : !warp.tile<i32, #own>, memref<3x?x?xi32>
  func.return
}

// -----

#own = #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>
#beside = #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [-1, 5], rows = [0, 2]>

// Not where a value is read as a float, too, or as integers of two types.

// CHECK-LABEL: func.func @not_only(
// CHECK-NEXT:    %a = warp.load
// CHECK-NEXT:    %b = warp.neighbours %a
// CHECK-NEXT:    %c, %d = warp.map {
// CHECK:       func.func @two_types(
// CHECK-NEXT:    %a = warp.load
// CHECK-NEXT:    %b = warp.neighbours %a
// CHECK-NEXT:    %c, %d = warp.map {
func.func @not_only(%in: memref<?x?xf32>, %i: index, %j: index) {
  %a = warp.load %in[%j, %i] : memref<?x?xf32> -> !warp.tile<f32, #own>
  %b = warp.neighbours %a : !warp.tile<f32, #own> -> !warp.tile<f32, #beside>
  %c, %d = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %b[-1, 0] : !warp.tile<f32, #beside>
    %li = arith.fptosi %l : f32 to i32
    %r = warp.at %b[1, 0] : !warp.tile<f32, #beside>
    %ri = arith.fptosi %r : f32 to i32
    %s = arith.addi %li, %ri : i32
    warp.yield %s, %r : i32, f32
  } : !warp.tile<i32, #own>, !warp.tile<f32, #own>
  func.return
}
func.func @two_types(%in: memref<?x?xf32>, %i: index, %j: index) {
  %a = warp.load %in[%j, %i] : memref<?x?xf32> -> !warp.tile<f32, #own>
  %b = warp.neighbours %a : !warp.tile<f32, #own> -> !warp.tile<f32, #beside>
  %c, %d = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %b[-1, 0] : !warp.tile<f32, #beside>
    %li = arith.fptosi %l : f32 to i32
    %r = warp.at %b[1, 0] : !warp.tile<f32, #beside>
    %ri = arith.fptosi %r : f32 to i8
    warp.yield %li, %ri : i32, i8
  } : !warp.tile<i32, #own>, !warp.tile<i8, #own>
  func.return
}
