// Rows of bytes that do not start where vectors do: they are loaded in words, out of which they are cut; what is stored
// moves over the lanes.

// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=8 more="rows = 2"},promote-memory,lower-groups,pack-subwords,lower-warp-tiles' -t cuda | filecheck %s
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=8 more="rows = 2"},promote-memory,lower-groups' | filecheck %s --check-prefix=TILES

// Stores are of words, so three columns left of the tile are whole too.

// TILES: warp.load %in[{{.*}}] pieces partial right border %border vectors_uniform %vectors_uniform x_edge_only %x_edge_only rows {
// TILES: lanes = [32, 8]
// TILES: warp.store %out{{.*}} within [-3, 240, 0, 8] border %border x_edge_only %x_edge_only from %

// CHECK-LABEL: void smooth_out_tile6(
// CHECK:       if (border_) {
// CHECK-NEXT:    if (vectors_uniform_) {

// In tiles at the sides, whose rows are neither moved nor the buffer's first or last, words are loaded as in the interior.
// Lanes behind the picture are read a word further right than the one beside it, which needs their last word, and have its
// last element in the first.

// CHECK-NEXT:      if (x_edge_only_) {
// CHECK:             unsigned int pieces_[2][2];
// CHECK:               const idx [[COLUMN:i_[0-9]+_]] = max_idx(min_idx({{.*}}, in_n1_ - 8), 0);
// CHECK:               const idx [[FIRST:i_[0-9]+_]] = [[COLUMN]] + ({{.*}} > [[COLUMN]] ? 4 : 0) - ({{.*}} & 3);
// CHECK:               pieces_[r_][0] = load_u8x4(&in_[{{.*}} + [[FIRST]]]);
// CHECK-NEXT:          pieces_[r_][1] = load_u8x4(&in_[{{.*}} + [[FIRST]] + 4]);
// CHECK:               const bool [[BEHIND:test(_[0-9]+)?_]] = {{.*}} > max_idx(
// CHECK-NEXT:          __shfl_down_sync(0xffffffffu, [[BEHIND]] ? {{v_[0-9]+_}} : {{v_[0-9]+_}}, 1, 32);
// CHECK:             if ({{.*}} < 0) {
// CHECK:               rows_[r_] = make_uint2(__byte_perm(v_.x, 0, 0x0000), __byte_perm(v_.x, 0, 0x0000));
// CHECK:             if ({{.*}} >= in_n1_) {
// CHECK:               rows_[r_] = make_uint2(__byte_perm(v_.x, 0, 0x3333), __byte_perm(v_.x, 0, 0x3333));
// CHECK:           } else {

// In border tiles words are loaded too, where each lane's columns lie inside or outside of the buffer together; lanes
// outside take the element of the edge. Words that end behind the buffer are not loaded.

// CHECK:           unsigned int pieces_[2][3];
// CHECK:             const bool [[INSIDE:test(_[0-9]+)?_]] = [[ROW:i_[0-9]+_]] * in_s0_ + [[FIRST:i_[0-9]+_]] + 11 <= (in_n0_ - 1) * in_s0_ + (in_n1_ - 1);
// CHECK-NEXT:        pieces_[r_][0] = load_u8x4(&in_[[[ROW]] * in_s0_ + [[FIRST]]]);
// CHECK-NEXT:        pieces_[r_][1] = load_u8x4(&in_[[[ROW]] * in_s0_ + [[FIRST]] + 4]);
// CHECK-NEXT:        pieces_[r_][2] = splat_u8x4(0);
// CHECK-NEXT:        if ([[INSIDE]]) {
// CHECK-NEXT:          pieces_[r_][2] = load_u8x4(&in_[[[ROW]] * in_s0_ + [[FIRST]] + 8]);

// If the buffer ends in the midst of a word, lanes at the end of the last row put this together of single elements.

// CHECK:           const idx [[BOTTOM:i_[0-9]+_]] = in_n0_ - 1;
// CHECK-NEXT:      const idx [[RIGHT:i_[0-9]+_]] = in_n1_ - 1;
// CHECK:           const idx [[BEHIND:i_[0-9]+_]] = {{.*}} + 11;
// CHECK:           if (({{.*}} & 3) != 0 && {{.*}} > in_n0_ - 2 && [[BEHIND]] > [[RIGHT]]) {
// CHECK:             unsigned int end_[4];
// CHECK:             if (2 < [[COUNT:i_[0-9]+_]]) {
// CHECK-NEXT:          end_[2] = in_[[[BOTTOM]] * in_s0_ + [[RIGHT]] - [[COUNT]] + 3];
// CHECK-NEXT:        }
// CHECK-NEXT:        #pragma unroll
// CHECK:               const bool [[HERE:test(_[0-9]+)?_]] = {{.*}} + 11 <= [[BOTTOM]] * in_s0_ + [[RIGHT]];
// CHECK:               pieces_[r_][2] = [[HERE]] ? {{v(_[0-9]+)?_}} : {{v(_[0-9]+)?_}};
// CHECK-NOT:       __shfl
// CHECK:           if ({{.*}} < 0) {
// CHECK:             rows_[r_] = make_uint2(__byte_perm(v_.x, 0, 0x0000), __byte_perm(v_.x, 0, 0x0000));

