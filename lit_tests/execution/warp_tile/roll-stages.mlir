// Operations on tiles that repeat become a loop that carries tiles; others are left as they are.

// RUN: pipeline-opt %s -p 'roll-stages{min_instructions=0 unroll=1}' --split-input-file | filecheck %s
// RUN: pipeline-opt %s -p 'roll-stages{min_instructions=0 unroll=1}' --split-input-file | pipeline-opt --split-input-file | filecheck %s
// RUN: pipeline-opt %s -p 'roll-stages{min_instructions=0}' --split-input-file | filecheck %s --check-prefix=TWO
// RUN: pipeline-opt %s -p roll-stages --split-input-file | filecheck %s --check-prefix=SHORT
// RUN: pipeline-opt %s -p 'roll-stages{min_instructions=0 min_repetitions=6}' --split-input-file | filecheck %s --check-prefix=SHORT

#own = #warp.layout<origin = [-4, -2], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>
#beside = #warp.layout<origin = [-4, -2], lanes = [32, 4], warps = [4, 2], columns = [-1, 5], rows = [-1, 3]>

// SHORT-NOT: scf.for

// Five times the same pair: each reads what the one before made, and %a, which is the same for all.

// CHECK-LABEL: func.func @steps(
// CHECK-NEXT:    %a = warp.load
// CHECK-NEXT:    %0 = arith.constant 0 : index
// CHECK-NEXT:    %1 = arith.constant 5 : index
// CHECK-NEXT:    %2 = arith.constant 1 : index
// CHECK-NEXT:    %t5 = scf.for %k = %0 to %1 step %2 iter_args(%t2 = %a) -> (!warp.tile<f32, {{.*}}rows = [0, 2]>>) {
// CHECK-NEXT:      %w1 = warp.neighbours %t2 :
// CHECK-NEXT:      %t2_1 = warp.map {
// CHECK-NEXT:      ^bb0(%x: index, %y: index):
// CHECK-NEXT:        %l = warp.at %w1[-1, 0]
// CHECK-NEXT:        %m = warp.at %a[0, 0]
// CHECK-NEXT:        %s = arith.addf %l, %m : f32
// CHECK-NEXT:        warp.yield %s : f32
// CHECK-NEXT:      } : !warp.tile
// CHECK-NEXT:      scf.yield %t2_1 :
// CHECK-NEXT:    }
// CHECK-NEXT:    warp.store %t5 to

// With two in one iteration there is one left over.

// TWO-LABEL:   func.func @steps(
// TWO:           %[[N:[0-9]+]] = arith.constant 2 : index
// TWO:           %[[T:t[0-9]]] = scf.for %k = %{{[0-9]+}} to %[[N]] step %{{[0-9]+}} iter_args(
// TWO-COUNT-2:     warp.neighbours
// TWO:             scf.yield
// TWO:           %w4 = warp.neighbours %[[T]] :
// TWO:           %t5 = warp.map {
// TWO:           warp.store %t5 to
func.func @steps(%in: memref<?x?xf32>, %out: memref<?x?xf32>, %i: index, %j: index, %border: i1) {
  %a = warp.load %in[%j, %i] : memref<?x?xf32> -> !warp.tile<f32, #own>
  %w0 = warp.neighbours %a : !warp.tile<f32, #own> -> !warp.tile<f32, #beside>
  %t1 = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %w0[-1, 0] : !warp.tile<f32, #beside>
    %m = warp.at %a[0, 0] : !warp.tile<f32, #own>
    %s = arith.addf %l, %m : f32
    warp.yield %s : f32
  } : !warp.tile<f32, #own>
  %w1 = warp.neighbours %t1 : !warp.tile<f32, #own> -> !warp.tile<f32, #beside>
  %t2 = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %w1[-1, 0] : !warp.tile<f32, #beside>
    %m = warp.at %a[0, 0] : !warp.tile<f32, #own>
    %s = arith.addf %l, %m : f32
    warp.yield %s : f32
  } : !warp.tile<f32, #own>
  %w2 = warp.neighbours %t2 : !warp.tile<f32, #own> -> !warp.tile<f32, #beside>
  %t3 = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %w2[-1, 0] : !warp.tile<f32, #beside>
    %m = warp.at %a[0, 0] : !warp.tile<f32, #own>
    %s = arith.addf %l, %m : f32
    warp.yield %s : f32
  } : !warp.tile<f32, #own>
  %w3 = warp.neighbours %t3 : !warp.tile<f32, #own> -> !warp.tile<f32, #beside>
  %t4 = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %w3[-1, 0] : !warp.tile<f32, #beside>
    %m = warp.at %a[0, 0] : !warp.tile<f32, #own>
    %s = arith.addf %l, %m : f32
    warp.yield %s : f32
  } : !warp.tile<f32, #own>
  %w4 = warp.neighbours %t4 : !warp.tile<f32, #own> -> !warp.tile<f32, #beside>
  %t5 = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %w4[-1, 0] : !warp.tile<f32, #beside>
    %m = warp.at %a[0, 0] : !warp.tile<f32, #own>
    %s = arith.addf %l, %m : f32
    warp.yield %s : f32
  } : !warp.tile<f32, #own>
  warp.store %t5 to %out[%j, %i] within [0, 120, 0, 4] border %border : !warp.tile<f32, #own>, memref<?x?xf32>
  func.return
}

