// RUN: pipeline-opt %s --split-input-file -p infer-bounds | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p infer-bounds | pipeline-opt --split-input-file | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p infer-bounds,infer-bounds | filecheck %s

// Stencils and scaled reads, through several stages and to several readers.

// CHECK-LABEL: img.pipeline @scaled
// CHECK:         img.input "in" {img.required = #img.region<output "half"(x0 : nx0, y0 : ny0) -> [2 * x0 - 1 to 2 * x0 + 2 * nx0 - 1, -y0 - ny0 + 1 to -y0]>}
// CHECK:         img.stage "sum" (%x, %y) -> f32 attributes {img.required = #img.region<output "half"(x0 : nx0, y0 : ny0) -> [2 * x0 to 2 * x0 + 2 * nx0 - 1, y0 to y0 + ny0 - 1]>}
// CHECK:         img.stage "half" (%x_1, %y_1) -> f32 attributes {img.required = #img.region<output "half"(x0 : nx0, y0 : ny0) -> [x0 to x0 + nx0 - 1, y0 to y0 + ny0 - 1]>}
img.pipeline @scaled {
  %in = img.input "in" : !img.func<2xf32>
  %sum = img.stage "sum" (%x, %y) -> f32 {
    %a = img.read %in[%x - 1, -1 * %y] : !img.func<2xf32>
    %b = img.read %in[%x, -1 * %y] : !img.func<2xf32>
    %r = arith.addf %a, %b : f32
    img.yield %r : f32
  }
  %half = img.stage "half" (%x, %y) -> f32 {
    %a = img.read %sum[2 * %x, %y] : !img.func<2xf32>
    %b = img.read %sum[2 * %x + 1, %y] : !img.func<2xf32>
    %r = arith.addf %a, %b : f32
    img.yield %r : f32
  }
  img.return "half" = %half : !img.func<2xf32>
}

// -----

// Twice as large, by halves of the coordinates; the parity is a coordinate of its own.

// CHECK-LABEL: img.pipeline @doubled
// CHECK:         img.input "in" {img.required = #img.region<output "out"(x0 : nx0) -> [(x0 + 1) floordiv 2 - 1 to (x0 + nx0 + 1) floordiv 2 - 1, 0 to 1]>}
img.pipeline @doubled {
  %in = img.input "in" : !img.func<2xf32>
  %out = img.stage "out" (%x) -> f32 {
    %a = img.read %in[%x floordiv 2, %x mod 2] : !img.func<2xf32>
    %b = img.read %in[(%x - 1) floordiv 2, %x mod 2] : !img.func<2xf32>
    %r = arith.addf %a, %b : f32
    img.yield %r : f32
  }
  img.return "out" = %out : !img.func<1xf32>
}

// -----

// Boundaries hold what is read inside their boxes; where an input fixes its box that is a number.

