// Rows of bytes that do not start where vectors do: they are loaded in words, out of which they are cut; what is stored
// moves over the lanes.

// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=8 rows=2},promote-memory,lower-groups,pack-subwords,lower-warp-tiles' -t cuda | filecheck %s
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=8 rows=2},promote-memory,lower-groups' | filecheck %s --check-prefix=TILES

// Stores are of words, so three columns left of the tile are whole too.

// TILES: warp.load %in[{{.*}}] pieces partial right border %border whole %whole sides %sides rows {
// TILES: lanes = [32, 8]
// TILES: warp.store %out{{.*}} within [-3, 240, 0, 8] border %border sides %sides from %

// CHECK-LABEL: void smooth_out_tile(
// CHECK:       if (border) {
// CHECK-NEXT:    if (whole) {

// In tiles at the sides, whose rows are neither moved nor the buffer's first or last, words are loaded as in the interior.
// Lanes behind the picture are read a word further right than the one beside it, which needs their last word, and have its
// last element in the first.

// CHECK-NEXT:      if (sides) {
// CHECK:             unsigned int pieces[2][2];
// CHECK:               const idx [[COLUMN:i_[0-9]+]] = max_idx(min_idx({{.*}}, in_n1 - 8), 0);
// CHECK:               const idx [[FIRST:i_[0-9]+]] = [[COLUMN]] + ({{.*}} > [[COLUMN]] ? 4 : 0) - ({{.*}} & 3);
// CHECK:               pieces[r][0] = load_u8x4(&in[{{.*}} + [[FIRST]]]);
// CHECK-NEXT:          pieces[r][1] = load_u8x4(&in[{{.*}} + [[FIRST]] + 4]);
// CHECK:               const bool [[BEHIND:test(_[0-9]+)?]] = {{.*}} > max_idx(
// CHECK-NEXT:          __shfl_down_sync(0xffffffffu, [[BEHIND]] ? {{v_[0-9]+}} : {{v_[0-9]+}}, 1, 32);
// CHECK:             if ({{.*}} < 0) {
// CHECK:               rows[r] = make_uint2(__byte_perm(v.x, 0, 0x0000), __byte_perm(v.x, 0, 0x0000));
// CHECK:             if ({{.*}} >= in_n1) {
// CHECK:               rows[r] = make_uint2(__byte_perm(v.x, 0, 0x3333), __byte_perm(v.x, 0, 0x3333));
// CHECK:           } else {

// In border tiles words are loaded too, where each lane's columns lie inside or outside of the buffer together; lanes
// outside take the element of the edge. Words that end behind the buffer are not loaded.

// CHECK:           unsigned int pieces[2][3];
// CHECK:             const bool [[INSIDE:test(_[0-9]+)?]] = [[ROW:i_[0-9]+]] * in_s0 + [[FIRST:i_[0-9]+]] + 11 <= (in_n0 - 1) * in_s0 + (in_n1 - 1);
// CHECK-NEXT:        pieces[r][0] = load_u8x4(&in[[[ROW]] * in_s0 + [[FIRST]]]);
// CHECK-NEXT:        pieces[r][1] = load_u8x4(&in[[[ROW]] * in_s0 + [[FIRST]] + 4]);
// CHECK-NEXT:        pieces[r][2] = splat_u8x4(0);
// CHECK-NEXT:        if ([[INSIDE]]) {
// CHECK-NEXT:          pieces[r][2] = load_u8x4(&in[[[ROW]] * in_s0 + [[FIRST]] + 8]);

// If the buffer ends in the midst of a word, lanes at the end of the last row put this together of single elements.

// CHECK:           const idx [[BOTTOM:i_[0-9]+]] = in_n0 - 1;
// CHECK-NEXT:      const idx [[RIGHT:i_[0-9]+]] = in_n1 - 1;
// CHECK:           const idx [[BEHIND:i_[0-9]+]] = {{.*}} + 11;
// CHECK:           if (({{.*}} & 3) != 0 && {{.*}} > in_n0 - 2 && [[BEHIND]] > [[RIGHT]]) {
// CHECK:             unsigned int end[4];
// CHECK:             if (2 < [[COUNT:i_[0-9]+]]) {
// CHECK-NEXT:          end[2] = in[[[BOTTOM]] * in_s0 + [[RIGHT]] - [[COUNT]] + 3];
// CHECK-NEXT:        }
// CHECK-NEXT:        #pragma unroll
// CHECK:               const bool [[HERE:test(_[0-9]+)?]] = {{.*}} + 11 <= [[BOTTOM]] * in_s0 + [[RIGHT]];
// CHECK:               pieces[r][2] = [[HERE]] ? {{v(_[0-9]+)?}} : {{v(_[0-9]+)?}};
// CHECK-NOT:       __shfl
// CHECK:           if ({{.*}} < 0) {
// CHECK:             rows[r] = make_uint2(__byte_perm(v.x, 0, 0x0000), __byte_perm(v.x, 0, 0x0000));

