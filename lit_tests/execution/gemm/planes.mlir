// Products of several matrices with one on a CPU: two of them, which are planes, share what is copied of that one.
// RUN: pipeline-opt %s -p 'lower-groups,cse' -t c | filecheck %s

// CHECK:      const idx tiles_z_ = (idx)((uidx)(out_c_n0_ + 1) / 2);
// CHECK:      float sums_[12][8] __attribute__((aligned(64)));
// CHECK:      const idx [[PLANES:i_[0-9]+_]] = min_idx(2,
// CHECK:      float copy_[16][8] __attribute__((aligned(64)));
// CHECK:      for (idx first_ = 0; first_ < {{.*}}; first_ += 16) {
// CHECK:        copy_[k_][{{.*}}] = b_[
// CHECK:        for (idx plane_ = 0; plane_ < [[PLANES]]; ++plane_) {
// CHECK-NEXT:     for (idx block_ = 0;
// CHECK-NEXT:       const idx [[BLOCK:i_[0-9]+_]] = block_ * 3;
// CHECK-NEXT:       const idx [[ROW:i_[0-9]+_]] = plane_ * 6 + [[BLOCK]];
// CHECK:            f32x4 block_sums_[6];
// CHECK-NEXT:       block_sums_[0] = load_f32x4(&sums_[[[ROW]]][0]);
img.pipeline @products {
  %a = img.input "a" : !img.func<3xf32>
  %b = img.input "b" : !img.func<2xf32>
  %n = img.extent 0 of %a : !img.func<3xf32>
  %low = img.min 0 of %a : !img.func<3xf32>
  %zero = img.group "zero" schedule #schedule.block_tile<tile = [32, 4, 1], threads = [1, 1, 1]> {
    %s = img.stage "zero" (%x, %y, %z) -> f32 {
      %v = arith.constant 0.0 : f32
      img.yield %v : f32
    }
    img.yield %s : !img.func<3xf32>
  } : !img.func<3xf32>
  %c = img.group "c" schedule #schedule.gemm<threads = [1, 1, 1], points = [8, 3, 1], vector = 4, repeat = 2, planes = 2, pack = 16> {
    %u = img.update "c" (%x, %y, %z) over (%k in [%low, %n]) of (%h = %zero : !img.func<3xf32>) combine [add] {
      %l = img.read %a[%k, %y, %z] : !img.func<3xf32>
      %r = img.read %b[%x, %k] : !img.func<2xf32>
      %p = arith.mulf %l, %r : f32
      img.write %p at [%x, %y, %z] : f32
    }
    img.yield %u : !img.func<3xf32>
  } : !img.func<3xf32>
  img.return "c" = %c : !img.func<3xf32>
}
