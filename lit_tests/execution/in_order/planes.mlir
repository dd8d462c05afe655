// RUN: pipeline-opt %s -p 'validate-occupancy{target=cpu},lower-groups' -t c | filecheck %s
// RUN: sed 's/points = 64, planes = 2>/planes = 2>/' %s | not pipeline-opt 2>&1 | filecheck %s --check-prefix=NEGATIVE
// RUN: sed 's/, %%level, %%c\]/, %%x, %%c]/' %s | not pipeline-opt -p 'validate-occupancy{target=cpu}' 2>&1 | filecheck %s --check-prefix=KNOWN
// RUN: sed 's/%%in\[%%x, %%r\]/%%in[%%x, %%c]/' %s | not pipeline-opt -p 'validate-occupancy{target=cpu}' 2>&1 | filecheck %s --check-prefix=DIFFER

// Sums, and numbers, of the pixels of each column by brightness: both planes have the places in common. They are computed
// by vectors, then written one after the other. Calls that need other planes take them one by one.

// CHECK:      for (idx r_ = 0; r_ < {{.*}}; ++r_) {
// CHECK:        if ({{.*}} == 0 && {{.*}} == 2) {
// CHECK-NEXT:     #pragma omp simd
// CHECK-NEXT:     for (idx x_ = 0; x_ < {{.*}}; ++x_) {
// CHECK:            places_[x_] =
// CHECK:            terms_[x_] =
// CHECK-NEXT:       terms_[x_ + 64] =
// CHECK-NEXT:     }
// CHECK-NEXT:     for (idx x_ = 0; x_ < {{.*}}; ++x_) {
// CHECK:            sums_[{{.*}}] = sums_[{{.*}}] + terms_[x_];
// CHECK:            sums_[{{.*}}] = sums_[{{.*}}] + terms_[x_ + 64];
// CHECK:        } else {
// CHECK:          for (idx plane_ = {{.*}}; ++plane_) {

// NEGATIVE: planes must not be negative, and 0 without several points, or with prefetch
// KNOWN: planes= needs an update alone whose places data decide, without a predicate
// DIFFER: planes= needs reads and places that do not depend on the last pure coordinate
img.pipeline @sums {
  %in = img.input "in" : !img.func<2xsi32>
  %h = img.extent 1 of %in : !img.func<2xsi32>
  %y0 = img.min 1 of %in : !img.func<2xsi32>
  %s0 = img.group "sums" schedule #schedule.block_tile<tile = [64, 1, 1], threads = [1, 1, 1]> {
    %s = img.stage "sums" (%x, %z, %c) -> si32 {
      %none = arith.constant 0 : i32
      img.yield %none : i32
    }
    img.yield %s : !img.func<3xsi32>
  } : !img.func<3xsi32>
  %s1 = img.group "sums_update" schedule #schedule.in_order<threads = [1, 1], points = 64, planes = 2> {
    %u = img.update "sums_update" (%x, %c) over (%r in [%y0, %h]) of (%s = %s0 : !img.func<3xsi32>) combine [add] {
      %v = img.read %in[%x, %r] : !img.func<2xsi32>
      %sixty = arith.constant 63 : i32
      %z = arith.andi %v, %sixty : i32
      %level = arith.index_cast %z : i32 to index
      %plane = arith.index_cast %c : index to i32
      %none = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %first = arith.cmpi eq, %plane, %none : i32
      %term = arith.select %first, %v, %one : i32
      img.write %term at [%x, %level, %c] : i32
    }
    img.yield %u : !img.func<3xsi32>
  } : !img.func<3xsi32>
  img.return "sums" = %s1 : !img.func<3xsi32>
}
