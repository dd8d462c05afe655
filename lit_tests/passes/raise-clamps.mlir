// RUN: pipeline-opt %s --split-input-file -p raise-clamps | filecheck %s

// A coordinate that is clamped to the image's own box, however the ends are written.

// CHECK-LABEL: img.pipeline @own_box
// CHECK:         %in_clamped = img.boundary repeat_edge %in dims [0] : !img.func<1xf32>
// CHECK-NEXT:    %f = img.stage "f" (%x) -> f32 {
// CHECK-NEXT:      %v = img.read %in_clamped[%x - 1] : !img.func<1xf32>
// CHECK-NEXT:      %w = img.read %in_clamped[%x * -2 + 3] : !img.func<1xf32>
// CHECK-NEXT:      %r = arith.addf %v, %w : f32
img.pipeline @own_box {
  %in = img.input "in" : !img.func<1xf32>
  %low = img.min 0 of %in : !img.func<1xf32>
  %n = img.extent 0 of %in : !img.func<1xf32>
  %f = img.stage "f" (%x) -> f32 {
    %one = arith.constant 1 : i32
    %x32 = arith.index_cast %x : index to i32
    %left = arith.subi %x32, %one : i32
    %low32 = arith.index_cast %low : index to i32
    %n32 = arith.index_cast %n : index to i32
    %end = arith.addi %low32, %n32 : i32
    %last = arith.subi %end, %one : i32
    %a = arith.minsi %left, %last : i32
    %b = arith.maxsi %low32, %a : i32
    %i = arith.index_cast %b : i32 to index
    %v = img.read %in[%i] : !img.func<1xf32>
    // the ends the other way round, on indices
    %two = arith.constant 2 : index
    %three = arith.constant 3 : index
    %c1 = arith.constant 1 : index
    %twice = arith.muli %two, %x : index
    %mirrored = arith.subi %three, %twice : index
    %end2 = arith.subi %n, %c1 : index
    %last2 = arith.addi %end2, %low : index
    %c = arith.maxsi %mirrored, %low : index
    %d = arith.minsi %c, %last2 : index
    %w = img.read %in[%d] : !img.func<1xf32>
    %r = arith.addf %v, %w : f32
    img.yield %r : f32
  }
  img.return "f" = %f : !img.func<1xf32>
}

// -----

// From 0 on it is a box of its own, made once; dimensions that are not clamped stay, as data-dependent ones do.

// CHECK-LABEL: img.pipeline @own_ends
// CHECK:         %n = img.extent 1 of %in : !img.func<2xui8>
// CHECK-NEXT:    [[ZERO:%.*]] = arith.constant 0 : index
// CHECK-NEXT:    [[EDGE:%.*]] = img.boundary repeat_edge %in dims [1] in {{\[}}[[ZERO]]] by [%n] : !img.func<2xui8>
// CHECK-NEXT:    %f = img.stage "f" (%x, %y) -> ui8 {
// CHECK-NEXT:      %v = img.read [[EDGE]][%x floordiv 2, %y] : !img.func<2xui8>
// CHECK-NEXT:      %wide = arith.extui %v : i8 to i32
// CHECK-NEXT:      %at = arith.index_cast %wide : i32 to index
// CHECK-NEXT:      %w = img.read [[EDGE]][%at, %y] : !img.func<2xui8>
// CHECK-NEXT:      img.yield %w : i8
img.pipeline @own_ends {
  %in = img.input "in" : !img.func<2xui8>
  %n = img.extent 1 of %in : !img.func<2xui8>
  %f = img.stage "f" (%x, %y) -> ui8 {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %last = arith.subi %n, %one : index
    %a = arith.minsi %y, %last : index
    %i = arith.maxsi %a, %zero : index
    %v = img.read %in[%x floordiv 2, %i] : !img.func<2xui8>
    %wide = arith.extui %v : i8 to i32
    %at = arith.index_cast %wide : i32 to index
    %w = img.read %in[%at, %i] : !img.func<2xui8>
    img.yield %w : i8
  }
  img.return "f" = %f : !img.func<2xui8>
}

// -----

// A coarse level of a picture, whose size is a quotient.

