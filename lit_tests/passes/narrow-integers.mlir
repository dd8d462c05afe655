// RUN: pipeline-opt %s -p narrow-integers | filecheck %s
// RUN: pipeline-opt %s -p 'narrow-integers,group-stages{target=zen3},tile{target=zen3},promote-memory,lower-groups,expand-division' -t c | filecheck %s --check-prefix=C

// A sum of three bytes fits 16 bits, its third needs no clamp, and no correction for negative numbers.

// CHECK-LABEL: img.stage "mean"
// CHECK:         arith.extui %a : i8 to i16
// CHECK:         %s = arith.addi %ab, %c32 : i16
// CHECK:         %q = arith.divui %s, %three : i16
// CHECK-NEXT:    %r = arith.trunci %q : i16 to i8
// CHECK-NEXT:    img.yield %r : i8
// C:             unsigned short

// A difference of bytes is a function of 16 bits, whose reader extends it; its magnitude, with an end, of as many.

// CHECK-LABEL: img.stage "step"
// CHECK-SAME:    -> si16
// CHECK:         arith.subi %{{.*}}, %{{.*}} : i16
// CHECK-LABEL: img.stage "edges"
// CHECK:         math.absi %{{.*}} : i16
// CHECK:         arith.minui %{{.*}}, %{{.*}} : i16
// CHECK-NEXT:    arith.trunci %{{.*}} : i16 to i8

// The lowest bits of a sum are the sum of lowest bits; bytes are compared as bytes.

// CHECK-LABEL: img.stage "wrapped"
// CHECK:         arith.addi %{{.*}}, %{{.*}} : i8
// CHECK-LABEL: img.stage "chosen"
// CHECK:         arith.cmpi ult, [[A:%.*]], [[B:%.*]] : i8
// CHECK-NEXT:    arith.select %{{.*}}, [[B]], [[A]] : i8

// A product of two 16-bit numbers, of which upper bits count, a float's integer and an input's number stay.

// CHECK-LABEL: img.stage "scaled"
// CHECK:         arith.muli %{{.*}}, %{{.*}} : i32
// CHECK:         arith.shrui %{{.*}}, %sixteen : i32
// CHECK-LABEL: img.stage "others"
// CHECK-SAME:    -> (si32, ui8)
// CHECK:         arith.fptosi %{{.*}} : f32 to i32
// CHECK:         arith.minsi %{{.*}}, %{{.*}} : i32

// A cast of a float that is cut stays cut: such casts need no saturation.

// CHECK-LABEL: img.stage "level"
// CHECK:         arith.trunci %{{.*}} : i32 to i8
// CHECK-NEXT:    arith.extui %{{.*}} : i8 to i32
img.pipeline @narrow {
  %in = img.input "in" : !img.func<2xui8>
  %wide = img.input "wide" : !img.func<2xui16>
  %floats = img.input "floats" : !img.func<2xf32>
  %mean = img.stage "mean" (%x, %y) -> ui8 {
    %a = img.read %in[%x - 1, %y] : !img.func<2xui8>
    %b = img.read %in[%x, %y] : !img.func<2xui8>
    %c = img.read %in[%x + 1, %y] : !img.func<2xui8>
    %a32 = arith.extui %a : i8 to i32
    %b32 = arith.extui %b : i8 to i32
    %c32 = arith.extui %c : i8 to i32
    %ab = arith.addi %a32, %b32 : i32
    %s = arith.addi %ab, %c32 : i32
    %three = arith.constant 3 : i32
    %q = img.div signed %s, %three : i32
    %zero = arith.constant 0 : i32
    %most = arith.constant 255 : i32
    %low = arith.maxsi %q, %zero : i32
    %m = arith.minsi %low, %most : i32
    %r = arith.trunci %m : i32 to i8
    img.yield %r : i8
  }
  %step = img.stage "step" (%x, %y) -> si32 {
    %a = img.read %in[%x - 1, %y] : !img.func<2xui8>
    %b = img.read %in[%x + 1, %y] : !img.func<2xui8>
    %a32 = arith.extui %a : i8 to i32
    %b32 = arith.extui %b : i8 to i32
    %d = arith.subi %b32, %a32 : i32
    img.yield %d : i32
  }
  %edges = img.stage "edges" (%x, %y) -> ui8 {
    %d = img.read %step[%x, %y] : !img.func<2xsi32>
    %e = img.read %step[%x, %y + 1] : !img.func<2xsi32>
    %two = arith.constant 2 : i32
    %most = arith.constant 255 : i32
    %f = arith.muli %e, %two : i32
    %g = arith.addi %d, %f : i32
    %n = math.absi %g : i32
    %m = arith.minsi %n, %most : i32
    %r = arith.trunci %m : i32 to i8
    img.yield %r : i8
  }
  %wrapped = img.stage "wrapped" (%x, %y) -> ui8 {
    %a = img.read %mean[%x, %y] : !img.func<2xui8>
    %b = img.read %edges[%x, %y] : !img.func<2xui8>
    %a32 = arith.extui %a : i8 to i32
    %b32 = arith.extui %b : i8 to i32
    %s = arith.addi %a32, %b32 : i32
    %r = arith.trunci %s : i32 to i8
    img.yield %r : i8
  }
  %chosen = img.stage "chosen" (%x, %y) -> ui8 {
    %a = img.read %mean[%x, %y] : !img.func<2xui8>
    %b = img.read %wrapped[%x, %y] : !img.func<2xui8>
    %a32 = arith.extui %a : i8 to i32
    %b32 = arith.extui %b : i8 to i32
    %less = arith.cmpi slt, %a32, %b32 : i32
    %s = arith.select %less, %b32, %a32 : i32
    %r = arith.trunci %s : i32 to i8
    img.yield %r : i8
  }
  %scaled = img.stage "scaled" (%x, %y) -> ui16 {
    %a = img.read %wide[%x, %y] : !img.func<2xui16>
    %b = img.read %wide[%x, %y + 1] : !img.func<2xui16>
    %a32 = arith.extui %a : i16 to i32
    %b32 = arith.extui %b : i16 to i32
    %p = arith.muli %a32, %b32 : i32
    %sixteen = arith.constant 16 : i32
    %h = arith.shrui %p, %sixteen : i32
    %r = arith.trunci %h : i32 to i16
    img.yield %r : i16
  }
  %others, %kept = img.stage "others" (%x, %y) -> (si32, ui8) {
    %f = img.read %floats[%x, %y] : !img.func<2xf32>
    %i = arith.fptosi %f : f32 to i32
    %most = arith.constant 255 : i32
    %zero = arith.constant 0 : i32
    %low = arith.maxsi %i, %zero : i32
    %m = arith.minsi %low, %most : i32
    %r = arith.trunci %m : i32 to i8
    img.yield %i, %r : i32, i8
  }
  %level = img.stage "level" (%x, %y) -> si32 {
    %f = img.read %floats[%x, %y] : !img.func<2xf32>
    %zero = arith.constant 0.0 : f32
    %most = arith.constant 255.0 : f32
    %low = arith.maxnumf %f, %zero : f32
    %m = arith.minnumf %low, %most : f32
    %i = arith.fptoui %m : f32 to i32
    %c = arith.trunci %i : i32 to i8
    %w = arith.extui %c : i8 to i32
    img.yield %w : i32
  }
  img.return "chosen" = %chosen : !img.func<2xui8>, "scaled" = %scaled : !img.func<2xui16>, "others" = %others : !img.func<2xsi32>, "kept" = %kept : !img.func<2xui8>, "level" = %level : !img.func<2xsi32>
}
