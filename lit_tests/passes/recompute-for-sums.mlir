// RUN: pipeline-opt %s -p 'group-stages{extent=1536,2560}' | filecheck %s
// RUN: pipeline-opt %s -p 'group-stages{extent=1536,2560 recompute=false}' | filecheck %s --check-prefix=STORED

// A weight at every step of a sum, read once for each of four planes: a thread sums these together, so it computes
// the weight, which then goes through no memory.

// CHECK-LABEL: img.pipeline @weighted
// CHECK-NOT:     img.stage "weight"
// CHECK:         img.update "sum"
// CHECK:           arith.divf
// CHECK:           img.write
// STORED:        img.stage "weight"
img.pipeline @weighted {
  %in = img.input "in" : !img.func<2xf32>
  %weight = img.stage "weight" (%x, %y, %z) -> f32 {
    %a = img.read %in[%x, %y] : !img.func<2xf32>
    %i = arith.index_cast %z : index to i32
    %f = arith.sitofp %i : i32 to f32
    %p = arith.mulf %a, %f : f32
    %q = arith.divf %p, %f : f32
    %r = arith.divf %q, %a : f32
    img.yield %r : f32
  }
  %zero = img.stage "zero" (%x, %y, %c) -> f32 bounds #img.box<[*, *, 0:4]> {
    %0 = arith.constant 0.0 : f32
    img.yield %0 : f32
  }
  %lo = arith.constant 0 : index
  %n = arith.constant 100 : index
  %sum = img.update "sum" (%x, %y, %c) over (%r in [%lo, %n]) of (%old = %zero : !img.func<3xf32>) combine [add] {
    %w = img.read %weight[%x, %y, %r] : !img.func<3xf32>
    %v = img.read %in[%x + %r, %y + %c] : !img.func<2xf32>
    %p = arith.mulf %w, %v : f32
    img.write %p at [%x, %y, %c] : f32
  }
  img.return "sum" = %sum : !img.func<3xf32>
}