// -----

#own = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>

// A recurrence over two steps carries two tiles; both are read after the loop.

// CHECK-LABEL: func.func @wave(
// CHECK:         %e, %d = scf.for %k = %{{[0-9]+}} to %{{[0-9]+}} step %{{[0-9]+}} iter_args(%[[B:d_[0-9]+]] = %b, %[[A:d_[0-9]+]] = %a) ->
// CHECK-NEXT:      %[[C:d_[0-9]+]] = warp.map {
// CHECK-NEXT:      ^bb0(
// CHECK-NEXT:        %p = warp.at %[[B]][0, 0]
// CHECK-NEXT:        %q = warp.at %[[A]][0, 0]
// CHECK:           scf.yield %[[C]], %[[B]] :
// CHECK-NEXT:    }
// CHECK-NEXT:    warp.store %d to
// CHECK-NEXT:    warp.store %e to
func.func @wave(%in: memref<?x?xf32>, %out: memref<?x?xf32>, %i: index, %j: index, %border: i1) {
  %a = warp.load %in[%j, %i] : memref<?x?xf32> -> !warp.tile<f32, #own>
  %b = warp.load %in[%j, %j] : memref<?x?xf32> -> !warp.tile<f32, #own>
  %c = warp.map {
  ^bb0(%x: index, %y: index):
    %p = warp.at %b[0, 0] : !warp.tile<f32, #own>
    %q = warp.at %a[0, 0] : !warp.tile<f32, #own>
    %s = arith.subf %p, %q : f32
    warp.yield %s : f32
  } : !warp.tile<f32, #own>
  %d = warp.map {
  ^bb0(%x: index, %y: index):
    %p = warp.at %c[0, 0] : !warp.tile<f32, #own>
    %q = warp.at %b[0, 0] : !warp.tile<f32, #own>
    %s = arith.subf %p, %q : f32
    warp.yield %s : f32
  } : !warp.tile<f32, #own>
  %e = warp.map {
  ^bb0(%x: index, %y: index):
    %p = warp.at %d[0, 0] : !warp.tile<f32, #own>
    %q = warp.at %c[0, 0] : !warp.tile<f32, #own>
    %s = arith.subf %p, %q : f32
    warp.yield %s : f32
  } : !warp.tile<f32, #own>
  warp.store %d to %out[%j, %i] within [0, 128, 0, 8] border %border : !warp.tile<f32, #own>, memref<?x?xf32>
  warp.store %e to %out[%j, %j] within [0, 128, 0, 8] border %border : !warp.tile<f32, #own>, memref<?x?xf32>
  func.return
}

// -----

#own = #warp.layout<origin = [0, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>

// Not a loop: the third differs in a constant; what the first made is read at the end.

// CHECK-LABEL: func.func @others(
// CHECK-NOT:     scf.for
func.func @others(%in: memref<?x?xf32>, %out: memref<?x?xf32>, %i: index, %j: index, %border: i1) {
  %a = warp.load %in[%j, %i] : memref<?x?xf32> -> !warp.tile<f32, #own>
  %b = warp.map {
  ^bb0(%x: index, %y: index):
    %p = warp.at %a[0, 0] : !warp.tile<f32, #own>
    %c = arith.constant 2.0 : f32
    %s = arith.mulf %p, %c : f32
    warp.yield %s : f32
  } : !warp.tile<f32, #own>
  %d = warp.map {
  ^bb0(%x: index, %y: index):
    %p = warp.at %b[0, 0] : !warp.tile<f32, #own>
    %c = arith.constant 2.0 : f32
    %s = arith.mulf %p, %c : f32
    warp.yield %s : f32
  } : !warp.tile<f32, #own>
  %e = warp.map {
  ^bb0(%x: index, %y: index):
    %p = warp.at %d[0, 0] : !warp.tile<f32, #own>
    %c = arith.constant 3.0 : f32
    %s = arith.mulf %p, %c : f32
    warp.yield %s : f32
  } : !warp.tile<f32, #own>
  %f = warp.map {
  ^bb0(%x: index, %y: index):
    %p = warp.at %e[0, 0] : !warp.tile<f32, #own>
    %s = arith.negf %p : f32
    warp.yield %s : f32
  } : !warp.tile<f32, #own>
  %g = warp.map {
  ^bb0(%x: index, %y: index):
    %p = warp.at %f[0, 0] : !warp.tile<f32, #own>
    %s = arith.negf %p : f32
    warp.yield %s : f32
  } : !warp.tile<f32, #own>
  %h = warp.map {
  ^bb0(%x: index, %y: index):
    %p = warp.at %g[0, 0] : !warp.tile<f32, #own>
    %s = arith.negf %p : f32
    warp.yield %s : f32
  } : !warp.tile<f32, #own>
  warp.store %f to %out[%j, %i] within [0, 128, 0, 8] border %border : !warp.tile<f32, #own>, memref<?x?xf32>
  warp.store %h to %out[%j, %j] within [0, 128, 0, 8] border %border : !warp.tile<f32, #own>, memref<?x?xf32>
  func.return
}
