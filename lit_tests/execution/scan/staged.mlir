// Sums along the rows: a block has 32 rows, and stages 8 steps of them in the order of memory, both ways.
// RUN: pipeline-opt %s -p 'validate-occupancy' | filecheck %s --check-prefix=OCCUPANCY
// RUN: pipeline-opt %s -p 'validate-occupancy,lower-groups' -t cuda | filecheck %s

// OCCUPANCY: #schedule.scan<threads = [32], unroll = 4, slice = 8, buffers = 3, rows = 2>
// OCCUPANCY-SAME: 5760 shared bytes

// CHECK:      __shared__ __align__(16) float staged_[3][32][12];
// CHECK:      __shared__ __align__(16) float results_[32][9];
// CHECK:      for (idx slice_ = 0;
// CHECK:      wait_copies_1();
// CHECK:      __syncthreads();
// CHECK:      copy_async_16_l2(&staged_
// CHECK:      load_f32x4(&staged_[{{.*}}][i_
// CHECK:      results_[i_{{.*}}] = v_
// CHECK:      __syncthreads();
// CHECK:      sums_[{{.*}}] = results_[{{.*}}][{{.*}}];
img.pipeline @rows {
  %in = img.input "in" : !img.func<2xf32>
  %n = img.extent 0 of %in : !img.func<2xf32>
  %one = arith.constant 1 : index
  %s = img.group "sums" schedule #schedule.block_tile<tile = [32, 4], threads = [32, 4]> {
    %c = img.stage "sums" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %c : !img.func<2xf32>
  } : !img.func<2xf32>
  %g = img.group "g" schedule #schedule.scan<threads = [32], unroll = 4, slice = 8, buffers = 3, rows = 2> {
    %u = img.update "sums_update" (%y) over (%r in [%one, %n]) of (%h = %s : !img.func<2xf32>) {
      %a = img.read %h[%r, %y] : !img.func<2xf32>
      %b = img.read %h[%r - 1, %y] : !img.func<2xf32>
      %v = arith.addf %a, %b : f32
      img.write %v at [%r, %y] : f32
    }
    img.yield %u : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "sums" = %g : !img.func<2xf32>
}
