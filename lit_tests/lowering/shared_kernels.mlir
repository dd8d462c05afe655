// One kernel for two steps: the first one's input lies anywhere, the second one's result. What is asked about rows is
// asked of each function by itself, so that in both launches the other one's rows move as vectors.

// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=120,0 threads=32,4 vector=4 more="rows = 2"},promote-memory,lower-groups' | filecheck %s
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=120,0 threads=32,4 vector=4 more="rows = 2"},promote-memory,lower-groups,lower-warp-tiles' -t cuda | filecheck %s --check-prefix=CUDA

// CHECK-LABEL: func.func @two_first_tile3(
// CHECK-SAME:    %border: i1, %vectors_uniform: i1, %in_aligned: i1, %first_aligned: i1)
// CHECK:         warp.load %in[{{.*}}] aligned %in_aligned pieces partial right border %border vectors_uniform %vectors_uniform replaces rows {
// CHECK:         warp.store %first to %out_first[{{.*}}] within [0, 120, 0, 8] aligned %first_aligned border %border vectors_uniform %vectors_uniform :

// Inside of the picture there is one version then.

// CHECK-LABEL: func.func @two_first_kernel3(
// CHECK:         scf.if
// CHECK-NEXT:      func.call @two_first_tile3({{.*}}, %[[NO:[0-9]+]], %[[NO]], %[[IN:[0-9]+]], %[[OUT:[0-9]+]]) : (
// CHECK-NEXT:    } else {
// CHECK:           func.call @two_first_tile3({{.*}}, %[[YES:[0-9]+]], %[[YES]], %[[IN]], %[[OUT]]) {kernel.no_cse
// CHECK:           func.call @two_first_tile3({{.*}}, %[[YES]], %[[NO]], %[[IN]], %[[OUT]]) {kernel.no_cse
// CHECK-NOT:     func.func @
// CHECK:         img.pipeline @two
// CHECK:           attributes {kernel = "two_first_kernel3"}

// CUDA-LABEL: void two_first_tile3(
// CUDA:         if (border_) {
// CUDA-NEXT:      if (vectors_uniform_) {
// CUDA:             if (in_aligned_) {
// CUDA:               = load_f32x4(&in_[
// CUDA:             } else {
// CUDA:           if (in_aligned_) {
// CUDA:             = load_f32x4(&in_[
// CUDA:           } else {
// CUDA:             float2 pieces_[2][2];
// CUDA:         if (border_) {
// CUDA:           if (vectors_uniform_) {
// CUDA:             if (first_aligned_) {
// CUDA:               store_f32x4(&out_first_[
// CUDA:             } else {
// CUDA:               out_first_[
// CUDA:         } else {
// CUDA:           if (first_aligned_) {
// CUDA:             store_f32x4(&out_first_[

img.pipeline @two {
  %in = img.input "in" {img.align = 4 : i64} : !img.func<2xf32>
  %width = img.extent 0 of %in : !img.func<2xf32>
  %height = img.extent 1 of %in : !img.func<2xf32>
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %b0 = img.boundary constant_exterior %in dims [0, 1] in [%zero, %zero] by [%width, %height] value %none : !img.func<2xf32>
  %first = img.group "first" {
    %s = img.stage "first" (%x, %y) -> f32 {
      %l = img.read %b0[%x - 1, %y] : !img.func<2xf32>
      %r = img.read %b0[%x + 1, %y] : !img.func<2xf32>
      %sum = arith.addf %l, %r : f32
      img.yield %sum : f32
    }
    img.yield %s : !img.func<2xf32>
  } : !img.func<2xf32>
  %b1 = img.boundary constant_exterior %first dims [0, 1] in [%zero, %zero] by [%width, %height] value %none : !img.func<2xf32>
  %second = img.group "second" {
    %s = img.stage "second" (%x, %y) -> f32 {
      %l = img.read %b1[%x - 1, %y] : !img.func<2xf32>
      %r = img.read %b1[%x + 1, %y] : !img.func<2xf32>
      %sum = arith.addf %l, %r : f32
      img.yield %sum : f32
    }
    img.yield %s : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %second : !img.func<2xf32> {output_aligns = array<i64: 4>}
}
