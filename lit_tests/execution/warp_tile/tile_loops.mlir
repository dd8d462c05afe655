// Loops that carry tiles become loops around phases; the tiles stay in their arrays where they can.

// RUN: pipeline-opt %s -p lower-warp-tiles | filecheck %s --check-prefixes=BOTH,WARPS
// RUN: pipeline-opt %s -p 'lower-warp-tiles{warps=false}' | filecheck %s --check-prefixes=BOTH,ARRAYS
// RUN: pipeline-opt %s -p lower-warp-tiles --print-op-generic | mlir-opt -o /dev/null
// RUN: pipeline-opt %s -p lower-warp-tiles -t cuda | filecheck %s --check-prefix=CUDA
// RUN: pipeline-opt %s -p 'lower-warp-tiles{warps=false}' -t c | filecheck %s --check-prefix=C

#own = #warp.layout<origin = [-4, -2], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>
#rows = #warp.layout<origin = [-4, -2], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 3]>

// One round of exchange in an iteration: the buffers take turns from one iteration to the next, and behind the loop
// it is the second one's turn after three. The argument is read before the barrier and computed anew after it, so it
// needs one array and no copy.

// BOTH-LABEL:  func.func @steps(
// WARPS-NEXT:    %w_t = memref.alloca() : memref<2x4xf32, 5 : i64>
// WARPS-NEXT:    %w_s = memref.alloca() : memref<4x4xf32, 5 : i64>
// WARPS-NEXT:    %w_v = memref.alloca() : memref<4x4xf32, 5 : i64>
// WARPS-NEXT:    %w_z = memref.alloca() : memref<2x4xf32, 5 : i64>
// WARPS-NEXT:    %exchange = memref.alloca() : memref<8192xi8, 3 : i64>
// WARPS:         scf.for %k = %{{[0-9]+}} to %{{[0-9]+}} step %{{[0-9]+}} {
// WARPS-NEXT:      %[[ODD:[0-9]+]] = arith.andi %k, %{{[0-9]+}} : index
// WARPS:           %[[AT:[0-9]+]] = arith.muli %[[ODD]], %{{[0-9]+}} : index
// WARPS-NEXT:      %x_s = memref.view %exchange[%[[AT]]][]
// WARPS:           vector.store %{{[0-9]+}}, %x_s[
// WARPS:           gpu.barrier
// WARPS-NOT:       gpu.barrier
// WARPS:           vector.load %x_s[
// WARPS:           memref.store %{{.*}}, %w_t[
// WARPS:         } {kernel.unroll = 1 : i64}
// WARPS:         %[[SECOND:[0-9]+]] = arith.constant 4096 : index
// WARPS-NEXT:    %x_v = memref.view %exchange[%[[SECOND]]][]
// WARPS:         gpu.barrier
// WARPS-NOT:     gpu.barrier
// WARPS:         func.return

// ARRAYS-NEXT:   %w_t = memref.alloca() : memref<4x2x128xf32, 3 : i64>
// ARRAYS-NEXT:   %w_s = memref.alloca() : memref<4x4x128xf32, 3 : i64>
// ARRAYS:        scf.for %k =
// ARRAYS-NOT:    gpu.

// CUDA-LABEL:  void steps_fn(
// CUDA:          #pragma unroll 1
// CUDA-NEXT:     for (idx k_ = 0; k_ < 3; ++k_) {
// CUDA-NEXT:       float (*x_s_)[2][128] = (float (*)[2][128])(exchange_ + (k_ & 1) * 4096);
// CUDA:            __syncthreads();
// CUDA:            w_t_[t_][v_2_] = w_s_[t_][v_2_] + w_s_[t_ + 2][v_2_];
// CUDA:          float (*x_v_)[2][128] = (float (*)[2][128])(exchange_ + 4096);

