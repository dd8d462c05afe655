// A filter down all columns and up again: on a CPU all its updates are one group, with the stage that they start from and
// the stage that alone reads the last one; on a GPU each is a kernel's.
// RUN: pipeline-opt %s -p 'group-updates{target=cpu}' | filecheck %s
// RUN: pipeline-opt %s -p 'group-updates{target=h200}' | filecheck %s --check-prefix=GPU

// CHECK:      %half = img.group "up" {
// CHECK-NEXT:   %start = img.stage "start"
// CHECK:        %first = img.update "first" (%{{.*}}) of (%{{.*}} = %start
// CHECK:        %down = img.update "down" {{.*}} of (%{{.*}} = %first
// CHECK:        %up = img.update "up" {{.*}} of (%{{.*}} = %down
// CHECK:        %half_1 = img.stage "half"
// CHECK:        img.yield %half_1
// CHECK:      img.group "across" {
// CHECK-NEXT:   img.update "across"
// CHECK:      img.group "last" {
// CHECK-NEXT:   img.update "last"

// GPU-DAG: img.group "first" {
// GPU-DAG: img.group "down" {
// GPU-DAG: img.group "up" {
img.pipeline @filter {
  %in = img.input "in" : !img.func<2xf32>
  %n = img.extent 1 of %in : !img.func<2xf32>
  %one = arith.constant 1 : index
  %start = img.stage "start" (%x, %y) -> f32 {
    %zero = arith.constant 0.0 : f32
    img.yield %zero : f32
  }
  %first = img.update "first" (%x) of (%h = %start : !img.func<2xf32>) {
    %v = img.read %in[%x, 0] : !img.func<2xf32>
    img.write %v at [%x, 0] : f32
  }
  %down = img.update "down" (%x) over (%r in [%one, %n]) of (%h = %first : !img.func<2xf32>) {
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
  %half = img.stage "half" (%x, %y) -> f32 {
    %v = img.read %up[%x, %y] : !img.func<2xf32>
    %h = arith.constant 0.5 : f32
    %w = arith.mulf %v, %h : f32
    img.yield %w : f32
  }
  // other lines
  %again = img.stage "again" (%x, %y) -> f32 {
    %v = img.read %half[%x, %y] : !img.func<2xf32>
    img.yield %v : f32
  }
  %across = img.update "across" (%y) over (%r in [%one, %n]) of (%h = %again : !img.func<2xf32>) {
    %a = img.read %h[%r - 1, %y] : !img.func<2xf32>
    %b = img.read %in[%r, %y] : !img.func<2xf32>
    %v = arith.addf %a, %b : f32
    img.write %v at [%r, %y] : f32
  }
  %last = img.update "last" (%x) over (%r in [%one, %n]) of (%h = %across : !img.func<2xf32>) {
    %a = img.read %h[%x, %r - 1] : !img.func<2xf32>
    %b = img.read %in[%x, %r] : !img.func<2xf32>
    %v = arith.addf %a, %b : f32
    img.write %v at [%x, %r] : f32
  }
  img.return "last" = %last : !img.func<2xf32>
}
