// A model runs stages, or an update; a schedule of the other kind is an error of the passes that ask it.
// RUN: pipeline-opt %s --split-input-file -p 'validate-occupancy{target=h200}' --verify-diagnostics -o /dev/null
// RUN: pipeline-opt %s --split-input-file -p promote-memory --verify-diagnostics -o /dev/null
// RUN: pipeline-opt %s --split-input-file -p lower-groups --verify-diagnostics -o /dev/null

img.pipeline @p {
  %in = img.input "in" : !img.func<1xf32>
  // expected-error @below {{group 'g': in_order cannot run stage 'f'; warp_tile or block_tile}}
  %g = img.group "g" schedule #schedule.in_order<threads = [64]> {
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
  %in = img.input "in" : !img.func<1xf32>
  %f = img.group "f" schedule #schedule.block_tile<tile = [64], threads = [64]> {
    %s = img.stage "f" (%x) -> f32 {
      %v = img.read %in[%x] : !img.func<1xf32>
      img.yield %v : f32
    }
    img.yield %s : !img.func<1xf32>
  } : !img.func<1xf32>
  // expected-error @below {{group 'g': block_tile cannot run update 'u'}}
  %g = img.group "g" schedule #schedule.block_tile<tile = [64], threads = [64]> {
    %u = img.update "u" (%x) of (%c = %f : !img.func<1xf32>) combine [add] {
      %v = img.read %in[%x] : !img.func<1xf32>
      img.write %v at [%x] : f32
    }
    img.yield %u : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}
