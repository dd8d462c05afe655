// RUN: pipeline-opt %s --split-input-file -p specialize-stages | filecheck %s

// A table that reads nothing gives constants, also among indices.

// CHECK-LABEL: img.pipeline @table
// CHECK-NOT:     img.stage "squares"
// CHECK:         img.stage "f" (%[[X:.*]]) -> f32 {
// CHECK-NEXT:      %[[V:.*]] = img.read %in[%[[X]] + 9] : !img.func<1xf32>
// CHECK-NEXT:      img.yield %[[V]] : f32
img.pipeline @table {
  %in = img.input "in" : !img.func<1xf32>
  %squares = img.stage "squares" (%t) -> si32 {
    %n = arith.index_cast %t : index to i32
    %s = arith.muli %n, %n : i32
    img.yield %s : i32
  }
  %f = img.stage "f" (%x) -> f32 {
    %n = img.read %squares[-3] : !img.func<1xsi32>
    %i = arith.index_cast %n : i32 to index
    %v = img.read %in[%x + %i] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "f" = %f : !img.func<1xf32>
}

// -----

// No finite numbers, and points that only the call knows: both stay.

// CHECK-LABEL: img.pipeline @stays
// CHECK:         img.stage "logs"
// CHECK:         img.stage "squares"
img.pipeline @stays {
  %in = img.input "in" : !img.func<1xf32>
  %logs = img.stage "logs" (%t) -> f32 {
    %n = arith.index_cast %t : index to i32
    %s = arith.sitofp %n : i32 to f32
    %l = math.log %s : f32
    img.yield %l : f32
  }
  %squares = img.stage "squares" (%t) -> f32 {
    %n = arith.index_cast %t : index to i32
    %s = arith.sitofp %n : i32 to f32
    img.yield %s : f32
  }
  %f = img.stage "f" (%x) -> f32 {
    %l = img.read %logs[0] : !img.func<1xf32>
    %s = img.read %squares[%x] : !img.func<1xf32>
    %v = arith.addf %l, %s : f32
    img.yield %v : f32
  }
  img.return "f" = %f : !img.func<1xf32>
}

// -----

// A function that chooses by a coordinate is what it chooses.

// CHECK-LABEL: img.pipeline @choice
// CHECK:         img.stage "f" (%[[X:.*]]) -> f32 {
// CHECK-NEXT:      %[[V:.*]] = img.read %in[%[[X]] + 2] : !img.func<1xf32>
// CHECK-NEXT:      img.yield %[[V]] : f32
img.pipeline @choice {
  %in = img.input "in" : !img.func<1xf32>
  %chosen = img.stage "chosen" (%x, %t) -> f32 {
    %a = img.read %in[%x + 1] : !img.func<1xf32>
    %b = img.read %in[%x + 2] : !img.func<1xf32>
    %c = img.read %in[%x + 3] : !img.func<1xf32>
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %three = arith.constant 3 : index
    %is_one = arith.cmpi eq, %t, %one : index
    %is_two = arith.cmpi eq, %t, %two : index
    %is_three = arith.cmpi eq, %t, %three : index
    %or_three = arith.select %is_three, %c, %a : f32
    %or_two = arith.select %is_two, %b, %or_three : f32
    %r = arith.select %is_one, %a, %or_two : f32
    img.yield %r : f32
  }
  %f = img.stage "f" (%x) -> f32 {
    %v = img.read %chosen[%x, 2] : !img.func<2xf32>
    img.yield %v : f32
  }
  img.return "f" = %f : !img.func<1xf32>
}