// Elsewhere the last word that a lane needs is the first one of the next lane.

// CHECK:         } else {
// CHECK:         unsigned int pieces_[2][2];
// CHECK:           pieces_[r_][0] = load_u8x4(&in_[[[ROW:.*]]]);
// CHECK-NEXT:      pieces_[r_][1] = load_u8x4(&in_[[[ROW]] + 4]);

// Rows four apart lie the same: what they are cut and moved by is computed for four of them.

// CHECK:           const idx [[LIKE:i_[0-9]+_]] = {{.*}} + (r_ & 3))) * in_s0_;
// CHECK-NEXT:      const unsigned int [[NEXT:v_[0-9]+_]] = __shfl_down_sync(
// CHECK-NEXT:      const unsigned int [[BITS:v_[0-9]+_]] = (unsigned int)([[LIKE]] + {{.*}}) << 3;
// CHECK:           __funnelshift_r({{.*}}, [[NEXT]], [[BITS]])
// CHECK:         __shfl_up_sync(
// CHECK:         __funnelshift_l(

// At the sides all rows are stored, words under a mask. The word that a row begins, or ends, in is the first one of one
// lane.

// CHECK:           const idx [[OWN:i_[0-9]+_]] = max_idx({{.*}}, 0);
// CHECK:         if (x_edge_only_) {
// CHECK-NEXT:        store_if_u8x4({{.*}} >= [[OWN]], &out_out_[
// CHECK-NEXT:        store_if_u8x4({{.*}} >= [[OWN]] - 4, &out_out_[
// CHECK:           const bool [[BEGINS:test(_[0-9]+)?_]] = {{.*}} == 0;
// CHECK:           const unsigned int [[WORD:v_[0-9]+_]] = __shfl_sync(0xffffffffu, {{v_[0-9]+_}}, [[BEGINS]] ? 1 : 31, 32);
// CHECK:           __funnelshift_r([[WORD]], [[WORD]], (unsigned int)lane_ << 3);
// CHECK:           = ([[BEGINS]] ? 0 : {{.*}} ? out_out_n1_ : -4) - {{.*}} + lane_;
// CHECK:           = lane_ < 4 && {{.*}} != 0 &&

// Beside the picture's sides words are stored that lie in the row; what is left of it is stored by as many lanes, which
// take it from the lane that has it.

// CHECK:             if ((uidx)({{.*}} - [[OWN]]) < (uidx){{.*}}) {
// CHECK-NEXT:          store_u8x4(&out_out_[
// CHECK:           const idx [[NUMBER:i_[0-9]+_]] = lane_ & 3;
// CHECK:           = lane_ < 4 ? {{.*}} <= 0 ? 0 : -4 : lane_ < 8 ? {{.*}} ? out_out_n1_ : -4 : -4;
// CHECK:           __shfl_sync(
// CHECK:           const unsigned char [[ELEMENT:v_[0-9]+_]] = __funnelshift_r({{.*}}, (unsigned int)[[NUMBER]] << 3);
// CHECK:           out_out_[{{.*}}] = [[ELEMENT]];

// The last tile of a row begins where all of it lies in the picture. No column has two writers.

// CHECK-LABEL: __launch_bounds__(128) smooth_out_kernel6(
// CHECK:         const idx x0_ = out_out_min_x_ + bx_ * 240;
// CHECK:         smooth_out_tile6({{.*}}, x0_, y0_, false, false, false);
// CHECK:         const idx [[MOVED:i_[0-9]+_]] = min_idx(x0_, max_idx({{.*}} - 240, out_out_min_x_));
// CHECK:         smooth_out_tile6({{.*}}, opaque([[MOVED]], 1), y0_, true, true, true);
// CHECK:         smooth_out_tile6({{.*}}, opaque([[MOVED]], 2), y0_, true, true, false);
img.pipeline @smooth {
  %in = img.input "in" {img.align = 1 : i64} : !img.func<2xui8>
  %edge = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xui8>
  %g = img.group "out" attributes {single_wave} {
    %out = img.stage "out" (%x, %y) -> ui8 {
      %a = img.read %edge[%x - 1, %y] : !img.func<2xui8>
      %b = img.read %edge[%x + 1, %y] : !img.func<2xui8>
      %m = arith.minui %a, %b : i8
      img.yield %m : i8
    }
    img.yield %out : !img.func<2xui8>
  } : !img.func<2xui8>
  img.return "out" = %g : !img.func<2xui8> {output_aligns = array<i64: 1>}
}
