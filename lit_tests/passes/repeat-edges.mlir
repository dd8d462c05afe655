// RUN: pipeline-opt %s --split-input-file -p 'group-stages{algorithm=none},repeat-edges{extent=100}' | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p 'group-stages{algorithm=none},repeat-edges{extent=10000}' | filecheck %s --check-prefix=LARGE

// From -1 on, and up from where 2 x - 1 is the last pixel, it repeats its values. Of a large picture that saves little.

// CHECK-LABEL: img.pipeline @halved
// CHECK:         %{{.*}} = img.min 0 of %in
// CHECK:         %{{.*}} = arith.floordivsi %{{.*}}, %{{.*}} : index
// CHECK:         %half = img.group "half"
// CHECK:         %[[EDGES:.*]] = img.boundary repeat_edge %half dims [0] in [%{{.*}}] by [%{{.*}}] : !img.func<1xf32>
// CHECK:           img.read %[[EDGES]][%{{.*}} - 9] : !img.func<1xf32>
// CHECK:           img.read %[[EDGES]][%{{.*}} + 9] : !img.func<1xf32>
// LARGE-LABEL: img.pipeline @halved
// LARGE-NOT:     img.boundary repeat_edge %half
img.pipeline @halved {
  %in = img.input "in" : !img.func<1xf32>
  %edge = img.boundary repeat_edge %in dims [0] : !img.func<1xf32>
  %half = img.stage "half" (%x) -> f32 {
    %a = img.read %edge[2 * %x - 1] : !img.func<1xf32>
    %b = img.read %edge[2 * %x + 2] : !img.func<1xf32>
    %r = arith.addf %a, %b : f32
    img.yield %r : f32
  }
  %out = img.stage "out" (%x) -> f32 {
    %a = img.read %half[%x floordiv 2 - 9] : !img.func<1xf32>
    %b = img.read %half[%x floordiv 2 + 9] : !img.func<1xf32>
    %r = arith.addf %a, %b : f32
    img.yield %r : f32
  }
  img.return "out" = %out : !img.func<1xf32>
}

// -----

// A coordinate that is a value, an output, and a function that a boundary repeats otherwise: these stay.

// CHECK-LABEL: img.pipeline @others
// CHECK-NOT:     img.boundary repeat_edge %{{counted|given|mirrored}}
img.pipeline @others {
  %in = img.input "in" : !img.func<1xf32>
  %edge = img.boundary repeat_edge %in dims [0] : !img.func<1xf32>
  %mirror = img.boundary mirror_image %in dims [0] : !img.func<1xf32>
  %counted = img.stage "counted" (%x) -> f32 {
    %a = img.read %edge[%x] : !img.func<1xf32>
    %i = arith.index_cast %x : index to i32
    %n = arith.sitofp %i : i32 to f32
    %r = arith.addf %a, %n : f32
    img.yield %r : f32
  }
  %given = img.stage "given" (%x) -> f32 {
    %r = img.read %edge[%x + 1] : !img.func<1xf32>
    img.yield %r : f32
  }
  %mirrored = img.stage "mirrored" (%x) -> f32 {
    %r = img.read %mirror[%x + 1] : !img.func<1xf32>
    img.yield %r : f32
  }
  %out = img.stage "out" (%x) -> f32 {
    %a = img.read %counted[%x - 30] : !img.func<1xf32>
    %b = img.read %given[%x - 30] : !img.func<1xf32>
    %c = img.read %mirrored[%x - 30] : !img.func<1xf32>
    %ab = arith.addf %a, %b : f32
    %r = arith.addf %ab, %c : f32
    img.yield %r : f32
  }
  img.return "out" = %out : !img.func<1xf32>, "given" = %given : !img.func<1xf32>
}