// C-LABEL:     void steps_fn(
// C:             for (idx k_ = 0; k_ < 3; ++k_) {
func.func @steps(%in: memref<?x?xf32>, %out: memref<?x?xf32>, %i: index, %j: index, %border: i1)
    attributes {kernel.inline} {
  %a = warp.load %in[%j, %i] : memref<?x?xf32> -> !warp.tile<f32, #own>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%t = %a) -> (!warp.tile<f32, #own>) {
    %s = warp.map {
    ^bb0(%x: index, %y: index):
      %p = warp.at %t[0, 0] : !warp.tile<f32, #own>
      %q = arith.mulf %p, %p : f32
      warp.yield %q : f32
    } : !warp.tile<f32, #own>
    %s1 = warp.neighbours %s : !warp.tile<f32, #own> -> !warp.tile<f32, #rows>
    %u = warp.map {
    ^bb0(%x: index, %y: index):
      %p = warp.at %s1[0, -1] : !warp.tile<f32, #rows>
      %q = warp.at %s1[0, 1] : !warp.tile<f32, #rows>
      %o = arith.addf %p, %q : f32
      warp.yield %o : f32
    } : !warp.tile<f32, #own>
    scf.yield %u : !warp.tile<f32, #own>
  }
  %v = warp.map {
  ^bb0(%x: index, %y: index):
    %p = warp.at %r[0, 0] : !warp.tile<f32, #own>
    %q = arith.negf %p : f32
    warp.yield %q : f32
  } : !warp.tile<f32, #own>
  %v1 = warp.neighbours %v : !warp.tile<f32, #own> -> !warp.tile<f32, #rows>
  %z = warp.map {
  ^bb0(%x: index, %y: index):
    %p = warp.at %v1[0, -1] : !warp.tile<f32, #rows>
    warp.yield %p : f32
  } : !warp.tile<f32, #own>
  warp.store %z to %out[%j, %i] within [0, 120, 0, 4] border %border : !warp.tile<f32, #own>, memref<?x?xf32>
  func.return
}

// Two tiles that change places: the argument is read where its next value is computed, so values are copied, and
// those that are still needed first.

// BOTH-LABEL:  func.func @wave(
// WARPS-NEXT:    %[[NOW:w_now[_0-9]*]] = memref.alloca() : memref<2x4xf32, 5 : i64>
// WARPS-NEXT:    %[[OLD:w_old[_0-9]*]] = memref.alloca() : memref<2x4xf32, 5 : i64>
// WARPS-NEXT:    %[[NEW:w_new[_0-9]*]] = memref.alloca() : memref<2x4xf32, 5 : i64>
// WARPS-NOT:     memref.alloca
// WARPS:         scf.for %k
// WARPS:           memref.store %s, %[[NEW]][
// WARPS:           %[[A:[0-9]+]] = memref.load %[[NOW]][
// WARPS-NEXT:      memref.store %[[A]], %[[OLD]][
// WARPS:           %[[B:[0-9]+]] = memref.load %[[NEW]][
// WARPS-NEXT:      memref.store %[[B]], %[[NOW]][
// WARPS:         } {kernel.unroll = 1 : i64}
func.func @wave(%in: memref<?x?xf32>, %out: memref<?x?xf32>, %i: index, %j: index, %border: i1)
    attributes {kernel.inline} {
  %a = warp.load %in[%j, %i] : memref<?x?xf32> -> !warp.tile<f32, #own>
  %b = warp.load %in[%j, %j] : memref<?x?xf32> -> !warp.tile<f32, #own>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e, %d = scf.for %k = %c0 to %c3 step %c1 iter_args(%now = %b, %old = %a) -> (!warp.tile<f32, #own>, !warp.tile<f32, #own>) {
    %new = warp.map {
    ^bb0(%x: index, %y: index):
      %p = warp.at %now[0, 0] : !warp.tile<f32, #own>
      %q = warp.at %old[0, 0] : !warp.tile<f32, #own>
      %s = arith.subf %p, %q : f32
      warp.yield %s : f32
    } : !warp.tile<f32, #own>
    scf.yield %new, %now : !warp.tile<f32, #own>, !warp.tile<f32, #own>
  }
  warp.store %e to %out[%j, %i] within [0, 120, 0, 4] border %border : !warp.tile<f32, #own>, memref<?x?xf32>
  warp.store %d to %out[%j, %j] within [0, 120, 0, 4] border %border : !warp.tile<f32, #own>, memref<?x?xf32>
  func.return
}
