// What a schedule of a scatter cannot be: more than its target has, of a size that nobody knows, or of another update.

// RUN: not pipeline-opt %s -p 'validate-occupancy{target=h200}' 2>&1 | filecheck %s
// RUN: not pipeline-opt %s -p 'validate-occupancy{target=t4}' 2>&1 | filecheck %s --check-prefix=SMALL
// RUN: pipeline-opt %s -p 'validate-occupancy{target=h200 fix=true}' | filecheck %s --check-prefix=FIXED

// CHECK: error: group 'pairs': 524288 bytes of shared memory, most of them for stage 'pairs', where a block has 232448 if its launch asks for it on h200. Use fewer copies, threads or blocks, or fix=true
// SMALL: where a block has 65536 if its launch asks for it on t4
// FIXED: schedule #schedule.scatter<threads = [256], copies = 1>
// FIXED-SAME: 131072 shared bytes
img.pipeline @p {
  %a = img.input "a" : !img.func<1xui8>
  %n = img.extent 0 of %a : !img.func<1xui8>
  %c0 = arith.constant 0 : index
  %h0 = img.group "zero" schedule #schedule.block_tile<tile = [256, 1], threads = [256, 1]> {
    %s = img.stage "zero" (%x, %y) -> ui64 {
      %z = arith.constant 0 : i64
      img.yield %z : i64
    }
    img.yield %s : !img.func<2xui64>
  } : !img.func<2xui64>
  %h1 = img.group "pairs" schedule #schedule.scatter<threads = [256], copies = 4> {
    %u = img.update "pairs" () over (%x in [%c0, %n]) of (%old = %h0 : !img.func<2xui64>) combine [add] {
      %v = img.read %a[%x] : !img.func<1xui8>
      %w = arith.extui %v : i8 to i32
      %i = arith.index_cast %w : i32 to index
      %one = arith.constant 1 : i64
      img.write %one at [%i, %i floordiv 4] : i64
    }
    img.yield %u : !img.func<2xui64>
  } : !img.func<2xui64>
  img.return "h" = %h1 : !img.func<2xui64>
}
