// RUN: pipeline-opt %s -p lower-groups,expand-division -t cuda | filecheck %s
// RUN: pipeline-opt %s -p lower-groups,expand-division -t c | filecheck %s --check-prefix=C

// The real mlir-opt takes it.
// RUN: pipeline-opt %s -p lower-groups,expand-division --print-op-generic | mlir-opt --allow-unregistered-dialect -o /dev/null

// A thread computes four columns at once. Rows of global memory are read by vectors where they lie well; the columns
// beside a piece by what fits. Rows of shared memory always do.

// CHECK-LABEL: void pieces_blur_tile6(
// CHECK:         const idx [[IN:i_[0-9]+_]] = (photo_s0_ * 4) |
// CHECK:         __shared__ __align__(16) float sh_blur_x_[4624];

// The region is 128 columns and one on each side: pieces first, then the columns beside.
// CHECK:         for (idx [[I:.*]] = t_; [[I]] < 544; [[I]] += 256) {
// CHECK:           if (border_) {
// CHECK:             const bool [[TOGETHER:test_[0-9]+_]] = (([[IN]] & 15) == 0) &
// CHECK-NEXT:        if ([[TOGETHER]]) {
// CHECK:               load_f32x4(&photo_[
// CHECK:             if (([[IN]] & 15) == 0) {
// CHECK:               p_clamped_[ky_][0] = photo_[
// CHECK-NEXT:          const float4 [[V:.*]] = load_f32x4(&photo_[
// CHECK:               p_clamped_[ky_][5] = photo_[
// CHECK:             } else {
// CHECK-NEXT:          if (([[IN]] & 7) == 0) {
// CHECK:                 load_f32x2(&photo_[
// CHECK:           store_f32x4(&sh_blur_x_[
// CHECK:         for (idx [[I:.*]] = 255 - {{.*}}; [[I]] < 34; [[I]] += 256) {
// CHECK:           sh_blur_x_[{{.*}}] = r_blur_x_[ky_];
// CHECK:       __syncthreads();

// Two of the four rows of a thread at a time: unroll = [1, 2].
// CHECK:         #pragma unroll 1
// CHECK-NEXT:    for (idx j_ = 0; j_ < 2; ++j_) {
// CHECK:           float p_blur_x_[4][6];
// CHECK:           load_f32x4(&sh_blur_x_[
// CHECK:           float r_blur_y_[2][4];
// CHECK:           if (!border_ || {{.*}}) {
// CHECK-NEXT:        if (({{.*}} & 15) == 0) {
// CHECK:               store_f32x4(&out_blur_y_[
// CHECK:             for (idx kx_ = 0; kx_ < 4; ++kx_) {
// CHECK-NEXT:          const idx
// CHECK-NEXT:          if ((uidx){{.*}} < (uidx)out_blur_y_n1_ && {{.*}}) {

// In x only one of two rounds is written out: unroll = [1].
// CHECK-LABEL: void pieces_line_tile6(
// CHECK:         #pragma unroll 1
// CHECK-NEXT:    for (idx i_{{.*}} = 0; {{.*}} < 2; ++{{.*}}) {

// A block of one thread: four rows at a time, and the loop over x is vectorised.
// C-LABEL:     void pieces_one_tile6(
// C:             for (idx y_ = 0; y_ < 4; ++y_) {
// C-NEXT:          #pragma omp simd
// C-NEXT:          for (idx x_ = 0; x_ < 64; ++x_) {
// C:                 float r_one_[4][1];
img.pipeline @pieces {
  %photo = img.input "photo" : !img.func<2xf32>
  %clamped = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  %blur = img.group "blur" schedule #schedule.block_tile<tile = [128, 32], threads = [32, 8], vector = 4, unroll = [1, 2]> {
    %blur_x = img.stage "blur_x" (%x, %y) -> f32 place #img.place<block, shared> {
      %a = img.read %clamped[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %clamped[%x + 1, %y] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    %blur_y = img.stage "blur_y" (%x, %y) -> f32 {
      %a = img.read %blur_x[%x - 1, %y - 1] : !img.func<2xf32>
      %b = img.read %blur_x[%x + 1, %y + 1] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    img.yield %blur_y : !img.func<2xf32>
  } : !img.func<2xf32>
  %row = img.input "row" : !img.func<1xf32>
  %line = img.group "line" schedule #schedule.block_tile<tile = [512], threads = [128], vector = 2, unroll = [1]> {
    %line = img.stage "line" (%x) -> f32 {
      %a = img.read %row[%x] : !img.func<1xf32>
      img.yield %a : f32
    }
    img.yield %line : !img.func<1xf32>
  } : !img.func<1xf32>
  %one = img.group "one" schedule #schedule.block_tile<tile = [64, 16], threads = [1, 1], unroll = [1, 4]> {
    %one = img.stage "one" (%x, %y) -> f32 {
      %a = img.read %clamped[%x, %y - 1] : !img.func<2xf32>
      %b = img.read %clamped[%x, %y + 1] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    img.yield %one : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "blur" = %blur : !img.func<2xf32>, "line" = %line : !img.func<1xf32>, "one" = %one : !img.func<2xf32>
}
