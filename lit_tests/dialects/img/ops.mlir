// RUN: TILEFUSE_ROUNDTRIP
// RUN: TILEFUSE_GENERIC_ROUNDTRIP

// One pipeline with every op but img.group.

// CHECK-LABEL: img.pipeline @every_op {
// CHECK-NEXT:      %photo = img.input "photo" estimate #img.box<[*, 0:480]> : !img.func<2xui8>
// CHECK-NEXT:      %rgb = img.input "rgb" bounds #img.box<[*, *, 0:3]> layout strided<[3, ?, 1]> : !img.func<3xf32>
// CHECK-NEXT:      %gain = img.param "gain" of f32 : f32
// CHECK-NEXT:      %black = img.param "black" of ui8 : i8
// CHECK-NEXT:      %min_x = img.min 0 of %photo : !img.func<2xui8>
// CHECK-NEXT:      %width = img.extent 0 of %photo : !img.func<2xui8>
// CHECK-NEXT:      %edge = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xui8>
// CHECK-NEXT:      %mirror = img.boundary mirror_image %photo dims [1] : !img.func<2xui8>
// CHECK-NEXT:      %interior = img.boundary mirror_interior %rgb dims [1, 0] : !img.func<3xf32>
// CHECK-NEXT:      %repeat = img.boundary repeat_image %photo dims [0] in [%min_x] by [%width] : !img.func<2xui8>
// CHECK-NEXT:      %outside = img.boundary constant_exterior %photo dims [0, 1] value %black : !img.func<2xui8>
// CHECK-NEXT:      %half = img.stage "half" (%x, %y) -> ui8 {
// CHECK-NEXT:        %a = img.read %edge[%x * 2 + 1, %y - 1] : !img.func<2xui8>
// CHECK-NEXT:        %b = img.read %outside[%x floordiv 2, (%x + %y * -1) mod 2] : !img.func<2xui8>
// CHECK-NEXT:        %c = img.div %a, %b : i8
// CHECK-NEXT:        %d = img.mod signed %c, %b : i8
// CHECK-NEXT:        img.yield %d : i8
// CHECK-NEXT:      }
// CHECK-NEXT:      %pair, %pair_1 = img.stage "pair" (%x_1, %y_1, %c_1) -> (f32, ui8) bounds #img.box<[*, *, 0:3]> {
// CHECK-NEXT:        %v = img.read %interior[%x_1, %y_1, %c_1] : !img.func<3xf32>
// CHECK-NEXT:        %w = img.read %half[%x_1, %y_1] : !img.func<2xui8>
// CHECK-NEXT:        img.yield %v, %w : f32, i8
// CHECK-NEXT:      }
// CHECK-NEXT:      %scalar = img.stage "scalar" () -> i1 {
// CHECK-NEXT:        %t = arith.constant true
// CHECK-NEXT:        img.yield %t : i1
// CHECK-NEXT:      }
// CHECK-NEXT:      img.return "out" = %pair : !img.func<3xf32>, "weight" = %pair_1 : !img.func<3xui8>, "flag" = %scalar : !img.func<0xi1>
// CHECK-NEXT:    }
img.pipeline @every_op {
  %photo = img.input "photo" estimate #img.box<[*, 0:480]> : !img.func<2xui8>
  %rgb = img.input "rgb" bounds #img.box<[*, *, 0:3]> layout strided<[3, ?, 1]> : !img.func<3xf32>
  %gain = img.param "gain" of f32 : f32
  %black = img.param "black" of ui8 : i8
  %min_x = img.min 0 of %photo : !img.func<2xui8>
  %width = img.extent 0 of %photo : !img.func<2xui8>
  %edge = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xui8>
  %mirror = img.boundary mirror_image %photo dims [1] : !img.func<2xui8>
  %interior = img.boundary mirror_interior %rgb dims [1, 0] : !img.func<3xf32>
  %repeat = img.boundary repeat_image %photo dims [0] in [%min_x] by [%width] : !img.func<2xui8>
  %outside = img.boundary constant_exterior %photo dims [0, 1] value %black : !img.func<2xui8>
  %half = img.stage "half" (%x, %y) -> ui8 {
    %a = img.read %edge[2 * %x + 1, %y - 1] : !img.func<2xui8>
    %b = img.read %outside[%x floordiv 2, (%x - %y) mod 2] : !img.func<2xui8>
    %c = img.div %a, %b : i8
    %d = img.mod signed %c, %b : i8
    img.yield %d : i8
  }
  %pair:2 = img.stage "pair" (%x, %y, %c) -> (f32, ui8) bounds #img.box<[*, *, 0:3]> {
    %v = img.read %interior[%x, %y, %c] : !img.func<3xf32>
    %w = img.read %half[%x, %y] : !img.func<2xui8>
    img.yield %v, %w : f32, i8
  }
  %scalar = img.stage "scalar" () -> i1 {
    %t = arith.constant true
    img.yield %t : i1
  }
  img.return "out" = %pair#0 : !img.func<3xf32>, "weight" = %pair#1 : !img.func<3xui8>, "flag" = %scalar : !img.func<0xi1>
}

