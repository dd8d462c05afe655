// A schedule that its execution model does not have is an error where it stands.
// RUN: pipeline-opt %s --split-input-file --verify-diagnostics -o /dev/null

img.pipeline @p {
  %in = img.input "in" : !img.func<1xf32>
  // expected-error @below {{no execution model is called 'spiral'; there are warp_tile, block_tile}}
  %g = img.group "g" schedule #schedule.spiral<tile = [8], threads = [8]> {
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
  // expected-error @below {{tile has 2 dimensions but unroll has 1}}
  %g = img.group "g" schedule #schedule.block_tile<tile = [128, 16], threads = [32, 8], unroll = [2]> {
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
  // expected-error @below {{unroll = 3 in dimension 0 does not divide the 4 rounds of a thread's loop there}}
  %g = img.group "g" schedule #schedule.block_tile<tile = [128, 16], threads = [32, 8], unroll = [3, 1]> {
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
  // expected-error @below {{unroll = 2 in dimension 0 does not divide the 1 rounds of a thread's loop there}}
  %g = img.group "g" schedule #schedule.block_tile<tile = [128, 16], threads = [32, 8], vector = 4, unroll = [2, 1]> {
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
  // expected-error @below {{unroll = 0 in dimension 1 does not divide the 2 rounds of a thread's loop there}}
  %g = img.group "g" schedule #schedule.block_tile<tile = [128, 16], threads = [32, 8], unroll = [1, 0]> {
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
  // expected-error @below {{expected 'tile', 'threads', 'vector', 'blocks' or 'prefetch_rows'}}
  %g = img.group "g" schedule #schedule.warp_tile<tile = [120, 28], threads = [32, 8], vector = 4, unroll = [1, 2]> {
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
  // expected-error @below {{expected 'tile', 'threads', 'vector', 'blocks' or 'prefetch_rows'}}
  %g = img.group "g" schedule #schedule.warp_tile<tile = [120, 28], threads = [32, 8], vector = 4, cache_inputs = 1> {
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
  // expected-error @below {{expected 'tile', 'threads', 'vector', 'unroll', 'blocks' or 'cache_inputs'}}
  %g = img.group "g" schedule #schedule.block_tile<tile = [128, 16], threads = [32, 8], prefetch_rows = 2> {
    %f = img.stage "f" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

// expected-error @below {{tile has 2 dimensions but threads has 1}}
"test.op"() {s = #schedule.block_tile<tile = [128, 16], threads = [32]>} : () -> ()

// -----

// expected-error @below {{tile, threads and vector must be positive}}
"test.op"() {s = #schedule.block_tile<tile = [0], threads = [32]>} : () -> ()

// -----

// expected-error @below {{tile, threads and vector must be positive}}
"test.op"() {s = #schedule.block_tile<tile = [8], threads = [8], vector = 0>} : () -> ()

// -----

// expected-error @below {{expected 'threads = [...]'}}
"test.op"() {s = #schedule.block_tile<tile = [8], vector = 2>} : () -> ()

// -----

// expected-error @below {{expected 'tile', 'threads', 'vector', 'unroll', 'blocks' or 'cache_inputs'}}
"test.op"() {s = #schedule.block_tile<tile = [8], threads = [8], unrolled = 2>} : () -> ()

// -----

// expected-error @below {{prefetch_rows needs a tile of two dimensions or more}}
"test.op"() {s = #schedule.warp_tile<tile = [128], threads = [32], vector = 4, prefetch_rows = 2>} : () -> ()

// -----

// expected-error @below {{prefetch_rows = 2147483647: a number of rows of tiles, 0 for none}}
"test.op"() {s = #schedule.warp_tile<tile = [128, 4], threads = [32, 4], vector = 4, prefetch_rows = 2147483647>} : () -> ()

// -----

// expected-error @below {{'vector' is given twice}}
"test.op"() {s = #schedule.block_tile<tile = [8], threads = [8], vector = 2, vector = 4>} : () -> ()

// -----

// expected-error @below {{threads must be positive}}
"test.op"() {s = #schedule.in_order<threads = [8, 0]>} : () -> ()

// -----

// expected-error @below {{threads must be in the first three dimensions}}
"test.op"() {s = #schedule.in_order<threads = [8, 1, 1, 2]>} : () -> ()
