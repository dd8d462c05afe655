// RUN: pipeline-opt %s --split-input-file -p raise-exteriors | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p 'raise-exteriors{keep_rows=true}' | filecheck %s --check-prefix=ROWS

// Zeros around a picture, as users write them: what is clamped inside lies in the same box, and is not needed.

// CHECK-LABEL: img.pipeline @zeros
// CHECK:         %bounded = img.boundary constant_exterior %in dims [1, 2] in {{.*}} by [%w, %h] value %{{.*}} : !img.func<3xf32>
// CHECK-NEXT:    %out = img.stage "out"
// CHECK-NEXT:      img.read %bounded[%c, %x - 1, %y] : !img.func<3xf32>
img.pipeline @zeros {
  %in = img.input "in" : !img.func<3xf32>
  %w = img.extent 1 of %in : !img.func<3xf32>
  %h = img.extent 2 of %in : !img.func<3xf32>
  %zero = arith.constant 0 : index
  %edge = img.boundary repeat_edge %in dims [1, 2] in [%zero, %zero] by [%w, %h] : !img.func<3xf32>
  %bounded = img.stage "bounded" (%c, %x, %y) -> f32 {
    %none = arith.constant 0 : i32
    %x32 = arith.index_cast %x : index to i32
    %y32 = arith.index_cast %y : index to i32
    %w32 = arith.index_cast %w : index to i32
    %a = arith.cmpi sge, %x32, %none : i32
    %b = arith.cmpi sgt, %w32, %x32 : i32
    %d = arith.cmpi sge, %y32, %none : i32
    %e = arith.cmpi slt, %y, %h : index
    %ab = arith.andi %a, %b : i1
    %abd = arith.andi %ab, %d : i1
    %inside = arith.andi %abd, %e : i1
    %v = img.read %edge[%c, %x, %y] : !img.func<3xf32>
    %f0 = arith.constant 0.0 : f32
    %r = arith.select %inside, %v, %f0 : f32
    img.yield %r : f32
  }
  %out = img.stage "out" (%c, %x, %y) -> f32 {
    %v = img.read %bounded[%c, %x - 1, %y] : !img.func<3xf32>
    img.yield %v : f32
  }
  img.return "out" = %out : !img.func<3xf32>
}

// -----

// Ends that are not those of the edges inside: these stay.

// CHECK-LABEL: img.pipeline @smaller
// CHECK:         %edge = img.boundary repeat_edge %in dims [0]
// CHECK:         %bounded = img.boundary constant_exterior %edge dims [0] in [%{{.*}}] by [%{{.*}}] value
img.pipeline @smaller {
  %in = img.input "in" : !img.func<1xf32>
  %edge = img.boundary repeat_edge %in dims [0] : !img.func<1xf32>
  %bounded = img.stage "bounded" (%x) -> f32 {
    %two = arith.constant 2 : index
    %ten = arith.constant 10 : index
    %a = arith.cmpi sgt, %x, %two : index
    %b = arith.cmpi sle, %x, %ten : index
    %inside = arith.andi %a, %b : i1
    %v = img.read %edge[%x] : !img.func<1xf32>
    %f1 = arith.constant 1.0 : f32
    %r = arith.select %inside, %v, %f1 : f32
    img.yield %r : f32
  }
  %out = img.stage "out" (%x) -> f32 {
    %v = img.read %bounded[%x + 1] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "out" = %out : !img.func<1xf32>
}

// -----

// No box: an end is missing, a condition is on data, or the stage is stored.

// CHECK-LABEL: img.pipeline @others
// CHECK-NOT:     constant_exterior
img.pipeline @others {
  %in = img.input "in" : !img.func<1xf32>
  %half = img.stage "half" (%x) -> f32 {
    %two = arith.constant 2 : index
    %a = arith.cmpi sgt, %x, %two : index
    %v = img.read %in[%x] : !img.func<1xf32>
    %f1 = arith.constant 1.0 : f32
    %r = arith.select %a, %v, %f1 : f32
    img.yield %r : f32
  }
  %data = img.stage "data" (%x) -> f32 {
    %v = img.read %half[%x] : !img.func<1xf32>
    %f1 = arith.constant 1.0 : f32
    %a = arith.cmpf olt, %v, %f1 : f32
    %r = arith.select %a, %v, %f1 : f32
    img.yield %r : f32
  }
  %stored = img.stage "stored" (%x) -> f32 {
    %two = arith.constant 2 : index
    %ten = arith.constant 10 : index
    %a = arith.cmpi sge, %x, %two : index
    %b = arith.cmpi sle, %x, %ten : index
    %inside = arith.andi %a, %b : i1
    %v = img.read %data[%x] : !img.func<1xf32>
    %f1 = arith.constant 1.0 : f32
    %r = arith.select %inside, %v, %f1 : f32
    img.yield %r : f32
  }
  img.return "stored" = %stored : !img.func<1xf32>
}

// -----

// With `rows` what an update reads stays a stage, if the box has ends along x.

// CHECK-LABEL: img.pipeline @read_by_updates
// CHECK:         %across = img.boundary constant_exterior %in dims [1]
// CHECK:         %along = img.boundary constant_exterior %in dims [0]
// ROWS-LABEL:  img.pipeline @read_by_updates
// ROWS:          %across = img.boundary constant_exterior %in dims [1]
// ROWS:          %along = img.stage "along"
img.pipeline @read_by_updates {
  %in = img.input "in" : !img.func<2xf32>
  %two = arith.constant 2 : index
  %ten = arith.constant 10 : index
  %across = img.stage "across" (%x, %y) -> f32 {
    %a = arith.cmpi sge, %y, %two : index
    %b = arith.cmpi sle, %y, %ten : index
    %inside = arith.andi %a, %b : i1
    %v = img.read %in[%x, %y] : !img.func<2xf32>
    %f0 = arith.constant 0.0 : f32
    %r = arith.select %inside, %v, %f0 : f32
    img.yield %r : f32
  }
  %along = img.stage "along" (%x, %y) -> f32 {
    %a = arith.cmpi sge, %x, %two : index
    %b = arith.cmpi sle, %x, %ten : index
    %inside = arith.andi %a, %b : i1
    %v = img.read %in[%x, %y] : !img.func<2xf32>
    %f0 = arith.constant 0.0 : f32
    %r = arith.select %inside, %v, %f0 : f32
    img.yield %r : f32
  }
  %zero = img.stage "zero" (%x, %y) -> f32 {
    %f0 = arith.constant 0.0 : f32
    img.yield %f0 : f32
  }
  %sum = img.update "sum" (%x, %y) over (%k in [%two, %ten]) of (%old = %zero : !img.func<2xf32>) combine [add] {
    %v = img.read %across[%x, %y + %k] : !img.func<2xf32>
    %w = img.read %along[%x + %k, %y] : !img.func<2xf32>
    %p = arith.mulf %v, %w : f32
    img.write %p at [%x, %y] : f32
  }
  img.return "sum" = %sum : !img.func<2xf32>
}
