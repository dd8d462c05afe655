// RUN: pipeline-opt %s --split-input-file -p infer-bounds --verify-diagnostics -o /dev/null

img.pipeline @unbounded {
  %table = img.input "table" : !img.func<1xui8>
  %photo = img.input "photo" : !img.func<1xsi32>
  %a = img.stage "a" (%x) -> ui8 {
    %p = img.read %photo[%x] : !img.func<1xsi32>
    %i = arith.index_cast %p : i32 to index
    // expected-error @below {{stage 'a' reads 'table' at an index computed from data that nothing bounds; bound it with clamp(index, low, high)}}
    %v = img.read %table[%i] : !img.func<1xui8>
    img.yield %v : i8
  }
  img.return "a" = %a : !img.func<1xui8>
}

// -----

img.pipeline @too_narrow {
  // expected-error @below {{stage 'a' is needed at 0..3 in dimension 0, but is bound to 0..2; widen its bound or read less}}
  %a = img.stage "a" (%x) -> ui8 bounds #img.box<[0:3]> {
    %c = arith.constant 1 : i8
    img.yield %c : i8
  }
  %b = img.stage "b" (%x) -> ui8 {
    %v = img.read %a[%x mod 4] : !img.func<1xui8>
    img.yield %v : i8
  }
  img.return "b" = %b : !img.func<1xui8>
}

// -----

img.pipeline @divided {
  %in = img.input "in" : !img.func<1xui8>
  %k = img.param "k" of si32 : i32
  %by = arith.index_cast %k : i32 to index
  %low = img.min 0 of %in : !img.func<1xui8>
  %extent = img.extent 0 of %in : !img.func<1xui8>
  // expected-error @below {{the divisor in a boundary's box or an update's domain may be negative or positive; write which by max or min}}
  %part = arith.divsi %extent, %by : index
  %edge = img.boundary repeat_edge %in dims [0] in [%low] by [%part] : !img.func<1xui8>
  %b = img.stage "b" (%x) -> ui8 {
    %v = img.read %edge[%x] : !img.func<1xui8>
    img.yield %v : i8
  }
  img.return "b" = %b : !img.func<1xui8>
}

// -----

img.pipeline @unbounded {
  %in = img.input "in" : !img.func<1xsi32>
  %n = img.extent 0 of %in : !img.func<1xsi32>
  %c0 = arith.constant 0 : index
  %g0 = img.stage "g0" (%x) -> si32 {
    %z = arith.constant 1 : i32
    img.yield %z : i32
  }
  %g1 = img.update "g1" () over (%r in [%c0, %n]) of (%g = %g0 : !img.func<1xsi32>) combine [add] {
    %v = img.read %in[%r] : !img.func<1xsi32>
    %i = arith.index_cast %v : i32 to index
    // expected-error @below {{update 'g1' writes at an index computed from data that nothing bounds; bound it with clamp(index, low, high)}}
    img.write %v at [%i] : i32
  }
  img.return "g" = %g1 : !img.func<1xsi32>
}
