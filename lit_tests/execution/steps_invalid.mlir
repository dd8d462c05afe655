// Schedules of groups whose updates have stages for each step.
// RUN: pipeline-opt %s --split-input-file --verify-diagnostics -p 'validate-occupancy'

img.pipeline @other_model {
  %in = img.input "in" : !img.func<2xf32>
  %lo = arith.constant 0 : index
  %n = arith.constant 5 : index
  // expected-error @below {{group 'g': warp_tile computes no stages for each step of an update}}
  %g = img.group "g" schedule #schedule.warp_tile<tile = [128, 1], threads = [32, 1], vector = 4> {
    %w = img.stage "w" (%x, %d) -> f32 place #img.place<thread, register> {
      %v = img.read %in[%x, %d] : !img.func<2xf32>
      img.yield %v : f32
    }
    %term = img.stage "term" (%x, %d) -> f32 {
      %v = img.read %w[%x, %d] : !img.func<2xf32>
      img.yield %v : f32
    }
    %zero = img.stage "zero" (%x) -> f32 {
      %v = arith.constant 0.0 : f32
      img.yield %v : f32
    }
    %u = img.update "u" (%x) over (%r in [%lo, %n]) of (%s = %zero : !img.func<1xf32>) combine [add] {
      %v = img.read %term[%x, %r] : !img.func<2xf32>
      img.write %v at [%x] : f32
    }
    img.yield %u : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @holds_nothing {
  %in = img.input "in" : !img.func<2xf32>
  // expected-error @below {{group 'g': cache_inputs needs stages for the steps of an update; write cache_inputs = 0}}
  %g = img.group "g" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8], cache_inputs = 1> {
    %f = img.stage "f" (%x, %y) -> f32 {
      %v = img.read %in[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}
