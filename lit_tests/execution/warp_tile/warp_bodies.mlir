// Bodies by hand, for what pipelines rarely meet; the real mlir-opt takes what they become.

// RUN: pipeline-opt %s --split-input-file -p lower-warp-tiles --print-op-generic | mlir-opt --split-input-file | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p 'lower-warp-tiles{warps=false}' --print-op-generic | mlir-opt --split-input-file | filecheck %s --check-prefix=ARRAYS

// Columns from lanes further than the next, each of the element that is that far; vectors where they lie well, and
// scalars elsewhere. Rows and lanes outside the box are not stored.

// CHECK-LABEL: func.func @far(
// CHECK:         [[A:%.*]] = memref.alloca() : memref<2x7xf32, 5>
// CHECK:         scf.if %arg4 {
// CHECK:           vector.load %arg0[{{.*}}] : memref<?x?xf32>, vector<2xf32>
// CHECK:         } else {
// CHECK-NOT:       vector.load
// CHECK:           memref.load %arg0[
// CHECK:         [[OWN:%.*]] = memref.load [[A]][{{%.*}}, %c4]
// CHECK:         gpu.shuffle up [[OWN]], %c2_i32{{(_[0-9]+)?}}, %c32_i32
// CHECK:         [[OWN:%.*]] = memref.load [[A]][{{%.*}}, %c3]
// CHECK:         gpu.shuffle up [[OWN]], %c1_i32{{(_[0-9]+)?}}, %c32_i32
// CHECK:         [[OWN:%.*]] = memref.load [[A]][{{%.*}}, %c4]
// CHECK:         gpu.shuffle up [[OWN]], %c1_i32{{(_[0-9]+)?}}, %c32_i32
// CHECK:         [[OWN:%.*]] = memref.load [[A]][{{%.*}}, %c3]
// CHECK:         gpu.shuffle down [[OWN]], %c1_i32{{(_[0-9]+)?}}, %c32_i32
// CHECK:         [[OWN:%.*]] = memref.load [[A]][{{%.*}}, %c4]
// CHECK:         gpu.shuffle down [[OWN]], %c1_i32{{(_[0-9]+)?}}, %c32_i32
// CHECK-NOT:     gpu.shuffle
// CHECK:         arith.cmpi sge, {{%.*}}, %c1{{(_[0-9]+)?}} : index
// CHECK:         arith.cmpi slt, {{%.*}}, %c7{{(_[0-9]+)?}} : index
// CHECK:         arith.cmpi sge, {{%.*}}, %c2{{(_[0-9]+)?}} : index
// CHECK:         arith.cmpi slt, {{%.*}}, %c30{{(_[0-9]+)?}} : index
// CHECK:         memref.store {{%.*}}, %arg1[

// ARRAYS-LABEL: func.func @far(
// ARRAYS:         memref.alloca() : memref<4x2x69xf32, 3>
// ARRAYS-NOT:     gpu.shuffle
// ARRAYS:         arith.cmpi sge, {{%.*}}, %c4{{(_[0-9]+)?}} : index
// ARRAYS:         arith.cmpi slt, {{%.*}}, %c60{{(_[0-9]+)?}} : index
// ARRAYS:         arith.cmpi sge, {{%.*}}, %c1{{(_[0-9]+)?}} : index
// ARRAYS:         arith.cmpi slt, {{%.*}}, %c7{{(_[0-9]+)?}} : index
#own = #warp.layout<origin = [0, 0], lanes = [32, 2], warps = [4, 2], columns = [0, 2], rows = [0, 2]>
#far = #warp.layout<origin = [0, 0], lanes = [32, 2], warps = [4, 2], columns = [-3, 4], rows = [0, 2]>
func.func @far(%in: memref<?x?xf32>, %out: memref<?x?xf32>, %i: index, %border: i1, %aligned: i1) {
  %a = warp.load %in[%i, %i] aligned %aligned : memref<?x?xf32> -> !warp.tile<f32, #own>
  %b = warp.neighbours %a : !warp.tile<f32, #own> -> !warp.tile<f32, #far>
  %c = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %b[-3, 0] : !warp.tile<f32, #far>
    %r = warp.at %b[2, 0] : !warp.tile<f32, #far>
    %s = arith.addf %l, %r : f32
    warp.yield %s : f32
  } : !warp.tile<f32, #own>
  warp.store %c to %out[%i, %i] within [4, 60, 1, 7] border %border : !warp.tile<f32, #own>, memref<?x?xf32>
  func.return
}

// -----

// Tiles that are ready together share a round: two pieces of the memory, one barrier.

