// RUN: pipeline-opt %s --split-input-file -p lower-groups | filecheck %s

// Tiles behind one another load the same of %in: they begin one after the other.

// CHECK-LABEL: func.func @costs_costs_kernel
// CHECK:         scf.for %by =
// CHECK-NEXT:      scf.for %bx =
// CHECK-NEXT:        scf.for %bz =
// CHECK:             } {kernel.level = "block_x"}
// CHECK-NEXT:      } {kernel.level = "block_y"}
// CHECK-NEXT:    } {kernel.level = "block_z"}
img.pipeline @costs {
  %in = img.input "in" : !img.func<2xf32>
  %costs = img.group "costs" schedule #schedule.block_tile<tile = [32, 8, 1], threads = [32, 8, 1]> {
    %s = img.stage "costs" (%x, %y, %z) -> f32 {
      %a = img.read %in[%x, %y] : !img.func<2xf32>
      %b = img.read %in[%x + %z, %y] : !img.func<2xf32>
      %d = arith.subf %a, %b : f32
      img.yield %d : f32
    }
    img.yield %s : !img.func<3xf32>
  } : !img.func<3xf32>
  img.return "costs" = %costs : !img.func<3xf32>
}

// -----

// Those of planes of their own do not, nor where all they load alike is a table.

// CHECK-LABEL: func.func @planes_planes_kernel
// CHECK:         scf.for %bz =
// CHECK-NEXT:      scf.for %by =
// CHECK-NEXT:        scf.for %bx =
// CHECK:             } {kernel.level = "block_x"}
img.pipeline @planes {
  %in = img.input "in" : !img.func<3xf32>
  %row = img.input "row" : !img.func<1xf32>
  %planes = img.group "planes" schedule #schedule.block_tile<tile = [32, 8, 1], threads = [32, 8, 1]> {
    %s = img.stage "planes" (%x, %y, %z) -> f32 {
      %a = img.read %in[%x, %y, %z] : !img.func<3xf32>
      %b = img.read %row[%x] : !img.func<1xf32>
      %d = arith.subf %a, %b : f32
      img.yield %d : f32
    }
    img.yield %s : !img.func<3xf32>
  } : !img.func<3xf32>
  img.return "planes" = %planes : !img.func<3xf32>
}
