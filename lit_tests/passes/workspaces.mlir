// What blocks leave for one another has to fit the GPU's memory; atomics have to be of elements that they can join.

// RUN: not pipeline-opt %s --split-input-file -p 'validate-occupancy{target=l4}' 2>&1 | filecheck %s
// RUN: not pipeline-opt %s --split-input-file -p 'validate-occupancy{target=l4 fix=true}' 2>&1 | filecheck %s --check-prefix=FIXED

// CHECK: error: group 'many': 26843545600 bytes of workspace 'tables0' for 'many', where a GPU has 24000000000 on l4. Use fewer copies, threads or blocks, or fix=true
// FIXED-DAG: schedule #schedule.scatter<threads = [32], split = 13107200, ordered = 1>
img.pipeline @tables {
  %a = img.input "a" : !img.func<1xui8>
  %n = img.extent 0 of %a : !img.func<1xui8>
  %c0 = arith.constant 0 : index
  %h0 = img.group "zero" schedule #schedule.block_tile<tile = [256], threads = [256]> {
    %s = img.stage "zero" (%x) -> f32 {
      %z = arith.constant 0.0 : f32
      img.yield %z : f32
    }
    img.yield %s : !img.func<1xf32>
  } : !img.func<1xf32>
  %h1 = img.group "many" schedule #schedule.scatter<threads = [32], split = 26214400, ordered = 1> {
    %u = img.update "many" () over (%x in [%c0, %n]) of (%old = %h0 : !img.func<1xf32>) combine [add] {
      %v = img.read %a[%x] : !img.func<1xui8>
      %w = arith.extui %v : i8 to i32
      %i = arith.index_cast %w : i32 to index
      %one = arith.constant 1.0 : f32
      img.write %one at [%i] : f32
    }
    img.yield %u : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "h" = %h1 : !img.func<1xf32>
}

// -----

// CHECK: error: group 'sum': {{[0-9]+}} bytes of workspace 'partial0' for 'sum', where a GPU has 24000000000 on l4. Use fewer warps, or a smaller split, or fix=true
// FIXED-DAG: error: group 'sum': {{.*}} No fewer warps and no smaller split are left
img.pipeline @split {
  %a = img.input "a" : !img.func<1xf32>
  %n = img.extent 0 of %a : !img.func<1xf32>
  %c0 = arith.constant 0 : index
  %h0 = img.group "zero" schedule #schedule.block_tile<tile = [256], threads = [256]> {
    %s = img.stage "zero" (%x) -> f32 {
      %z = arith.constant 0.0 : f32
      img.yield %z : f32
    }
    img.yield %s : !img.func<1xf32>
  } : !img.func<1xf32>
  %h1 = img.group "sum" schedule #schedule.reduce<tile = [4], threads = [32, 4], split = 2000000000> {
    %u = img.update "sum" (%p) over (%x in [%c0, %n]) of (%old = %h0 : !img.func<1xf32>) combine [add] {
      %v = img.read %a[%x] : !img.func<1xf32>
      img.write %v at [%p] : f32
    }
    img.yield %u : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "h" = %h1 : !img.func<1xf32>
}

// -----

// CHECK: error: group 'bytes': there are no atomics on elements of f32, only on integers of 32 and 64 bits; write ordered = 1, for a table per thread
// FIXED-DAG: error: group 'bytes': there are no atomics
img.pipeline @atomics {
  %a = img.input "a" : !img.func<1xui8>
  %n = img.extent 0 of %a : !img.func<1xui8>
  %c0 = arith.constant 0 : index
  %h0 = img.group "zero" schedule #schedule.block_tile<tile = [256], threads = [256]> {
    %s = img.stage "zero" (%x) -> f32 {
      %z = arith.constant 0.0 : f32
      img.yield %z : f32
    }
    img.yield %s : !img.func<1xf32>
  } : !img.func<1xf32>
  %h1 = img.group "bytes" schedule #schedule.scatter<threads = [32], copies = 1> {
    %u = img.update "bytes" () over (%x in [%c0, %n]) of (%old = %h0 : !img.func<1xf32>) combine [add] {
      %v = img.read %a[%x] : !img.func<1xui8>
      %w = arith.extui %v : i8 to i32
      %i = arith.index_cast %w : i32 to index
      %one = arith.constant 1.0 : f32
      img.write %one at [%i] : f32
    }
    img.yield %u : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "h" = %h1 : !img.func<1xf32>
}

// -----

// Tables would be of places that nothing needs.
// CHECK: error: group 'none': its domain has no points
// FIXED-DAG: error: group 'none': its domain has no points
img.pipeline @nothing_to_fold {
  %c0 = arith.constant 0 : index
  %h0 = img.group "zero" schedule #schedule.block_tile<tile = [256], threads = [256]> {
    %s = img.stage "zero" (%x) -> si32 {
      %z = arith.constant 0 : i32
      img.yield %z : i32
    }
    img.yield %s : !img.func<1xsi32>
  } : !img.func<1xsi32>
  %h1 = img.group "none" schedule #schedule.scatter<threads = [32], ordered = 1> {
    %u = img.update "none" () over (%r in [%c0, %c0]) of (%old = %h0 : !img.func<1xsi32>) combine [add] {
      %one = arith.constant 1 : i32
      img.write %one at [%r * 2 - 1] : i32
    }
    img.yield %u : !img.func<1xsi32>
  } : !img.func<1xsi32>
  img.return "h" = %h1 : !img.func<1xsi32>
}

// -----

// Tables would be of places that nothing needs.
// CHECK: error: group 'none': its domain has no points
// FIXED-DAG: error: group 'none': its domain has no points
img.pipeline @nothing_to_own {
  %c0 = arith.constant 0 : index
  %h0 = img.group "zero" schedule #schedule.block_tile<tile = [32, 4], threads = [32, 4]> {
    %s = img.stage "zero" (%x, %y) -> si32 {
      %z = arith.constant 0 : i32
      img.yield %z : i32
    }
    img.yield %s : !img.func<2xsi32>
  } : !img.func<2xsi32>
  %h1 = img.group "none" schedule #schedule.scatter<threads = [32], thread_tables = 1> {
    %u = img.update "none" (%y) over (%r in [%c0, %c0]) of (%old = %h0 : !img.func<2xsi32>) combine [add] {
      %one = arith.constant 1 : i32
      img.write %one at [%r * 2 - 1, %y] : i32
    }
    img.yield %u : !img.func<2xsi32>
  } : !img.func<2xsi32>
  img.return "h" = %h1 : !img.func<2xsi32>
}
