// RUN: TILEFUSE_ROUNDTRIP
// RUN: TILEFUSE_GENERIC_ROUNDTRIP

// A histogram per row, then a tuple of two functions that is updated at one position, and a function of no dimension.

// CHECK-LABEL: img.pipeline @updates {
// CHECK:           %h1 = img.update "hist.1" (%y_1) over (%r in [%x0, %w]) of (%h = %h0 : !img.func<2xui32>) combine [add] {
// CHECK:             img.write %one at [%i, %y_1] where %p : i32
// CHECK-NEXT:      }
// CHECK:           %s, %t = img.update "pair.1" (%x_2) of (%a = %h1 : !img.func<2xui32>, %b = %m0 : !img.func<2xf32>) combine [set, max] bounds #img.box<[*, 0:3]> inline {
// CHECK-NEXT:        %v_1 = img.read %a[%x_2, 0] : !img.func<2xui32>
// CHECK-NEXT:        %f = arith.uitofp %v_1 : i32 to f32
// CHECK-NEXT:        img.write %v_1, %f at [%x_2, 2] : i32, f32
// CHECK-NEXT:      }
// CHECK:           %n1 = img.update "count.1" () over (%r_1 in [%x0, %w], %q in [%x0, %w]) of (%n_1 = %n0 : !img.func<0xsi32>) combine [add] {
// CHECK-NEXT:        %one_1 = arith.constant 1 : i32
// CHECK-NEXT:        img.write %one_1 at [] : i32
// CHECK-NEXT:      }
img.pipeline @updates {
  %in = img.input "in" : !img.func<2xui8>
  %w = img.extent 0 of %in : !img.func<2xui8>
  %x0 = img.min 0 of %in : !img.func<2xui8>
  %h0 = img.stage "hist" (%x, %y) -> ui32 {
    %z = arith.constant 0 : i32
    img.yield %z : i32
  }
  %h1 = img.update "hist.1" (%y) over (%r in [%x0, %w]) of (%h = %h0 : !img.func<2xui32>) combine [add] {
    %v = img.read %in[%r, %y] : !img.func<2xui8>
    %n = arith.extui %v : i8 to i32
    %i = arith.index_cast %n : i32 to index
    %one = arith.constant 1 : i32
    %c = arith.constant 3 : i8
    %p = arith.cmpi ugt, %v, %c : i8
    img.write %one at [%i, %y] where %p : i32
  }
  %m0 = img.stage "most" (%x, %y) -> f32 {
    %z = arith.constant 0.0 : f32
    img.yield %z : f32
  }
  %s, %t = img.update "pair.1" (%x) of (%a = %h1 : !img.func<2xui32>, %b = %m0 : !img.func<2xf32>) combine [set, max] bounds #img.box<[*, 0:3]> inline {
    %v = img.read %a[%x, 0] : !img.func<2xui32>
    %f = arith.uitofp %v : i32 to f32
    img.write %v, %f at [%x, 2] : i32, f32
  }
  %n0 = img.stage "count" () -> si32 {
    %z = arith.constant 0 : i32
    img.yield %z : i32
  }
  %n1 = img.update "count.1" () over (%r in [%x0, %w], %q in [%x0, %w]) of (%n_1 = %n0 : !img.func<0xsi32>) combine [add] {
    %one = arith.constant 1 : i32
    img.write %one at [] : i32
  }
  img.return "sums" = %s : !img.func<2xui32>, "most" = %t : !img.func<2xf32>, "count" = %n1 : !img.func<0xsi32>
}
