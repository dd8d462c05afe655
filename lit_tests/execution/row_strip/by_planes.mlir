// RUN: pipeline-opt %s -p 'validate-occupancy{target=cpu},lower-groups' -t c | filecheck %s
// RUN: sed 's/, by_planes = 1//' %s | pipeline-opt -p 'validate-occupancy{target=cpu},lower-groups' -t c | filecheck %s --check-prefix=IN-ROWS
// RUN: sed 's/%%in\[%%x, %%y, %%c\]/%%in[%%x, %%y, 0]/' %s | not pipeline-opt -p 'validate-occupancy{target=cpu}' 2>&1 | filecheck %s --check-prefix=SHARED

// Sums of three rows of each colour, of rows that are kept: all rows of a colour come before those of the next.

// CHECK:      void sums_sums_tile
// CHECK:      for (idx [[PLANE:z_.*]] = {{.*}}out_sums_min_z_{{.*}}; [[PLANE]] < {{.*}}) {
// CHECK-NEXT:   for (idx s_ = 0;
// CHECK-NOT:      for (idx z_
// CHECK:            rows_wide_[{{.*}} + [[PLANE]]) * {{.*}}] =
// CHECK-NOT:      for (idx z_
// CHECK:            out_sums_

// IN-ROWS:    for (idx s_ = 0;
// IN-ROWS:      for (idx z_ = 0; z_ < 3; ++z_) {
// IN-ROWS:        rows_wide_[
// IN-ROWS:      for (idx z_ = {{.*}}out_sums_min_z_
// IN-ROWS:        out_sums_

// SHARED: by_planes must be 0: several planes of it need the same points of 'in'
img.pipeline @sums {
  %in = img.input "in" : !img.func<3xf32>
  %sums = img.group "sums" schedule #schedule.row_strip<tile = [64, 32, 3], by_planes = 1> {
    %wide = img.stage "wide" (%x, %y, %c) -> f32 place #img.place<block, shared> {
      %v = img.read %in[%x, %y, %c] : !img.func<3xf32>
      %r = math.sqrt %v : f32
      img.yield %r : f32
    }
    %s = img.stage "sums" (%x, %y, %c) -> f32 bounds #img.box<[*, *, 0:3]> {
      %a = img.read %wide[%x, %y, %c] : !img.func<3xf32>
      %b = img.read %wide[%x, %y + 2, %c] : !img.func<3xf32>
      %v = arith.addf %a, %b : f32
      img.yield %v : f32
    }
    img.yield %s : !img.func<3xf32>
  } : !img.func<3xf32>
  img.return "sums" = %sums : !img.func<3xf32>
}