// CHECK-LABEL: img.pipeline @quotients
// CHECK:         %n = img.extent 0 of %in : !img.func<1xf32>
// CHECK:         [[PART:%.*]] = arith.floordivsi %n, {{.*}} : index
// CHECK:         [[COUNT:%.*]] = arith.addi [[PART]], {{.*}} : index
// CHECK:         [[EDGE:%.*]] = img.boundary repeat_edge %half dims [0] in {{\[}}{{.*}}] by {{\[}}[[COUNT]]] : !img.func<1xf32>
// CHECK-NEXT:    %f = img.stage "f" (%x_1) -> f32 {
// CHECK-NEXT:      %w = img.read [[EDGE]][%x_1 - 1] : !img.func<1xf32>
// CHECK-NEXT:      img.yield %w : f32
img.pipeline @quotients {
  %in = img.input "in" : !img.func<1xf32>
  %half = img.stage "half" (%x) -> f32 {
    %v = img.read %in[%x * 2] : !img.func<1xf32>
    img.yield %v : f32
  }
  %n = img.extent 0 of %in : !img.func<1xf32>
  %f = img.stage "f" (%x) -> f32 {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %n32 = arith.index_cast %n : index to i32
    %last = arith.shrsi %n32, %one : i32
    %x32 = arith.index_cast %x : index to i32
    %left = arith.subi %x32, %one : i32
    %a = arith.minsi %left, %last : i32
    %b = arith.maxsi %a, %zero : i32
    %i = arith.index_cast %b : i32 to index
    %w = img.read %half[%i] : !img.func<1xf32>
    img.yield %w : f32
  }
  img.return "f" = %f : !img.func<1xf32>
}

// -----

// Not where the ends may cross, come with each call, where data is clamped, what could wrap around, or a sum of a
// clamped index.

// CHECK-LABEL: img.pipeline @others
// CHECK-NOT:     img.boundary
img.pipeline @others {
  %in = img.input "in" : !img.func<1xui8>
  %other = img.input "other" : !img.func<1xui8>
  %k = img.param "k" of si32 : i32
  %n = img.extent 0 of %in : !img.func<1xui8>
  %m = img.extent 0 of %other : !img.func<1xui8>
  %f = img.stage "f" (%x) -> ui8 {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %hundred = arith.constant 100 : index
    %k_index = arith.index_cast %k : i32 to index
    %last = arith.subi %n, %one : index
    %crossing = arith.subi %m, %one : index
    %a = arith.minsi %x, %crossing : index
    %b = arith.maxsi %a, %last : index
    %v1 = img.read %in[%b] : !img.func<1xui8>
    %c = arith.minsi %x, %k_index : index
    %d = arith.maxsi %c, %zero : index
    %v2 = img.read %in[%d] : !img.func<1xui8>
    %data = arith.extui %v1 : i8 to i32
    %at = arith.index_cast %data : i32 to index
    %e = arith.minsi %at, %last : index
    %g = arith.maxsi %e, %zero : index
    %v3 = img.read %in[%g] : !img.func<1xui8>
    %far = arith.muli %x, %hundred : index
    %h = arith.minsi %far, %last : index
    %i = arith.maxsi %h, %zero : index
    %v4 = img.read %in[%i] : !img.func<1xui8>
    %j = arith.minsi %x, %last : index
    %l = arith.maxsi %j, %zero : index
    %v5 = img.read %in[%l floordiv 2] : !img.func<1xui8>
    %narrow = arith.index_cast %x : index to i8
    %o = arith.index_cast %narrow : i8 to index
    %p = arith.minsi %o, %last : index
    %q = arith.maxsi %p, %zero : index
    %v6 = img.read %in[%q] : !img.func<1xui8>
    %s1 = arith.addi %v1, %v2 : i8
    %s2 = arith.addi %v3, %v4 : i8
    %s3 = arith.addi %v5, %v6 : i8
    %s4 = arith.addi %s1, %s2 : i8
    %s5 = arith.addi %s3, %s4 : i8
    img.yield %s5 : i8
  }
  img.return "f" = %f : !img.func<1xui8>
}
