// Pairs of columns 2 apart, and 1: each word of bytes gives two of them, and what begins between is put together, of the next
// lane's at a row's ends.

// RUN: pipeline-opt %s -p lower-warp-tiles --split-input-file -t cuda | filecheck %s

#own = #warp.layout<origin = [-8, 0], lanes = [32, 8], warps = [4, 1], columns = [0, 8], rows = [0, 1], packed = 2, pair_stride = 2>
#beside = #warp.layout<origin = [-8, 0], lanes = [32, 8], warps = [4, 1], columns = [-1, 9], rows = [0, 1], packed = 2, pair_stride = 2>

// CHECK:      __launch_bounds__(128) sum_fn(
// CHECK:        unsigned int w_a_[1][8];
// CHECK-NEXT:   unsigned int w_c_[1][6];
// CHECK:        const uint2 v_ = load_u8x8(&in_[(0 + warp_) * in_s0_ + 0 + (lane_ * 8 - 8)]);
// CHECK-NEXT:   const unsigned int v_1_ = v_.x;
// CHECK-NEXT:   const unsigned int v_2_ = v_.y;
// CHECK-NEXT:   w_a_[0][1] = v_1_ & 0xff00ffu;
// CHECK-NEXT:   w_a_[0][2] = __byte_perm(v_1_, 0u, 0x4341u);
// CHECK-NEXT:   w_a_[0][5] = v_2_ & 0xff00ffu;
// CHECK-NEXT:   w_a_[0][6] = __byte_perm(v_2_, 0u, 0x4341u);
// Columns -1 and 1: the left lane's 7 (its last pair is 5 and 7), and this one's 1 of (1, 3).
// CHECK:        const unsigned int v_ = w_a_[0][6];
// CHECK-NEXT:   const unsigned int v_1_ = __shfl_up_sync(0xffffffffu, v_, 1, 32);
// CHECK-NEXT:   const unsigned int v_2_ = w_a_[0][2];
// CHECK-NEXT:   w_a_[0][0] = __byte_perm(v_1_, v_2_, 0x5432);
// Columns 2 and 4, of (0, 2) and (4, 6).
// CHECK-NEXT:   const unsigned int v_3_ = w_a_[0][1];
// CHECK-NEXT:   const unsigned int v_4_ = w_a_[0][5];
// CHECK-NEXT:   w_a_[0][3] = __byte_perm(v_3_, v_4_, 0x5432);
// CHECK:        w_a_[0][7] = __byte_perm(
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (idx u_ = 0; u_ < 2; ++u_) {
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (idx v_{{[0-9]+}}_ = 0; v_{{[0-9]+}}_ < 2; ++v_{{[0-9]+}}_) {
func.func @sum(%in: memref<?x?xi8, strided<[?, 1]>>, %out: memref<?x?xi8, strided<[?, 1]>>, %border: i1, %aligned: i1)
    attributes {kernel.threads = array<i64: 32, 4, 1>} {
  %i = arith.constant 0 : index
  %yes = arith.constant true
  %a = warp.load %in[%i, %i] aligned %yes : memref<?x?xi8, strided<[?, 1]>> -> !warp.tile<i8, #own>
  %b = warp.neighbours %a : !warp.tile<i8, #own> -> !warp.tile<i8, #beside>
  %c = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %b[-1, 0] : !warp.tile<i8, #beside>
    %lw = arith.extui %l : i8 to i16
    %r = warp.at %b[1, 0] : !warp.tile<i8, #beside>
    %rw = arith.extui %r : i8 to i16
    %sum = arith.ori %lw, %rw : i16
    %narrow = arith.trunci %sum : i16 to i8
    warp.yield %narrow : i8
  } : !warp.tile<i8, #own>
  warp.store %c to %out[%i, %i] within [0, 240, 0, 4] aligned %aligned border %border vectors_uniform %aligned : !warp.tile<i8, #own>, memref<?x?xi8, strided<[?, 1]>>
  func.return
}

// -----

// Widened twice, first to the left: the pair that begins at column 2 is put together with what the right needs.

#own = #warp.layout<origin = [-8, 0], lanes = [32, 8], warps = [4, 1], columns = [0, 8], rows = [0, 1], packed = 2, pair_stride = 2>
#left = #warp.layout<origin = [-8, 0], lanes = [32, 8], warps = [4, 1], columns = [-1, 8], rows = [0, 1], packed = 2, pair_stride = 2>
#both = #warp.layout<origin = [-8, 0], lanes = [32, 8], warps = [4, 1], columns = [-1, 9], rows = [0, 1], packed = 2, pair_stride = 2>

// CHECK:      __launch_bounds__(128) twice_fn(
// CHECK:        w_a_[0][0] = __byte_perm(
// CHECK:        w_a_[0][4] = __byte_perm(
// CHECK:        w_a_[0][3] = __byte_perm(
// CHECK:        w_a_[0][7] = __byte_perm(
// CHECK-NOT:    __byte_perm(
// CHECK:        #pragma unroll
func.func @twice(%in: memref<?x?xi8, strided<[?, 1]>>, %out: memref<?x?xi8, strided<[?, 1]>>, %border: i1, %aligned: i1)
    attributes {kernel.threads = array<i64: 32, 4, 1>} {
  %i = arith.constant 0 : index
  %a = warp.load %in[%i, %i] aligned %aligned : memref<?x?xi8, strided<[?, 1]>> -> !warp.tile<i8, #own>
  %l = warp.neighbours %a : !warp.tile<i8, #own> -> !warp.tile<i8, #left>
  %b = warp.neighbours %l : !warp.tile<i8, #left> -> !warp.tile<i8, #both>
  %c = warp.map {
  ^bb0(%x: index, %y: index):
    %p = warp.at %b[-1, 0] : !warp.tile<i8, #both>
    %pw = arith.extui %p : i8 to i16
    %q = warp.at %b[1, 0] : !warp.tile<i8, #both>
    %qw = arith.extui %q : i8 to i16
    %sum = arith.ori %pw, %qw : i16
    %narrow = arith.trunci %sum : i16 to i8
    warp.yield %narrow : i8
  } : !warp.tile<i8, #own>
  warp.store %c to %out[%i, %i] within [0, 240, 0, 4] aligned %aligned border %border vectors_uniform %aligned : !warp.tile<i8, #own>, memref<?x?xi8, strided<[?, 1]>>
  func.return
}

// -----

// Neighbours share a register, as in a word of memory: of each lane beside one register holds two columns.

#own = #warp.layout<origin = [-8, 0], lanes = [32, 8], warps = [4, 1], columns = [0, 8], rows = [0, 1], packed = 2, pair_stride = 1>
#beside = #warp.layout<origin = [-8, 0], lanes = [32, 8], warps = [4, 1], columns = [-2, 10], rows = [0, 1], packed = 2, pair_stride = 1>

// CHECK:      __launch_bounds__(128) next_to_fn(
// CHECK:        unsigned int w_a_[1][11];
// CHECK-NEXT:   unsigned int w_c_[1][7];
// CHECK:        const uint2 v_ = load_u8x8(&in_[(0 + warp_) * in_s0_ + 0 + (lane_ * 8 - 8)]);
// CHECK-NEXT:   const uint2 v_1_ = splat_u8x8(0);
// CHECK-NEXT:   w_a_[0][2] = __byte_perm(v_.x, v_1_.x, 0x5140);
// CHECK-NEXT:   w_a_[0][4] = __byte_perm(v_.x, v_1_.x, 0x5342);
// CHECK-NEXT:   w_a_[0][6] = __byte_perm(v_.y, v_1_.x, 0x5140);
// CHECK-NEXT:   w_a_[0][8] = __byte_perm(v_.y, v_1_.x, 0x5342);
// Columns -2 and -1 are the left lane's, and -1 and 0 of these and 0 and 1.
// CHECK:        const unsigned int v_ = w_a_[0][8];
// CHECK-NEXT:   const unsigned int v_1_ = __shfl_up_sync(0xffffffffu, v_, 1, 32);
// CHECK-NEXT:   w_a_[0][0] = v_1_;
// CHECK-NEXT:   const unsigned int v_2_ = w_a_[0][2];
// CHECK-NEXT:   w_a_[0][1] = __byte_perm(v_1_, v_2_, 0x5432);
// CHECK:        w_a_[0][7] = __byte_perm(v_4_, v_, 0x5432);
// CHECK-NEXT:   const unsigned int v_5_ = __shfl_down_sync(0xffffffffu, v_2_, 1, 32);
// CHECK-NEXT:   w_a_[0][9] = __byte_perm(v_, v_5_, 0x5432);
// CHECK-NEXT:   w_a_[0][10] = v_5_;
// CHECK-NOT:    __shfl
// CHECK:        __byte_perm(v_{{[0-9]+}}_, v_{{[0-9]+}}_, 0x6420)
func.func @next_to(%in: memref<?x?xi8, strided<[?, 1]>>, %out: memref<?x?xi8, strided<[?, 1]>>, %border: i1, %aligned: i1)
    attributes {kernel.threads = array<i64: 32, 4, 1>} {
  %i = arith.constant 0 : index
  %yes = arith.constant true
  %a = warp.load %in[%i, %i] aligned %yes : memref<?x?xi8, strided<[?, 1]>> -> !warp.tile<i8, #own>
  %b = warp.neighbours %a : !warp.tile<i8, #own> -> !warp.tile<i8, #beside>
  %c = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %b[-2, 0] : !warp.tile<i8, #beside>
    %lw = arith.extui %l : i8 to i16
    %r = warp.at %b[2, 0] : !warp.tile<i8, #beside>
    %rw = arith.extui %r : i8 to i16
    %sum = arith.ori %lw, %rw : i16
    %narrow = arith.trunci %sum : i16 to i8
    warp.yield %narrow : i8
  } : !warp.tile<i8, #own>
  warp.store %c to %out[%i, %i] within [0, 240, 0, 4] aligned %aligned border %border vectors_uniform %aligned : !warp.tile<i8, #own>, memref<?x?xi8, strided<[?, 1]>>
  func.return
}
