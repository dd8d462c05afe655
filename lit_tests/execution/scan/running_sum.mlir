// Running sums down the columns: a thread per column keeps the last sum, and loads the inputs of two steps first.
// RUN: pipeline-opt %s -p 'tile{shape=scan sizes=32 threads=32 vector=2},validate-occupancy' | filecheck %s --check-prefix=TILE
// RUN: pipeline-opt %s -p 'tile{shape=scan sizes=32 threads=32 vector=2},lower-groups,cse' -t cuda | filecheck %s --check-prefix=CUDA
// RUN: pipeline-opt %s -p 'tile{shape=scan sizes=16 threads=1},lower-groups,cse' -t c | filecheck %s --check-prefix=C

// TILE: img.group "sums_update" schedule #schedule.scan<threads = [32], unroll = 2>

// CUDA:      float kept_[1];
// CUDA:      for (idx r_ = 0; r_ < {{.*}}; r_ += 2) {
// CUDA:      const float v_ = sums_[{{.*}}] + kept_[0];
// CUDA-NEXT: const float v_1_ = sums_[
// CUDA-NEXT: sums_[{{.*}}] = v_;
// CUDA:      sums_[{{.*}}] = v_{{.*}};
// CUDA-NEXT: kept_[0] = v_

// C:      float kept_[1][16];
// C:      for (idx r_ = 0; r_ <
// C-NEXT: #pragma omp simd
// C-NEXT: for (idx i_{{.*}} = 0; i_{{.*}} < {{.*}}; ++i_
img.pipeline @sums {
  %in = img.input "in" : !img.func<2xf32>
  %n = img.extent 1 of %in : !img.func<2xf32>
  %one = arith.constant 1 : index
  %steps = arith.subi %n, %one : index
  %z = img.group "sums" schedule #schedule.block_tile<tile = [32, 4], threads = [32, 4]> {
    %s = img.stage "sums" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %s : !img.func<2xf32>
  } : !img.func<2xf32>
  %c = img.group "sums_update" {
    %u = img.update "sums_update" (%x) over (%r in [%one, %steps]) of (%h = %z : !img.func<2xf32>) combine [add] {
      %l = img.read %h[%x, %r - 1] : !img.func<2xf32>
      img.write %l at [%x, %r] : f32
    }
    img.yield %u : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "sums" = %c : !img.func<2xf32>
}
