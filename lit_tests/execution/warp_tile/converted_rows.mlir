// Loaded floats that are only read as integers are converted in all rows before the sweep, and lanes pass on integers.

// RUN: pipeline-opt %s -p "lower-groups,convert-early,lower-warp-tiles" -t cuda | filecheck %s
// RUN: pipeline-opt %s -p "lower-groups,convert-early,lower-warp-tiles{warps=false}" -t c | filecheck %s --check-prefix=ARRAYS

// CHECK-LABEL: void converted_g_tile
// CHECK:         float [[LOADED:w_[a-z0-9_]+]][2][4];
// CHECK-NEXT:    unsigned int [[INTEGERS:w_[a-z0-9_]+]][2][6];
// CHECK:             [[INTEGERS]][r_][v_ + 1] = __float2int_rz([[LOADED]][r_][v_]);
// CHECK:         for (idx t_ = 0; t_ < 2; ++t_) {
// CHECK-NEXT:      const unsigned int {{.*}} = __shfl_up_sync(0xffffffffu, [[INTEGERS]][t_][4], 1, 32);
// CHECK-NOT:       __float2int_rz
// CHECK:       __global__

// ARRAYS-LABEL: converted_g_tile
// ARRAYS:         f32_to_s32(
// ARRAYS-NOT:     f32_to_s32(
img.pipeline @converted {
  %in = img.input "in" : !img.func<2xf32>
  %g = img.group "g" schedule #schedule.warp_tile<tile = [120, 8], threads = [32, 4], vector = 4> {
    %g0 = img.stage "g" (%x, %y) -> si32 {
      %a = img.read %in[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %in[%x + 1, %y] : !img.func<2xf32>
      %ai = arith.fptosi %a : f32 to i32
      %bi = arith.fptosi %b : f32 to i32
      %ab = arith.addi %ai, %bi : i32
      img.yield %ab : i32
    }
    img.yield %g0 : !img.func<2xsi32>
  } : !img.func<2xsi32>
  img.return "g" = %g : !img.func<2xsi32>
}
