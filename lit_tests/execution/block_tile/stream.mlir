// RUN: pipeline-opt %s -p 'promote-memory{stage_inputs=true},validate-occupancy{target=h200}' | filecheck %s --check-prefix=BYTES
// RUN: pipeline-opt %s -p 'promote-memory{stage_inputs=true},lower-groups,expand-division' -t cuda | filecheck %s
// RUN: pipeline-opt %s -p 'promote-memory,lower-groups,expand-division' -t cuda | filecheck %s --check-prefix=PLAIN
// RUN: pipeline-opt %s -p 'promote-memory{stage_inputs=true},lower-groups,expand-division' --print-op-generic | mlir-opt --allow-unregistered-dialect -o /dev/null

// A block computes four tiles one after the other in y; the input of the next is copied while the present is computed.

// The input has two places.
// BYTES: 19584 shared bytes

// CHECK-LABEL: void ahead_blur_fetch5(
// CHECK:         float* __restrict__ sh_photo_tile_, idx parity_) {
// CHECK:         copy_async_16_l2(&sh_photo_tile_[
// CHECK-LABEL: void ahead_blur_tile5(
// CHECK-NOT:     copy_async
// CHECK-LABEL: __launch_bounds__(256) ahead_blur_kernel5(
// CHECK:         __shared__ __align__(16) float sh_photo_tile_[4896];
// CHECK-NEXT:    const idx [[COUNT:.*]] = min_idx({{.*}}, 4);
// CHECK-NEXT:    for (idx s_ = 0; s_ < [[COUNT]] + 1; ++s_) {
// CHECK-NEXT:      if (s_ < [[COUNT]]) {
// CHECK:             ahead_blur_fetch5({{.*}}, false, sh_photo_tile_, {{.*}});
// CHECK:             ahead_blur_fetch5({{.*}}, true, sh_photo_tile_, {{.*}});
// CHECK:           commit_copies();
// CHECK-NEXT:      if (s_ > 0) {
// CHECK:             wait_copies_1();
// CHECK-NEXT:        __syncthreads();
// CHECK:             ahead_blur_tile5({{.*}}, false, sh_photo_tile_, {{.*}});
// CHECK:             ahead_blur_tile5({{.*}}, true, sh_photo_tile_, {{.*}});
// CHECK:             __syncthreads();

// Without staged inputs there is nothing to copy.
// PLAIN-NOT:   _fetch
// PLAIN-LABEL: __launch_bounds__(256) ahead_blur_kernel5(
// PLAIN:         for (idx s_ = 0; s_ < {{.*}}; ++s_) {
// PLAIN-NEXT:      const idx x0_
// PLAIN:           ahead_blur_tile5(
// PLAIN:           __syncthreads();
img.pipeline @ahead {
  %photo = img.input "photo" : !img.func<2xf32>
  %clamped = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  %blur = img.group "blur" schedule #schedule.block_tile<tile = [128, 16], threads = [32, 8], tiles_per_block = 4> {
    %blur = img.stage "blur" (%x, %y) -> f32 {
      %a = img.read %clamped[%x - 2, %y] : !img.func<2xf32>
      %b = img.read %clamped[%x + 2, %y + 2] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    img.yield %blur : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "blur" = %blur : !img.func<2xf32>
}
