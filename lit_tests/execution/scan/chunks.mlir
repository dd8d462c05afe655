// Running sums whose lines blocks share out: along x a line a block, and down the columns 32 lines side by side.
// RUN: pipeline-opt %s -p 'lower-groups,cse' -t cuda | filecheck %s

// CHECK-LABEL: __launch_bounds__(64) sums_rows_kernel4(
// CHECK: __shared__ __align__(16) unsigned short points_[527];
// CHECK: atomicAdd(&tickets_[bx_], 1);
// CHECK: points_[{{.*}}] = term_[0];
// CHECK: atomicOr(&sums_of_chunks_[i_2_ * sums_of_chunks_n1_ + bx_], (unsigned long long)totals0_[63] | 4294967296ll);

// CHECK-LABEL: __launch_bounds__(256) sums_columns_kernel4(
// CHECK-NOT: points_
// CHECK: const idx i_5_ = i_1_ + min_idx(tx_, i_2_ - 1);
// CHECK: kept_[3] = term_3_[0];
// CHECK: atomicOr(&sums_of_chunks_[i_8_ * sums_of_chunks_n1_ + i_7_], (unsigned long long)(unsigned int)v_ | 4294967296ll);
// CHECK: atomicOr(&sums_of_chunks_[(i_8_ + 1) * sums_of_chunks_n1_ + i_7_], v_1_);
// CHECK: if (tx_ < i_2_) {
// CHECK: columns0_[{{.*}}] = kept_[{{.*}}];

img.pipeline @sums {
  %in = img.input "in" : !img.func<2xui16>
  %n = img.extent 0 of %in : !img.func<2xui16>
  %m = img.extent 1 of %in : !img.func<2xui16>
  %one = arith.constant 1 : index
  %n1 = arith.subi %n, %one : index
  %m1 = arith.subi %m, %one : index
  %rows0 = img.group "rows0" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> {
    %0 = img.stage "rows0" (%x, %y) -> ui16 {
      %v = img.read %in[%x, %y] : !img.func<2xui16>
      img.yield %v : i16
    }
    img.yield %0 : !img.func<2xui16>
  } : !img.func<2xui16>
  %rows = img.group "rows" schedule #schedule.scan<threads = [1], rows = 64, chunk = 8> {
    %0 = img.update "rows" (%y) over (%r in [%one, %n1]) of (%f = %rows0 : !img.func<2xui16>) combine [add] {
      %b = img.read %f[%r - 1, %y] : !img.func<2xui16>
      img.write %b at [%r, %y] : i16
    }
    img.yield %0 : !img.func<2xui16>
  } : !img.func<2xui16>
  %columns0 = img.group "columns0" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> {
    %0 = img.stage "columns0" (%x, %y) -> f64 {
      %v = img.read %rows[%x, %y] : !img.func<2xui16>
      %d = arith.uitofp %v : i16 to f64
      img.yield %d : f64
    }
    img.yield %0 : !img.func<2xf64>
  } : !img.func<2xf64>
  %columns = img.group "columns" schedule #schedule.scan<threads = [32], rows = 8, chunk = 4> {
    %0 = img.update "columns" (%x) over (%r in [%one, %m1]) of (%f = %columns0 : !img.func<2xf64>) combine [add] {
      %b = img.read %f[%x, %r - 1] : !img.func<2xf64>
      img.write %b at [%x, %r] : f64
    }
    img.yield %0 : !img.func<2xf64>
  } : !img.func<2xf64>
  img.return "columns" = %columns : !img.func<2xf64>
}
