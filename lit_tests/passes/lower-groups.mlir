// RUN: pipeline-opt %s --split-input-file -p lower-groups,lower-warp-tiles --verify-diagnostics | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p 'lower-groups,lower-warp-tiles{warps=false}' --verify-diagnostics | filecheck %s --check-prefix=PHASES

// The real mlir-opt takes the kernels; what is left of img is unknown to it.
// RUN: pipeline-opt %S/../lowering/Inputs/scheduled.mlir -p lower-groups,expand-division --print-op-generic | mlir-opt --allow-unregistered-dialect | filecheck %s --check-prefix=MLIR

// A module is lowered once.
// RUN: not pipeline-opt %S/../lowering/Inputs/scheduled.mlir -p lower-groups,lower-groups 2>&1 | filecheck %s --check-prefix=TWICE
// TWICE: scheduled.mlir:{{.*}}: error: group 'blur': there is a function @p_blur_kernel1 already; a module is lowered once

// MLIR: func.func @p_blur_tile1({{.*}}) attributes {kernel.inline}
// MLIR:   memref.alloca() : memref<1152xf32, 3>
// MLIR:   gpu.barrier
// MLIR: func.func @p_blur_kernel1(
// MLIR:   func.call @p_blur_tile1(
// MLIR: "img.pipeline"()

// The tile body: a buffer in, its min per dimension; the same out; the tile's origin; whether it is at a border.

// CHECK-LABEL: func.func @block_double_tile5(
// CHECK-SAME:    %photo: memref<?x?xf32, strided<[?, 1]>>, %photo_min_x: index, %photo_min_y: index,
// CHECK-SAME:    %out_double: memref<?x?xf32, strided<[?, 1]>>, %out_double_min_x: index, %out_double_min_y: index,
// CHECK-SAME:    %gain: f32, %x0: index, %y0: index, %border: i1) attributes {kernel.inline} {
// CHECK:         arith.mulf {{%.*}}, %gain : f32
// CHECK:         scf.if
// CHECK:         memref.store {{%.*}}, %out_double[
// CHECK:         } {kernel.level = "thread_x"}
// CHECK:       } {kernel.level = "thread_y"}

// The kernel: blocks find their origin, and interior ones call the body without borders.

// CHECK-LABEL: func.func @block_double_kernel5(
// CHECK-SAME:    attributes {kernel.threads = array<i64: 32, 8, 1>
// CHECK:         scf.if [[INTERIOR:%.*]] {
// CHECK-NEXT:      func.call @block_double_tile5({{.*}}, [[NO:%[0-9]+]])
// CHECK-NEXT:    } else {
// CHECK-NEXT:      func.call @block_double_tile5({{.*}}, [[YES:%[0-9]+]])
// CHECK:         } {kernel.level = "block_x"}
// CHECK-NEXT:  } {kernel.level = "block_y"}

