// RUN: pipeline-opt %s -p plain-extrema | filecheck %s
// RUN: pipeline-opt %s -p 'plain-extrema,group-stages{target=zen3},tile{target=zen3},promote-memory,lower-groups{warps=false},expand-division' -t c | filecheck %s --check-prefix=C

// What is 0, 0.5 or 1 is no NaN, nor is it beyond a constant edge; what comes from an input, or a quotient, may be.

// CHECK-LABEL: img.pipeline @linked
// CHECK:         img.stage "linked"
// CHECK:           arith.maxnumf %a, %b fastmath<nnan> : f32
// CHECK:           arith.minnumf %m, %c fastmath<nnan> : f32
// CHECK:         img.stage "others"
// CHECK:           arith.maxnumf %p, %l : f32
// CHECK:           arith.maxnumf %q, %l : f32
// CHECK:           arith.maxnumf %l, %o : f32
// C:           maxnum_plain_f32(
// C:           minnum_plain_f32(
img.pipeline @linked {
  %in = img.input "in" : !img.func<2xf32>
  %low = img.min 0 of %in : !img.func<2xf32>
  %n = img.extent 0 of %in : !img.func<2xf32>
  %exterior = arith.constant -1.0 : f32
  %not_a_number = arith.constant 0x7FC00000 : f32
  %edges = img.stage "edges" (%x, %y) -> f32 {
    %v = img.read %in[%x, %y] : !img.func<2xf32>
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %strong = arith.cmpf ogt, %v, %one : f32
    %weak = arith.cmpf ogt, %v, %half : f32
    %w = arith.select %weak, %half, %zero : f32
    %e = arith.select %strong, %one, %w : f32
    img.yield %e : f32
  }
  %inside = img.boundary constant_exterior %edges dims [0] in [%low] by [%n] value %exterior : !img.func<2xf32>
  %outside = img.boundary constant_exterior %edges dims [0] in [%low] by [%n] value %not_a_number : !img.func<2xf32>
  %linked = img.stage "linked" (%x, %y) -> f32 {
    %a = img.read %edges[%x - 1, %y] : !img.func<2xf32>
    %b = img.read %edges[%x + 1, %y] : !img.func<2xf32>
    %c = img.read %inside[%x, %y] : !img.func<2xf32>
    %m = arith.maxnumf %a, %b : f32
    %r = arith.minnumf %m, %c : f32
    img.yield %r : f32
  }
  %others = img.stage "others" (%x, %y) -> f32 {
    %p = img.read %in[%x, %y] : !img.func<2xf32>
    %l = img.read %linked[%x, %y] : !img.func<2xf32>
    %o = img.read %outside[%x, %y] : !img.func<2xf32>
    %q = arith.divf %l, %l : f32
    %s = arith.maxnumf %p, %l : f32
    %t = arith.maxnumf %q, %l : f32
    %u = arith.maxnumf %l, %o : f32
    %st = arith.addf %s, %t : f32
    %r = arith.addf %st, %u : f32
    img.yield %r : f32
  }
  img.return "f" = %others : !img.func<2xf32>
}
