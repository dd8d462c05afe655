// RUN: pipeline-opt %s --split-input-file -p 'group-updates{target=zen3}' | filecheck %s

// On a CPU a stage that gathers columns at more than one place is no part of an update's kernel, where these would be
// loaded one by one.

// Two reads of every second column.

// CHECK-LABEL: img.pipeline @every_second_column
// CHECK:        img.stage "start"
// CHECK:        img.group "up" {
// CHECK-NEXT:     img.update "down"
img.pipeline @every_second_column {
  %in = img.input "in" : !img.func<2xf32>
  %n = img.extent 1 of %in : !img.func<2xf32>
  %one = arith.constant 1 : index
  %edged = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xf32>
  %start = img.stage "start" (%x, %y) -> f32 {
    %a = img.read %in[2 * %x, %y] : !img.func<2xf32>
    %b = img.read %in[2 * %x + 1, %y] : !img.func<2xf32>
    %v = arith.addf %a, %b : f32
    img.yield %v : f32
  }
  %down = img.update "down" (%x) over (%r in [%one, %n]) of (%h = %start : !img.func<2xf32>) {
    %a = img.read %h[%x, %r - 1] : !img.func<2xf32>
    %b = img.read %h[%x, %r] : !img.func<2xf32>
    %v = arith.addf %a, %b : f32
    img.write %v at [%x, %r] : f32
  }
  %up = img.update "up" (%x) over (%r in [%one, %n]) of (%h = %down : !img.func<2xf32>) {
    %a = img.read %h[%x, %n + %r * -1] : !img.func<2xf32>
    %b = img.read %h[%x, %n + %r * -1 - 1] : !img.func<2xf32>
    %v = arith.addf %a, %b : f32
    img.write %v at [%x, %n + %r * -1 - 1] : f32
  }
  img.return "up" = %up : !img.func<2xf32>
}

// -----

// Two reads of columns that may lie past the edges.

// CHECK-LABEL: img.pipeline @past_the_edges
// CHECK:        img.stage "start"
// CHECK:        img.group "up" {
// CHECK-NEXT:     img.update "down"
img.pipeline @past_the_edges {
  %in = img.input "in" : !img.func<2xf32>
  %n = img.extent 1 of %in : !img.func<2xf32>
  %one = arith.constant 1 : index
  %edged = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xf32>
  %start = img.stage "start" (%x, %y) -> f32 {
    %a = img.read %edged[%x - 1, %y] : !img.func<2xf32>
    %b = img.read %edged[%x + 1, %y] : !img.func<2xf32>
    %v = arith.addf %a, %b : f32
    img.yield %v : f32
  }
  %down = img.update "down" (%x) over (%r in [%one, %n]) of (%h = %start : !img.func<2xf32>) {
    %a = img.read %h[%x, %r - 1] : !img.func<2xf32>
    %b = img.read %h[%x, %r] : !img.func<2xf32>
    %v = arith.addf %a, %b : f32
    img.write %v at [%x, %r] : f32
  }
  %up = img.update "up" (%x) over (%r in [%one, %n]) of (%h = %down : !img.func<2xf32>) {
    %a = img.read %h[%x, %n + %r * -1] : !img.func<2xf32>
    %b = img.read %h[%x, %n + %r * -1 - 1] : !img.func<2xf32>
    %v = arith.addf %a, %b : f32
    img.write %v at [%x, %n + %r * -1 - 1] : f32
  }
  img.return "up" = %up : !img.func<2xf32>
}

// -----

// One such read costs less than a kernel.

// CHECK-LABEL: img.pipeline @one_of_them
// CHECK:        img.group "up" {
// CHECK-NEXT:     img.stage "start"
img.pipeline @one_of_them {
  %in = img.input "in" : !img.func<2xf32>
  %n = img.extent 1 of %in : !img.func<2xf32>
  %one = arith.constant 1 : index
  %edged = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xf32>
  %start = img.stage "start" (%x, %y) -> f32 {
    %a = img.read %in[2 * %x, %y] : !img.func<2xf32>
    %b = img.read %in[%x, %y] : !img.func<2xf32>
    %v = arith.addf %a, %b : f32
    img.yield %v : f32
  }
  %down = img.update "down" (%x) over (%r in [%one, %n]) of (%h = %start : !img.func<2xf32>) {
    %a = img.read %h[%x, %r - 1] : !img.func<2xf32>
    %b = img.read %h[%x, %r] : !img.func<2xf32>
    %v = arith.addf %a, %b : f32
    img.write %v at [%x, %r] : f32
  }
  %up = img.update "up" (%x) over (%r in [%one, %n]) of (%h = %down : !img.func<2xf32>) {
    %a = img.read %h[%x, %n + %r * -1] : !img.func<2xf32>
    %b = img.read %h[%x, %n + %r * -1 - 1] : !img.func<2xf32>
    %v = arith.addf %a, %b : f32
    img.write %v at [%x, %n + %r * -1 - 1] : f32
  }
  img.return "up" = %up : !img.func<2xf32>
}