// -----

// A group holds the stages of one kernel; its schedule and their places may be absent.

// CHECK-LABEL: img.pipeline @grouped {
// CHECK-NEXT:      %photo = img.input "photo" estimate #img.box<[*, 0:480]> : !img.func<2xf32>
// CHECK-NEXT:      %blur = img.group "blur" schedule #schedule.block_tile<tile = [128, 16], threads = [32, 8]> {
// CHECK-NEXT:        %edge = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
// CHECK-NEXT:        %rows = img.stage "rows" (%x, %y) -> f32 place #img.place<block, shared, pad = 1> {
// CHECK-NEXT:          %a = img.read %edge[%x, %y] : !img.func<2xf32>
// CHECK-NEXT:          img.yield %a : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        %columns = img.stage "columns" (%x_1, %y_1) -> f32 {
// CHECK-NEXT:          %a_1 = img.read %rows[%x_1, %y_1 + 1] : !img.func<2xf32>
// CHECK-NEXT:          img.yield %a_1 : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        img.yield %columns : !img.func<2xf32>
// CHECK-NEXT:      } : !img.func<2xf32>
// CHECK-NEXT:      %twice = img.group "twice" {
// CHECK-NEXT:        %inner = img.stage "twice" (%x_2, %y_2) -> f32 {
// CHECK-NEXT:          %a_2 = img.read %blur[%x_2, %y_2] : !img.func<2xf32>
// CHECK-NEXT:          %s = arith.addf %a_2, %a_2 : f32
// CHECK-NEXT:          img.yield %s : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        img.yield %inner : !img.func<2xf32>
// CHECK-NEXT:      } : !img.func<2xf32>
// CHECK-NEXT:      img.return "blur" = %twice : !img.func<2xf32>
// CHECK-NEXT:    }
img.pipeline @grouped {
  %photo = img.input "photo" estimate #img.box<[*, 0:480]> : !img.func<2xf32>
  %blur = img.group "blur" schedule #schedule.block_tile<tile = [128, 16], threads = [32, 8]> {
    %edge = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
    %rows = img.stage "rows" (%x, %y) -> f32 place #img.place<block, shared, pad = 1> {
      %a = img.read %edge[%x, %y] : !img.func<2xf32>
      img.yield %a : f32
    }
    %columns = img.stage "columns" (%x, %y) -> f32 {
      %a = img.read %rows[%x, %y + 1] : !img.func<2xf32>
      img.yield %a : f32
    }
    img.yield %columns : !img.func<2xf32>
  } : !img.func<2xf32>
  %twice = img.group "twice" {
    %inner = img.stage "twice" (%x, %y) -> f32 {
      %a = img.read %blur[%x, %y] : !img.func<2xf32>
      %s = arith.addf %a, %a : f32
      img.yield %s : f32
    }
    img.yield %inner : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "blur" = %twice : !img.func<2xf32>
}

// -----

// Attributes of one's own survive on every op that has a custom syntax.

// CHECK-LABEL: img.pipeline @attributes attributes {note = "p"} {
// CHECK-NEXT:      %f = img.input "f" {note = "i"} : !img.func<1xf32>
// CHECK-NEXT:      %edge = img.boundary repeat_edge %f dims [0] {note = "b"} : !img.func<1xf32>
// CHECK-NEXT:      %g = img.group "g" attributes {note = "g"} {
// CHECK-NEXT:        %s = img.stage "s" (%x) -> f32 attributes {note = "s"} {
// CHECK-NEXT:          %a = img.read %edge[%x] {note = "r"} : !img.func<1xf32>
// CHECK-NEXT:          img.yield %a : f32 {note = "y"}
// CHECK-NEXT:        }
// CHECK-NEXT:        img.yield %s : !img.func<1xf32>
// CHECK-NEXT:      } : !img.func<1xf32>
// CHECK-NEXT:      img.return "s" = %g : !img.func<1xf32> {note = "o"}
// CHECK-NEXT:    }
img.pipeline @attributes attributes {note = "p"} {
  %f = img.input "f" {note = "i"} : !img.func<1xf32>
  %edge = img.boundary repeat_edge %f dims [0] {note = "b"} : !img.func<1xf32>
  %g = img.group "g" attributes {note = "g"} {
    %s = img.stage "s" (%x) -> f32 attributes {note = "s"} {
      %a = img.read %edge[%x] {note = "r"} : !img.func<1xf32>
      img.yield %a : f32 {note = "y"}
    }
    img.yield %s : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "s" = %g : !img.func<1xf32> {note = "o"}
}