// CHECK-LABEL: func.func @two(
// CHECK:         [[ROWS:%.*]] = memref.alloca() : memref<2560xi8, 3>
// CHECK:         [[A:%.*]] = memref.view [[ROWS]][%c0][] : memref<2560xi8, 3> to memref<4x2x64xf32, 3>
// CHECK:         [[B:%.*]] = memref.view [[ROWS]][%c2048][] : memref<2560xi8, 3> to memref<4x2x64xi8, 3>
// CHECK-NOT:     gpu.barrier
// CHECK:         vector.store {{%.*}}, [[A]][
// CHECK:         vector.store {{%.*}}, [[B]][
// CHECK:         gpu.barrier
// CHECK-NOT:     gpu.barrier
// CHECK:         vector.load [[A]][
// CHECK:         vector.load [[B]][
// CHECK-NOT:     gpu.barrier
// CHECK:         memref.store {{%.*}}, %arg2[

// ARRAYS-LABEL: func.func @two(
// ARRAYS:         memref.alloca() : memref<4x4x64xf32, 3>
// ARRAYS:         memref.alloca() : memref<4x4x64xi8, 3>
// ARRAYS-NOT:     gpu.barrier
#own = #warp.layout<origin = [0, 0], lanes = [32, 2], warps = [4, 2], columns = [0, 2], rows = [0, 2]>
#tall = #warp.layout<origin = [0, 0], lanes = [32, 2], warps = [4, 2], columns = [0, 2], rows = [-1, 3]>
func.func @two(%in: memref<?x?xf32>, %bytes: memref<?x?xi8>, %out: memref<?x?xf32>, %i: index, %border: i1) {
  %a = warp.load %in[%i, %i] : memref<?x?xf32> -> !warp.tile<f32, #own>
  %b = warp.load %bytes[%i, %i] : memref<?x?xi8> -> !warp.tile<i8, #own>
  %c = warp.neighbours %a : !warp.tile<f32, #own> -> !warp.tile<f32, #tall>
  %d = warp.neighbours %b : !warp.tile<i8, #own> -> !warp.tile<i8, #tall>
  %e = warp.map {
  ^bb0(%x: index, %y: index):
    %u = warp.at %c[0, -1] : !warp.tile<f32, #tall>
    %n = warp.at %d[0, 1] : !warp.tile<i8, #tall>
    %v = arith.uitofp %n : i8 to f32
    %s = arith.addf %u, %v : f32
    warp.yield %s : f32
  } : !warp.tile<f32, #own>
  warp.store %e to %out[%i, %i] within [0, 64, 1, 7] border %border : !warp.tile<f32, #own>, memref<?x?xf32>
  func.return
}

// -----

// A third dimension, from 1 to 4: all of it goes from warp to warp, and its indices count from the first held.

// CHECK-LABEL: func.func @deep(
// CHECK:         [[A:%.*]] = memref.alloca() : memref<3x3x2xf32, 5>
// CHECK:         [[X:%.*]] = memref.view {{.*}} : memref<3072xi8, 3> to memref<4x3x1x64xf32, 3>
// CHECK:         vector.store {{%.*}}, [[X]][
// CHECK:         gpu.barrier
// CHECK:         vector.load [[X]][
// CHECK:         [[C:%.*]] = arith.subi %c2, %c1
// CHECK:         memref.load [[A]]{{\[}}[[C]],
// CHECK:         arith.cmpi slt, {{%.*}}, %c7{{(_[0-9]+)?}} : index

// ARRAYS-LABEL: func.func @deep(
// ARRAYS:         memref.alloca() : memref<4x3x3x64xf32, 3>
// ARRAYS-NOT:     gpu.barrier
#own = #warp.layout<origin = [0, 0], lanes = [32, 2], warps = [4, 2], columns = [0, 2], rows = [0, 2]>
#deep = #warp.layout<origin = [0, 0], lanes = [32, 2], warps = [4, 2], columns = [0, 2], rows = [0, 2], depth = [[1, 4]]>
#tall = #warp.layout<origin = [0, 0], lanes = [32, 2], warps = [4, 2], columns = [0, 2], rows = [0, 3], depth = [[1, 4]]>
func.func @deep(%in: memref<4x?x?xf32>, %out: memref<?x?xf32>, %i: index, %border: i1) {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %a = warp.load %in[%zero, %i, %i] : memref<4x?x?xf32> -> !warp.tile<f32, #deep>
  %b = warp.neighbours %a : !warp.tile<f32, #deep> -> !warp.tile<f32, #tall>
  %c = warp.map {
  ^bb0(%x: index, %y: index):
    %v = warp.at %b[0, 1](%two) : !warp.tile<f32, #tall>
    warp.yield %v : f32
  } : !warp.tile<f32, #own>
  warp.store %c to %out[%i, %i] within [0, 64, 0, 7] border %border : !warp.tile<f32, #own>, memref<?x?xf32>
  func.return
}
