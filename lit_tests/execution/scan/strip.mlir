// Two updates along the columns in one kernel: four blocks take strips of 16 columns one after the other. The first
// update's results stay in the block's strip, where no initial value is put that it writes over unread.
// RUN: pipeline-opt %s -p 'validate-occupancy{target=cpu},lower-groups' -t c | filecheck %s
// RUN: sed 's/, workers = 4//' %s | not pipeline-opt -p 'validate-occupancy{target=cpu}' 2>&1 | filecheck %s --check-prefix=NONE
// RUN: sed 's/#schedule.scan.*{/#schedule.in_order<threads = [4]> {/' %s | not pipeline-opt -p 'validate-occupancy{target=cpu}' 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: sed '/update "down"/s/n\]/none]/' %s | pipeline-opt -p 'validate-occupancy{target=cpu},lower-groups' -t c | filecheck %s --check-prefix=EMPTY

// An update of no points is left out.
// EMPTY:     for (idx strip_ =
// EMPTY:     out_up_[

// NONE: several updates in a group need workers, and one takes none; change workers
// ORDER: in_order runs one update per kernel; give update 'down' a group of its own

// CHECK:      float* __restrict__ strip0_, idx strip0_n1_) {
// CHECK:      const idx [[EACH:i_.*]] = (idx)((uidx)({{.*}} + 3) / 4);
// CHECK:      #pragma omp parallel for
// CHECK-NEXT: for (idx bx_ = 0; bx_ < 4; ++bx_) {
// CHECK-NEXT:   const idx [[FIRST:i_.*]] = bx_ * [[EACH]];
// CHECK-NEXT:   for (idx strip_ = [[FIRST]]; strip_ < min_idx([[FIRST]] + [[EACH]],
// CHECK:          if (i_{{.*}} >= 16) {
// CHECK:            for (idx point_ = 0;
// CHECK:              for (idx [[LINE:i_.*]] = 0; [[LINE]] < 16; ++[[LINE]]) {
// CHECK:                strip0_[bx_ * (strip0_n1_ * 16) + {{.*}} + [[LINE]]] = v_
// CHECK:            float kept_[1][16];
// CHECK:            strip0_[
// CHECK:            out_up_[
img.pipeline @filter {
  %in = img.input "in" : !img.func<2xf32>
  %n = img.extent 1 of %in : !img.func<2xf32>
  %one = arith.constant 1 : index
  %none = arith.constant 0 : index
  %up = img.group "up" schedule #schedule.scan<threads = [1], width = 16, workers = 4> {
    %start = img.stage "start" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %down = img.update "down" (%x) over (%r in [%one, %n]) of (%h = %start : !img.func<2xf32>) {
      %a = img.read %h[%x, %r - 1] : !img.func<2xf32>
      %b = img.read %in[%x, %r] : !img.func<2xf32>
      %v = arith.addf %a, %b : f32
      img.write %v at [%x, %r] : f32
    }
    %up = img.update "up" (%x) over (%r in [%one, %n]) of (%h = %down : !img.func<2xf32>) {
      %a = img.read %h[%x, %n + %r * -1] : !img.func<2xf32>
      %b = img.read %h[%x, %n + %r * -1 - 1] : !img.func<2xf32>
      %v = arith.addf %a, %b : f32
      img.write %v at [%x, %n + %r * -1 - 1] : f32
    }
    img.yield %up : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "up" = %up : !img.func<2xf32>
}
