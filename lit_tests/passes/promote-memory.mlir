// RUN: pipeline-opt %s --split-input-file -p promote-memory --verify-diagnostics | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p promote-memory,promote-memory --verify-diagnostics | filecheck %s

// What a block shares is in shared memory; what a thread needs at its own points only is in its registers.

// CHECK-LABEL: img.pipeline @both
// CHECK:         img.stage "blur_x" (%x, %y) -> f32 place #img.place<block, shared{{.*}}> {
// CHECK:         img.stage "square" {{.*}} -> f32 place #img.place<thread, register> {
// CHECK:         img.stage "blur_y" ({{.*}}) -> f32 {
img.pipeline @both {
  %photo = img.input "photo" : !img.func<2xf32>
  %blur = img.group "blur" schedule #schedule.block_tile<tile = [64, 16], threads = [32, 8]> {
    %blur_x = img.stage "blur_x" (%x, %y) -> f32 {
      %a = img.read %photo[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %photo[%x + 1, %y] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    %square = img.stage "square" (%x, %y) -> f32 {
      %a = img.read %blur_x[%x, %y - 3] : !img.func<2xf32>
      %b = img.read %blur_x[%x, %y + 3] : !img.func<2xf32>
      %r = arith.mulf %a, %b : f32
      img.yield %r : f32
    }
    %blur_y = img.stage "blur_y" (%x, %y) -> f32 {
      %a = img.read %square[%x, %y] : !img.func<2xf32>
      %r = arith.addf %a, %a : f32
      img.yield %r : f32
    }
    img.yield %blur_y : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "blur" = %blur : !img.func<2xf32>
}

// -----

// Lifetimes: the third stage of a chain takes the memory of the first.

// CHECK-LABEL: img.pipeline @chain
// CHECK:         img.stage "a" {{.*}} place #img.place<block, shared>
// CHECK:         img.stage "b" {{.*}} place #img.place<block, shared, slot = 1>
// CHECK:         img.stage "c" {{.*}} place #img.place<block, shared>
// CHECK:         img.stage "d" ({{.*}}) -> f32 {
img.pipeline @chain {
  %photo = img.input "photo" : !img.func<1xf32>
  %chain = img.group "chain" schedule #schedule.block_tile<tile = [256], threads = [128]> {
    %a = img.stage "a" (%x) -> f32 {
      %u = img.read %photo[%x - 3] : !img.func<1xf32>
      %v = img.read %photo[%x + 3] : !img.func<1xf32>
      %r = arith.addf %u, %v : f32
      img.yield %r : f32
    }
    %b = img.stage "b" (%x) -> f32 {
      %u = img.read %a[%x - 3] : !img.func<1xf32>
      %v = img.read %a[%x + 3] : !img.func<1xf32>
      %r = arith.addf %u, %v : f32
      img.yield %r : f32
    }
    %c = img.stage "c" (%x) -> f32 {
      %u = img.read %b[%x - 3] : !img.func<1xf32>
      %v = img.read %b[%x + 3] : !img.func<1xf32>
      %r = arith.addf %u, %v : f32
      img.yield %r : f32
    }
    %d = img.stage "d" (%x) -> f32 {
      %u = img.read %c[%x - 3] : !img.func<1xf32>
      %v = img.read %c[%x + 3] : !img.func<1xf32>
      %r = arith.addf %u, %v : f32
      img.yield %r : f32
    }
    img.yield %d : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "chain" = %chain : !img.func<1xf32>
}

// -----

// A place written by hand is kept; a group of one stage needs none; what is not grouped stays.

// CHECK-LABEL: img.pipeline @kept
// CHECK:         img.stage "alone" (%x) -> f32 {
// CHECK:         img.stage "copy" ({{.*}}) -> f32 place #img.place<block, shared, pad = 1> {
img.pipeline @kept {
  %photo = img.input "photo" : !img.func<1xf32>
  %one = img.group "one" schedule #schedule.block_tile<tile = [256], threads = [128]> {
    %alone = img.stage "alone" (%x) -> f32 {
      %v = img.read %photo[%x] : !img.func<1xf32>
      img.yield %v : f32
    }
    img.yield %alone : !img.func<1xf32>
  } : !img.func<1xf32>
  %two = img.group "two" schedule #schedule.block_tile<tile = [256], threads = [128]> {
    %copy = img.stage "copy" (%x) -> f32 place #img.place<block, shared, pad = 1> {
      %v = img.read %one[%x] : !img.func<1xf32>
      img.yield %v : f32
    }
    %out = img.stage "out" (%x) -> f32 {
      %v = img.read %copy[%x] : !img.func<1xf32>
      img.yield %v : f32
    }
    img.yield %out : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "two" = %two : !img.func<1xf32>
}

// -----

img.pipeline @unscheduled {
  %photo = img.input "photo" : !img.func<1xf32>
  // expected-error @below {{group 'g' has no schedule; run tile before promote-memory}}
  %g = img.group "g" {
    %alone = img.stage "alone" (%x) -> f32 {
      %v = img.read %photo[%x] : !img.func<1xf32>
      img.yield %v : f32
    }
    img.yield %alone : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

// A group written by hand whose second stage reads all over the place.
img.pipeline @cannot_share {
  %photo = img.input "photo" : !img.func<2xf32>
  // expected-error @below {{group 'g':}}
  %g = img.group "g" schedule #schedule.block_tile<tile = [64, 16], threads = [32, 8]> {
    %f = img.stage "f" (%x, %y) -> f32 {
      %v = img.read %photo[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %t = img.stage "t" (%x, %y) -> f32 {
      %a = img.read %f[%x, %y] : !img.func<2xf32>
      %b = img.read %f[%y, %x] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    img.yield %t : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}
