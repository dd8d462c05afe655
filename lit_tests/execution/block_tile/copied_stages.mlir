// RUN: pipeline-opt %s -p 'promote-memory,lower-groups,expand-division' -t cuda | filecheck %s
// RUN: pipeline-opt %s -p 'promote-memory,lower-groups,expand-division' -t c | filecheck %s --check-prefix=C
// RUN: pipeline-opt %s -p 'promote-memory,lower-groups,expand-division' --print-op-generic | mlir-opt --allow-unregistered-dialect -o /dev/null

// A stage in shared memory that only copies an input.

// In border tiles the input is read point by point; in interior ones it is copied beside the threads, by 16 bytes where rows of
// the picture lie so, and by 4 beside the whole pieces. Rows in shared memory begin 4 columns before the tile.

// CHECK-LABEL: void copies_blur_tile6(
// CHECK:         __shared__ __align__(16) float sh_photo_tile_[2448];
// CHECK:         if (border_) {
// CHECK:           sh_photo_tile_[{{.*}}] = r_photo_tile_[ky_];
// CHECK:         } else {
// CHECK-NEXT:      if (({{.*}} & 15) == 0) {
// CHECK-NEXT:        for (idx [[I:.*]] = t_; [[I]] < 576; [[I]] += 256) {
// CHECK-NEXT:          const idx [[ROW:.*]] = (idx)((uidx)[[I]] / 32);
// CHECK-NEXT:          const idx [[COLUMN:.*]] = (idx)((uidx)[[I]] % 32) * 4;
// CHECK-NEXT:          copy_async_16_l2(&sh_photo_tile_[{{.*}}], &photo_[{{.*}}]);
// CHECK:             } else {
// CHECK-NEXT:          if (({{.*}} & 7) == 0) {
// CHECK:                 copy_async_8(
// CHECK:               } else {
// CHECK:                 copy_async_4(
// CHECK:             for (idx [[I:.*]] = 255 - t_; [[I]] < 72; [[I]] += 256) {
// CHECK:               copy_async_4(
// CHECK:       commit_copies();
// CHECK-NEXT:  wait_copies_0();
// CHECK-NEXT:  __syncthreads();

// C has no such copies, and nothing to wait for.
// C:      copy_async_16_l2(void* to, const void* from) { __builtin_memcpy(to, from, 16); }
// C-LABEL: void copies_blur_tile6(
// C-NOT:     commit_copies
// C-NOT:     wait_copies
img.pipeline @copies {
  %photo = img.input "photo" : !img.func<2xf32>
  %clamped = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  %blur = img.group "blur" schedule #schedule.block_tile<tile = [128, 16], threads = [32, 8]> {
    %photo_tile = img.stage "photo_tile" (%x, %y) -> f32 {
      %v = img.read %clamped[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %blur = img.stage "blur" (%x, %y) -> f32 {
      %a = img.read %photo_tile[%x - 2, %y] : !img.func<2xf32>
      %b = img.read %photo_tile[%x + 2, %y + 2] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    img.yield %blur : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "blur" = %blur : !img.func<2xf32>
}