// CHECK-LABEL: img.pipeline @edges
// CHECK:         img.input "edge" {img.required = #img.region<output "out"(x0 : nx0), input "edge"(x1 : nx1) -> [max(min(x0 - 2, x1 + nx1 - 1), x1) to max(min(x0 + nx0 - 3, x1 + nx1 - 1), x1)]>}
// CHECK:         img.input "zero" bounds #img.box<[5:10]> {img.required = #img.region<output "out"(x0 : nx0) -> [max(5, x0) to min(14, x0 + nx0 - 1)]>}
// CHECK:         img.input "mirror" {img.required = #img.region<output "out"(x0 : nx0), input "mirror"(x1 : nx1) -> [max(min(-x0 - nx0 + 2 * x1 + 2 * nx1, x0, x1 + nx1 - 1), x1) to max(min(-x0 + 2 * x1 - 1, x1 + nx1 - 1), min(x0 + nx0 - 1, x1 + nx1 - 1), x1)]>}
// CHECK:         img.input "again" {img.required = #img.region<input "again"(x0 : nx0) -> [x0 to x0 + nx0 - 1]>}
img.pipeline @edges {
  %edge = img.input "edge" : !img.func<1xf32>
  %zero = img.input "zero" bounds #img.box<[5:10]> : !img.func<1xf32>
  %mirror = img.input "mirror" : !img.func<1xf32>
  %again = img.input "again" : !img.func<1xf32>
  %c0 = arith.constant 0.0 : f32
  %edges = img.boundary repeat_edge %edge dims [0] : !img.func<1xf32>
  %zeros = img.boundary constant_exterior %zero dims [0] value %c0 : !img.func<1xf32>
  %mirrors = img.boundary mirror_image %mirror dims [0] : !img.func<1xf32>
  %agains = img.boundary repeat_image %again dims [0] : !img.func<1xf32>
  %out = img.stage "out" (%x) -> f32 {
    %a = img.read %edges[%x - 2] : !img.func<1xf32>
    %b = img.read %zeros[%x] : !img.func<1xf32>
    %c = img.read %mirrors[%x] : !img.func<1xf32>
    %d = img.read %agains[%x] : !img.func<1xf32>
    %ab = arith.addf %a, %b : f32
    %cd = arith.addf %c, %d : f32
    %r = arith.addf %ab, %cd : f32
    img.yield %r : f32
  }
  img.return "out" = %out : !img.func<1xf32>
}

// -----

// Computed indices count with all that they can be: pixels by their type, clamps by sizes and parameters. What no
// output needs has no region, in groups as out of them; two outputs ask for all that either asks for.

// CHECK-LABEL: img.pipeline @computed
// CHECK:         img.input "table" {img.required = #img.region<[0 to 255]>}
// CHECK:         img.input "photo" {img.required = #img.region<output "a"(x0 : nx0), output "b"(x1 : nx1), input "photo"(x2 : nx2), param "last"(k3) -> [max(min(0, x0), min(x0, x1, nx2 - 1, k3)) to max(0, x0 + nx0 - 1, min(x1 + nx1 - 1, nx2 - 1), min(x1 + nx1 - 1, k3))]>}
// CHECK:         img.input "unread" : !img.func<1xf32>
// CHECK:         img.stage "b" (%x_1) -> ui8 attributes {img.required = #img.region<output "b"(x0 : nx0) -> [x0 to x0 + nx0 - 1]>}
img.pipeline @computed {
  %table = img.input "table" : !img.func<1xui8>
  %photo = img.input "photo" : !img.func<1xui8>
  %unread = img.input "unread" : !img.func<1xf32>
  %last = img.param "last" of si32 : i32
  %n = img.extent 0 of %photo : !img.func<1xui8>
  %a = img.stage "a" (%x) -> ui8 {
    %p = img.read %photo[%x] : !img.func<1xui8>
    %w = arith.extui %p : i8 to i32
    %i = arith.index_cast %w : i32 to index
    %v = img.read %table[%i] : !img.func<1xui8>
    img.yield %v : i8
  }
  %b = img.group "b" {
    %stage = img.stage "b" (%x) -> ui8 {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %i = arith.index_cast %x : index to i32
      %m = arith.index_cast %n : index to i32
      %end = arith.subi %m, %c1 : i32
      %low = arith.minsi %i, %end : i32
      %p = arith.maxsi %low, %c0 : i32
      %q = arith.index_cast %p : i32 to index
      %v = img.read %photo[%q] : !img.func<1xui8>
      %low2 = arith.minsi %i, %last : i32
      %p2 = arith.maxsi %low2, %c0 : i32
      %q2 = arith.index_cast %p2 : i32 to index
      %v2 = img.read %photo[%q2] : !img.func<1xui8>
      %r = arith.addi %v, %v2 : i8
      img.yield %r : i8
    }
    img.yield %stage : !img.func<1xui8>
  } : !img.func<1xui8>
  img.return "a" = %a : !img.func<1xui8>, "b" = %b : !img.func<1xui8>
}