// Elsewhere the last word that a lane needs is the first one of the next lane.

// CHECK:         } else {
// CHECK:         unsigned int pieces[2][2];
// CHECK:           pieces[r][0] = load_u8x4(&in[[[ROW:.*]]]);
// CHECK-NEXT:      pieces[r][1] = load_u8x4(&in[[[ROW]] + 4]);

// Rows four apart lie the same: what they are cut and moved by is computed for four of them.

// CHECK:           const idx [[LIKE:i_[0-9]+]] = {{.*}} + (r & 3))) * in_s0;
// CHECK-NEXT:      const unsigned int [[NEXT:v_[0-9]+]] = __shfl_down_sync(
// CHECK-NEXT:      const unsigned int [[BITS:v_[0-9]+]] = (unsigned int)([[LIKE]] + {{.*}}) << 3;
// CHECK:           __funnelshift_r({{.*}}, [[NEXT]], [[BITS]])
// CHECK:         __shfl_up_sync(
// CHECK:         __funnelshift_l(

// At the sides all rows are stored, words under a mask. The word that a row begins, or ends, in is the first one of one
// lane.

// CHECK:           const idx [[OWN:i_[0-9]+]] = max_idx({{.*}}, 0);
// CHECK:         if (sides) {
// CHECK-NEXT:        store_if_u8x4({{.*}} >= [[OWN]], &out_out[
// CHECK-NEXT:        store_if_u8x4({{.*}} >= [[OWN]] - 4, &out_out[
// CHECK:           const bool [[BEGINS:test(_[0-9]+)?]] = {{.*}} == 0;
// CHECK:           const unsigned int [[WORD:v_[0-9]+]] = __shfl_sync(0xffffffffu, {{v_[0-9]+}}, [[BEGINS]] ? 1 : 31, 32);
// CHECK:           __funnelshift_r([[WORD]], [[WORD]], (unsigned int)lane << 3);
// CHECK:           = ([[BEGINS]] ? 0 : {{.*}} ? out_out_n1 : -4) - {{.*}} + lane;
// CHECK:           = lane < 4 && {{.*}} != 0 &&

// Beside the picture's sides words are stored that lie in the row; what is left of it is stored by as many lanes, which
// take it from the lane that has it.

// CHECK:             if ((uidx)({{.*}} - [[OWN]]) < (uidx){{.*}}) {
// CHECK-NEXT:          store_u8x4(&out_out[
// CHECK:           const idx [[NUMBER:i_[0-9]+]] = lane & 3;
// CHECK:           = lane < 4 ? {{.*}} <= 0 ? 0 : -4 : lane < 8 ? {{.*}} ? out_out_n1 : -4 : -4;
// CHECK:           __shfl_sync(
// CHECK:           const unsigned char [[ELEMENT:v_[0-9]+]] = __funnelshift_r({{.*}}, (unsigned int)[[NUMBER]] << 3);
// CHECK:           out_out[{{.*}}] = [[ELEMENT]];

// The last tile of a row begins where all of it lies in the picture. No column has two writers.

// CHECK-LABEL: __launch_bounds__(128) smooth_out(
// CHECK:         const idx x0 = out_out_min_x + bx * 240;
// CHECK:         smooth_out_tile({{.*}}, x0, y0, false, false, false);
// CHECK:         const idx [[MOVED:i_[0-9]+]] = min_idx(x0, max_idx({{.*}} - 240, out_out_min_x));
// CHECK:         smooth_out_tile({{.*}}, apart([[MOVED]], 1), y0, true, true, true);
// CHECK:         smooth_out_tile({{.*}}, apart([[MOVED]], 2), y0, true, true, false);
img.pipeline @smooth {
  %in = img.input "in" {img.align = 1 : i64} : !img.func<2xui8>
  %edge = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xui8>
  %g = img.group "out" attributes {even} {
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
