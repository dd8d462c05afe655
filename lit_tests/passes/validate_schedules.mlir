// What no target can run is an error on each of them.
// RUN: pipeline-opt %s --split-input-file -p 'validate-occupancy{target=h200}' --verify-diagnostics -o /dev/null
// RUN: pipeline-opt %s --split-input-file -p 'validate-occupancy{target=cpu fix=true}' --verify-diagnostics -o /dev/null

img.pipeline @unscheduled {
  %photo = img.input "photo" : !img.func<1xf32>
  // expected-error @below {{group 'g': there is no schedule to validate; run tile first}}
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

img.pipeline @uneven {
  %photo = img.input "photo" : !img.func<1xf32>
  // expected-error @below {{group 'g': a tile of 100 in dimension 0 is not divisible by 32 threads}}
  %g = img.group "g" schedule #schedule.block_tile<tile = [100], threads = [32]> {
    %f = img.stage "f" (%x) -> f32 {
      %v = img.read %photo[%x] : !img.func<1xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @channels {
  %photo = img.input "photo" bounds #img.box<[*, 0:3]> : !img.func<2xf32>
  // expected-error @below {{group 'g': dimension 1 has 3 points and is not tiled by 2}}
  %g = img.group "g" schedule #schedule.block_tile<tile = [64, 2], threads = [32, 1]> {
    %f = img.stage "f" (%x, %c) -> f32 bounds #img.box<[*, 0:3]> {
      %v = img.read %photo[%x, %c] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @scaled {
  %photo = img.input "photo" : !img.func<1xf32>
  // expected-error @below {{group 'g': scaled accesses need a tile of a multiple of 2 in dimension 0, not 33}}
  %g = img.group "g" schedule #schedule.block_tile<tile = [33], threads = [33]> {
    %e = img.stage "e" (%x) -> f32 place #img.place<block, shared> {
      %v = img.read %photo[%x] : !img.func<1xf32>
      img.yield %v : f32
    }
    %f = img.stage "f" (%x) -> f32 {
      %v = img.read %e[%x floordiv 2] : !img.func<1xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @lanes {
  %photo = img.input "photo" : !img.func<2xf32>
  // expected-error @below {{group 'g': a warp tile of 32 lanes x 4 points with this halo is 120 wide, not 128}}
  %g = img.group "g" schedule #schedule.warp_tile<tile = [128, 16], threads = [32, 4], vector = 4> {
    %e = img.stage "e" (%x, %y) -> f32 place #img.place<warp, register> {
      %v = img.read %photo[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %f = img.stage "f" (%x, %y) -> f32 {
      %a = img.read %e[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %e[%x + 1, %y] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @half_a_warp {
  %photo = img.input "photo" : !img.func<2xf32>
  // expected-error @below {{group 'g': threads of a warp tile start with the 32 lanes of a warp, not with 16}}
  %g = img.group "g" schedule #schedule.warp_tile<tile = [120, 16], threads = [16, 4], vector = 4> {
    %e = img.stage "e" (%x, %y) -> f32 place #img.place<warp, register> {
      %v = img.read %photo[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %f = img.stage "f" (%x, %y) -> f32 {
      %a = img.read %e[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %e[%x + 1, %y] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}
