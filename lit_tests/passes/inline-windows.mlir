// RUN: pipeline-opt %s -p 'group-updates{target=cpu},inline-windows{extent=16,112}' | filecheck %s
// RUN: pipeline-opt %s -p 'group-updates{target=cpu},inline-windows{extent=8192,112}' | filecheck %s --check-prefix=WIDE
// RUN: pipeline-opt %s -p 'group-updates{target=cpu},inline-windows{extent=8192,112 force=true}' | filecheck %s

// The sum over %c reads two points of each channel's own, at places that all of its columns have in common: its body has
// them, but where these are so many that a point would be computed too often. What %x moves stays in a kernel of its own.

img.pipeline @mixed {
  %in = img.input "in" : !img.func<2xf32>
  %own = img.input "own" : !img.func<2xf32>
  %weights = img.input "weights" : !img.func<2xf32>
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %n = arith.constant 64 : index
  %s0 = img.stage "start" (%c, %y) -> f32 {
    %v = arith.constant 0.0 : f32
    img.yield %v : f32
  }
  %s = img.update "by_channel" (%c, %y) over (%r in [%zero, %two]) of (%h = %s0 : !img.func<2xf32>) combine [add] {
    %a = img.read %own[%c, %r] : !img.func<2xf32>
    %b = img.read %in[%c, %y + %r] : !img.func<2xf32>
    %p = arith.mulf %a, %b : f32
    img.write %p at [%c, %y] : f32
  }
  %w0 = img.stage "start_of_weights" (%x, %c) -> f32 {
    %v = arith.constant 0.0 : f32
    img.yield %v : f32
  }
  %w = img.update "of_columns" (%x, %c) over (%r in [%zero, %two]) of (%h = %w0 : !img.func<2xf32>) combine [add] {
    %a = img.read %weights[%x + %r, %c] : !img.func<2xf32>
    img.write %a at [%x, %c] : f32
  }
  %m0 = img.stage "start_of_mixed" (%x, %y) -> f32 {
    %v = arith.constant 0.0 : f32
    img.yield %v : f32
  }
  %m = img.update "mixed" (%x, %y) over (%c in [%zero, %n]) of (%h = %m0 : !img.func<2xf32>) combine [add] {
    %a = img.read %w[%x, %c] : !img.func<2xf32>
    %b = img.read %s[%c, %y] : !img.func<2xf32>
    %p = arith.mulf %a, %b : f32
    img.write %p at [%x, %y] : f32
  }
  img.return "mixed" = %m : !img.func<2xf32>
}

// CHECK-NOT:  img.group "by_channel"
// CHECK:      img.group "of_columns"
// CHECK-NOT:  img.group "by_channel"
// CHECK:      img.update "mixed" (%x{{.*}}, %y{{.*}}) over (%c
// CHECK:        %{{.*}} = img.read %w[
// CHECK:        %{{.*}} = img.read %own[%c{{.*}}, 0]
// CHECK:        %{{.*}} = img.read %own[%c{{.*}}, 1]
// CHECK:        img.write

// WIDE:       img.group "by_channel"
// WIDE:       img.group "of_columns"
// WIDE:       img.group "mixed"
