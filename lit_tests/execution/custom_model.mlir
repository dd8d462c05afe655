// An execution model of a package outside tilefuse: listed, chosen by name, compared by the search, lowered.
// RUN: python %S/Inputs/installed.py %S/../../examples/custom_execution_model %t
// RUN: env PYTHONPATH=%t:%S/../.. pipeline-opt --list-passes | filecheck %s --check-prefix=LIST
// RUN: env PYTHONPATH=%t:%S/../.. pipeline-opt %s -p 'tile{shape=point_per_thread},promote-memory,validate-occupancy' \
// RUN:   | filecheck %s
// RUN: env PYTHONPATH=%t:%S/../.. pipeline-opt %s -p 'tile{explain=true}' | filecheck %s --check-prefix=AUTO
// RUN: env PYTHONPATH=%t:%S/../.. pipeline-opt %s \
// RUN:   -p 'tile{shape=point_per_thread},promote-memory,lower-groups,expand-division' -t cuda | filecheck %s --check-prefix=CUDA
// RUN: not pipeline-opt %s -p 'tile{shape=point_per_thread}' 2>&1 | filecheck %s --check-prefix=ALONE

// LIST-LABEL: tile: Choose
// LIST: shape: auto | warp_tile | block_tile | {{.*}}in_order | point_per_thread = auto

// ALONE: option 'shape' of pass 'tile' takes auto | warp_tile | block_tile | {{.*}}in_order, not point_per_thread

img.pipeline @blur {
  %image = img.input "image" : !img.func<2xf32>
  // CHECK: schedule #schedule.point_per_thread<tile = [32, 8], threads = [32, 8]>
  // CHECK-SAME: occupancy = "8 blocks per SM
  // AUTO: schedule #schedule.point_per_thread<
  // AUTO-SAME: candidates = ["point_per_thread: [[US:[0-9.]+]] us, the best of 3: tile = [32, 8], threads = [32, 8], vector = 1", "{{warp_tile|block_tile}}: {{[0-9.]+}} us
  %g = img.group "g" {
    // CHECK: img.stage "twice" (%x, %y) -> f32 place #img.place<thread, register>
    %twice = img.stage "twice" (%x, %y) -> f32 {
      %v = img.read %image[%x, %y] : !img.func<2xf32>
      %two = arith.addf %v, %v : f32
      img.yield %two : f32
    }
    %f = img.stage "f" (%x, %y) -> f32 {
      %a = img.read %twice[%x, %y] : !img.func<2xf32>
      %b = img.read %twice[%x, %y + 1] : !img.func<2xf32>
      %v = arith.addf %a, %b : f32
      img.yield %v : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// Both values of the stage are computed where they are read.
// CUDA: blur_g_tile4(
// CUDA: const idx ty_ = threadIdx.y;
// CUDA: const float [[A:[a-z0-9_]+]] = image_[
// CUDA: const float [[B:[a-z0-9_]+]] = image_[
// CUDA: = [[A]] + [[A]] + ([[B]] + [[B]]);