// The pipeline stays, as the plan of launches.
// CHECK:       img.pipeline @block
// PHASES-LABEL: func.func @block_double_kernel5(
img.pipeline @block {
  %photo = img.input "photo" : !img.func<2xf32>
  %gain = img.param "gain" of f32 : f32
  %double = img.group "double" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> {
    %f = img.stage "double" (%x, %y) -> f32 {
      %v = img.read %photo[%x, %y] : !img.func<2xf32>
      %r = arith.mulf %v, %gain : f32
      img.yield %r : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "double" = %double : !img.func<2xf32>
}

// -----

// A boundary is applied in border tiles only; a stage in shared memory is a phase before a barrier.

// CHECK-LABEL: func.func @phases_blur_tile6(
// CHECK:         [[SHARED:%.*]] = memref.alloca() : memref<{{[0-9]+}}xf32, 3 : i64>
// CHECK:         arith.maxsi
// CHECK:         arith.select %border
// CHECK:         memref.load %photo
// CHECK:         memref.store {{%.*}}, [[SHARED]]
// CHECK:         "gpu.barrier"() : () -> ()
// CHECK:         memref.load [[SHARED]]
// CHECK-LABEL: func.func @phases_blur_kernel6(
img.pipeline @phases {
  %photo = img.input "photo" : !img.func<2xf32>
  %clamped = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  %blur = img.group "blur" schedule #schedule.block_tile<tile = [64, 16], threads = [32, 8]> {
    %blur_x = img.stage "blur_x" (%x, %y) -> f32 place #img.place<block, shared> {
      %a = img.read %clamped[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %clamped[%x + 1, %y] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    %blur_y = img.stage "blur_y" (%x, %y) -> f32 {
      %a = img.read %blur_x[%x, %y - 1] : !img.func<2xf32>
      %b = img.read %blur_x[%x, %y + 1] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    img.yield %blur_y : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "blur" = %blur : !img.func<2xf32>
}

// -----

// A warp tile passes values between lanes by shuffles and meets no barrier; without warps it is done by phases.

// CHECK-LABEL: func.func @warps_blur_tile5(
// CHECK-NOT:     gpu.barrier
// CHECK:         gpu.shuffle
// CHECK-NOT:     gpu.barrier
// CHECK-LABEL: func.func @warps_blur_kernel5(
// PHASES-LABEL: func.func @warps_blur_tile5(
// PHASES-NOT:    gpu.shuffle
// PHASES-LABEL: func.func @warps_blur_kernel5(
img.pipeline @warps {
  %photo = img.input "photo" : !img.func<2xf32>
  %clamped = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  %blur = img.group "blur" schedule #schedule.warp_tile<tile = [120, 16], threads = [32, 4], vector = 4> {
    %blur_y = img.stage "blur_y" (%x, %y) -> f32 place #img.place<warp, register> {
      %a = img.read %clamped[%x, %y - 1] : !img.func<2xf32>
      %b = img.read %clamped[%x, %y + 1] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    %blur_x = img.stage "blur_x" (%x, %y) -> f32 {
      %a = img.read %blur_y[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %blur_y[%x + 1, %y] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    img.yield %blur_x : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "blur" = %blur : !img.func<2xf32>
}

// -----

img.pipeline @ungrouped {
  %photo = img.input "photo" : !img.func<1xf32>
  // expected-error @below {{stage 'f' is not in a group; run group-stages before lower-groups}}
  %f = img.stage "f" (%x) -> f32 {
    %v = img.read %photo[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "f" = %f : !img.func<1xf32>
}

// -----

img.pipeline @unscheduled {
  %photo = img.input "photo" : !img.func<1xf32>
  // expected-error @below {{group 'g' has no schedule; run tile, or write one by hand}}
  %g = img.group "g" {
    %f = img.stage "f" (%x) -> f32 {
      %v = img.read %photo[%x] : !img.func<1xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @too_wide {
  %photo = img.input "photo" {img.align = 1 : i64} : !img.func<2xf32>
  // expected-error @below {{group 'g': a warp tile of 32 lanes x 4 points with this halo is 120 wide, not 128}}
  %g = img.group "g" schedule #schedule.warp_tile<tile = [128, 8], threads = [32, 4], vector = 4> attributes {single_wave} {
    %f = img.stage "f" (%x, %y) -> f32 {
      %v = img.read %photo[%x - 1, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32> {output_aligns = array<i64: 1>}
}

// -----

img.pipeline @unplaced {
  %photo = img.input "photo" : !img.func<1xf32>
  %g = img.group "g" schedule #schedule.block_tile<tile = [128], threads = [128]> {
    // expected-error @below {{stage 'f' of group 'g' has no place; run promote-memory, or write place #img.place<block, shared>}}
    %f = img.stage "f" (%x) -> f32 {
      %v = img.read %photo[%x] : !img.func<1xf32>
      img.yield %v : f32
    }
    %h = img.stage "h" (%x) -> f32 {
      %v = img.read %f[%x] : !img.func<1xf32>
      img.yield %v : f32
    }
    img.yield %h : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}
