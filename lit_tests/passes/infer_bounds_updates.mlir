// RUN: pipeline-opt %s --split-input-file -p infer-bounds | filecheck %s

// A scatter needs the whole range of its position of the old function, and of what it reads the whole domain; its pure
// coordinates are those asked for.

// CHECK:      %in = img.input "in" {img.required = #img.region<output "h"(x0 : nx0, y0 : ny0), input "in"(x1 : nx1) -> [x1 to x1 + nx1 - 1, y0 to y0 + ny0 - 1]>}
// CHECK:      img.stage "h0" {{.*}} -> [min(0, x0) to max(255, x0 + nx0 - 1), y0 to y0 + ny0 - 1]
// CHECK:      img.update "h1" {{.*}} -> [x0 to x0 + nx0 - 1, y0 to y0 + ny0 - 1]
img.pipeline @scatter {
  %in = img.input "in" : !img.func<2xui8>
  %w = img.extent 0 of %in : !img.func<2xui8>
  %x0 = img.min 0 of %in : !img.func<2xui8>
  %h0 = img.stage "h0" (%x, %y) -> ui32 {
    %z = arith.constant 0 : i32
    img.yield %z : i32
  }
  %h1 = img.update "h1" (%y) over (%r in [%x0, %w]) of (%h = %h0 : !img.func<2xui32>) combine [add] {
    %v = img.read %in[%r, %y] : !img.func<2xui8>
    %n = arith.extui %v : i8 to i32
    %i = arith.index_cast %n : i32 to index
    %one = arith.constant 1 : i32
    img.write %one at [%i, %y] : i32
  }
  img.return "h" = %h1 : !img.func<2xui32>
}

// -----

// A scan reads itself one point before its domain begins; a domain that is empty for sure asks for nothing.

// CHECK:      img.input "unread" :
// CHECK:      img.stage "f0" {{.*}} -> [min(2, x0) to max(7, x0 + nx0 - 1)]
// CHECK:      img.update "f1" {{.*}} -> [x0 to x0 + nx0 - 1]
img.pipeline @scan {
  %in = img.input "unread" : !img.func<1xsi32>
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %f0 = img.stage "f0" (%x) -> si32 {
    %z = arith.constant 1 : i32
    img.yield %z : i32
  }
  %f1 = img.update "f1" () over (%r in [%c3, %c5]) of (%f = %f0 : !img.func<1xsi32>) combine [add] {
    %v = img.read %f[%r - 1] : !img.func<1xsi32>
    img.write %v at [%r] : i32
  }
  %f2 = img.update "f2" () over (%r in [%c3, %c0]) of (%f = %f1 : !img.func<1xsi32>) {
    %v = img.read %in[%r] : !img.func<1xsi32>
    img.write %v at [%r + 100] : i32
  }
  img.return "f" = %f2 : !img.func<1xsi32>
}

// -----

// A remainder bounds a position that nothing else does.

// CHECK:      img.stage "g0" {{.*}} -> [min(0, x0) to max(3, x0 + nx0 - 1)]
img.pipeline @remainder {
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
    img.write %v at [%i mod 4] : i32
  }
  img.return "g" = %g1 : !img.func<1xsi32>
}
