// What a schedule says that its execution model does not have is an error of the passes that ask the model.
// RUN: pipeline-opt %s --split-input-file -p 'validate-occupancy{target=h200}' --verify-diagnostics -o /dev/null
// RUN: pipeline-opt %s --split-input-file -p promote-memory --verify-diagnostics -o /dev/null
// RUN: pipeline-opt %s --split-input-file -p lower-groups --verify-diagnostics -o /dev/null

img.pipeline @p {
  %in = img.input "in" : !img.func<1xf32>
  // expected-error @below {{group 'g': no execution model is called 'spiral'; there are warp_tile, block_tile}}
  %g = img.group "g" schedule #img.schedule<spiral, tile = [8], threads = [8]> {
    %f = img.stage "f" (%x) -> f32 {
      %v = img.read %in[%x] : !img.func<1xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @p {
  %in = img.input "in" : !img.func<2xf32>
  // expected-error @below {{group 'g': tile has 2 dimensions but unroll has 1}}
  %g = img.group "g" schedule #img.schedule<block_tile, tile = [128, 16], threads = [32, 8], unroll = [2]> {
    %f = img.stage "f" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %in = img.input "in" : !img.func<2xf32>
  // expected-error @below {{group 'g': unroll = 3 in dimension 0 does not divide the 4 rounds of a thread's loop there}}
  %g = img.group "g" schedule #img.schedule<block_tile, tile = [128, 16], threads = [32, 8], unroll = [3, 1]> {
    %f = img.stage "f" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %in = img.input "in" : !img.func<2xf32>
  // expected-error @below {{group 'g': unroll = 2 in dimension 0 does not divide the 1 rounds of a thread's loop there}}
  %g = img.group "g" schedule #img.schedule<block_tile, tile = [128, 16], threads = [32, 8], vector = 4, unroll = [2, 1]> {
    %f = img.stage "f" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %in = img.input "in" : !img.func<2xf32>
  // expected-error @below {{group 'g': unroll = 0 in dimension 1 does not divide the 2 rounds of a thread's loop there}}
  %g = img.group "g" schedule #img.schedule<block_tile, tile = [128, 16], threads = [32, 8], unroll = [1, 0]> {
    %f = img.stage "f" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %in = img.input "in" : !img.func<2xf32>
  // expected-error @below {{group 'g': a warp_tile takes no unroll}}
  %g = img.group "g" schedule #img.schedule<warp_tile, tile = [120, 28], threads = [32, 8], vector = 4, unroll = [1, 2]> {
    %f = img.stage "f" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %in = img.input "in" : !img.func<2xf32>
  // expected-error @below {{group 'g': a warp_tile takes no stream}}
  %g = img.group "g" schedule #img.schedule<warp_tile, tile = [120, 28], threads = [32, 8], vector = 4, stream = 2> {
    %f = img.stage "f" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %in = img.input "in" : !img.func<2xf32>
  // expected-error @below {{group 'g': a block_tile takes no ahead}}
  %g = img.group "g" schedule #img.schedule<block_tile, tile = [128, 16], threads = [32, 8], ahead = 2> {
    %f = img.stage "f" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}
