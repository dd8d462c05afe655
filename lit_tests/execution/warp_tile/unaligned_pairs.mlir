// Rows of floats that do not start where vectors do: they are loaded in pairs, and what a lane's columns lack at one side
// the lane beside it has loaded.

// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 2"},promote-memory,lower-groups' --split-input-file | filecheck %s --check-prefix=TILES
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 2"},promote-memory,lower-groups,lower-warp-tiles' --split-input-file -t cuda | filecheck %s

// One column is needed at the right, so three of the last lane's are not. In border tiles rows are
// loaded one by one: what lies beside them is of another place.

// TILES-LABEL: func.func @right_out_tile5(
// TILES:         warp.load %in[{{.*}}] pieces partial right border %border vectors_uniform %vectors_uniform rows {

// CHECK-LABEL: void right_out_tile5(
// CHECK:       if (border_) {
// CHECK-NOT:     load_f32x2(
// CHECK:       } else {
// CHECK:         float2 pieces_[2][2];
// CHECK:           const idx [[FIRST:i_[0-9]+_]] = {{.*}} - ({{.*}} & 1);
// CHECK:           pieces_[r_][0] = load_f32x2(&in_[{{.*}} + [[FIRST]]]);
// CHECK-NEXT:      pieces_[r_][1] = load_f32x2(&in_[{{.*}} + [[FIRST]] + 2]);
// CHECK:           const float [[OWN:v_[0-9]+_]] = v_.x;
// CHECK:           const float [[NEXT:v_[0-9]+_]] = __shfl_down_sync(0xffffffffu, [[OWN]], 1, 32);
// CHECK-NEXT:      const bool [[ODD:test(_[0-9]+)?_]] = ({{.*}} & 1) != 0;
// CHECK-NEXT:      {{.*}} = make_f32x4([[ODD]] ? {{v_[0-9]+_}} : [[OWN]], {{.*}}, [[ODD]] ? [[NEXT]] : {{v_[0-9]+_}});
img.pipeline @right {
  %in = img.input "in" {img.align = 4 : i64} : !img.func<2xf32>
  %edge = img.boundary mirror_image %in dims [0, 1] : !img.func<2xf32>
  %g = img.group "out" {
    %out = img.stage "out" (%x, %y) -> f32 {
      %a = img.read %edge[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %edge[%x + 1, %y] : !img.func<2xf32>
      %m = arith.addf %a, %b : f32
      img.yield %m : f32
    }
    img.yield %out : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %g : !img.func<2xf32>
}

// -----

// All columns of the last lane are needed, but the first lane has some more: there the shifted stores need three.

// TILES-LABEL: func.func @left_out_tile4(
// TILES:         warp.load %in[{{.*}}] pieces partial left border %border vectors_uniform %vectors_uniform rows {

// CHECK-LABEL: void left_out_tile4(
// CHECK:       } else {
// CHECK:         float2 pieces_[2][2];
// CHECK:           const idx [[FIRST:i_[0-9]+_]] = {{.*}} + ({{.*}} & 1);
// CHECK:           pieces_[r_][0] = load_f32x2(&in_[{{.*}} + [[FIRST]]]);
// CHECK:           const float [[LAST:v_[0-9]+_]] = v_1_.y;
// CHECK:           const float [[BEFORE:v_[0-9]+_]] = __shfl_up_sync(0xffffffffu, [[LAST]], 1, 32);
// CHECK-NEXT:      const bool [[ODD:test(_[0-9]+)?_]] = ({{.*}} & 1) != 0;
// CHECK-NEXT:      {{.*}} = make_f32x4([[ODD]] ? [[BEFORE]] : {{v_[0-9]+_}}, {{.*}});
img.pipeline @left {
  %in = img.input "in" {img.align = 4 : i64} : !img.func<2xf32>
  %edge = img.boundary mirror_image %in dims [0, 1] : !img.func<2xf32>
  %g = img.group "out" {
    %out = img.stage "out" (%x, %y) -> f32 {
      %a = img.read %edge[%x - 4, %y] : !img.func<2xf32>
      %b = img.read %edge[%x + 4, %y] : !img.func<2xf32>
      %m = arith.addf %a, %b : f32
      img.yield %m : f32
    }
    img.yield %out : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %g : !img.func<2xf32> {output_aligns = array<i64: 4>}
}

// -----

// At both sides all columns are needed: rows are loaded one by one.

// TILES-LABEL: func.func @neither_out_tile7(
// TILES:         warp.load %in[{{.*}}] border %border vectors_uniform %vectors_uniform rows {
img.pipeline @neither {
  %in = img.input "in" {img.align = 4 : i64} : !img.func<2xf32>
  %edge = img.boundary mirror_image %in dims [0, 1] : !img.func<2xf32>
  %g = img.group "out" {
    %out = img.stage "out" (%x, %y) -> f32 {
      %a = img.read %edge[%x - 4, %y] : !img.func<2xf32>
      %b = img.read %edge[%x + 4, %y] : !img.func<2xf32>
      %m = arith.addf %a, %b : f32
      img.yield %m : f32
    }
    img.yield %out : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %g : !img.func<2xf32>
}

// -----

// Nor are points loaded in pieces that are not next to each other in memory.

// TILES-LABEL: func.func @interleaved_out_tile11(
// TILES:         warp.load %in[{{.*}}] border %border vectors_uniform %vectors_uniform rows {
img.pipeline @interleaved {
  %in = img.input "in" bounds #img.box<[*, *, 0:3]> layout strided<[3, ?, 1]> {img.align = 1 : i64} : !img.func<3xui8>
  %edge = img.boundary repeat_edge %in dims [0, 1] : !img.func<3xui8>
  %g = img.group "out" {
    %out = img.stage "out" (%x, %y) -> ui8 {
      %a = img.read %edge[%x - 1, %y, 0] : !img.func<3xui8>
      %b = img.read %edge[%x + 1, %y, 1] : !img.func<3xui8>
      %m = arith.minui %a, %b : i8
      img.yield %m : i8
    }
    img.yield %out : !img.func<2xui8>
  } : !img.func<2xui8>
  img.return "out" = %g : !img.func<2xui8>
}
