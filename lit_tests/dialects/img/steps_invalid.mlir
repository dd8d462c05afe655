// Stages that each step of an update computes: groups in which they stand otherwise than steps can.
// RUN: TILEFUSE_INVALID

img.pipeline @starts_from_memory {
  %in = img.input "in" : !img.func<2xf32>
  %old = img.stage "old" (%x) -> f32 {
    %v = arith.constant 1.0 : f32
    img.yield %v : f32
  }
  %lo = arith.constant 0 : index
  %n = arith.constant 5 : index
  // expected-error @below {{group 'g': update 'u' has stages for each step, so its initial values must be a stage of the group, all of its dimensions pure coordinates, and its readers at the same point, or at other points of small dimensions}}
  %g = img.group "g" {
    %w = img.stage "w" (%x, %d) -> f32 {
      %v = img.read %in[%x, %d] : !img.func<2xf32>
      img.yield %v : f32
    }
    %term = img.stage "term" (%x, %d) -> f32 {
      %v = img.read %w[%x, %d] : !img.func<2xf32>
      img.yield %v : f32
    }
    %u = img.update "u" (%x) over (%r in [%lo, %n]) of (%s = %old : !img.func<1xf32>) combine [add] {
      %v = img.read %term[%x, %r] : !img.func<2xf32>
      img.write %v at [%x] : f32
    }
    img.yield %u : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @computes {
  %in = img.input "in" : !img.func<2xf32>
  %lo = arith.constant 0 : index
  %n = arith.constant 5 : index
  // expected-error @below {{group 'g': update 'u' has stages for each step, so its body must only read the terms of 'term' at its coordinates, pure ones first, and write them at the pure ones}}
  %g = img.group "g" {
    %w = img.stage "w" (%x, %d) -> f32 {
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
      %a = img.read %term[%x, %r] : !img.func<2xf32>
      %v = arith.negf %a : f32
      img.write %v at [%x] : f32
    }
    img.yield %u : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @reads_elsewhere {
  %in = img.input "in" : !img.func<2xf32>
  %lo = arith.constant 0 : index
  %n = arith.constant 5 : index
  // expected-error @below {{group 'g': update 'u' has stages for each step, so its body must only read the terms of 'term' at its coordinates, pure ones first, and write them at the pure ones}}
  %g = img.group "g" {
    %w = img.stage "w" (%x, %d) -> f32 {
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
      %v = img.read %term[%x + 1, %r] : !img.func<2xf32>
      img.write %v at [%x] : f32
    }
    img.yield %u : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @reads_an_input {
  %in = img.input "in" : !img.func<2xf32>
  %lo = arith.constant 0 : index
  %n = arith.constant 5 : index
  // expected-error @below {{group 'g': update 'u' may share a group only with a stage that computes its initial values and one stage that reads its result}}
  %g = img.group "g" {
    %w = img.stage "w" (%x, %d) -> f32 {
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
      %v = img.read %in[%x, %r] : !img.func<2xf32>
      img.write %v at [%x] : f32
    }
    img.yield %u : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @tiled_domain {
  %in = img.input "in" : !img.func<2xf32>
  %lo = arith.constant 0 : index
  %n = arith.constant 5 : index
  // expected-error @below {{group 'g': update 'u' has stages for each step, so the tile of its schedule must have size 1 along its domain}}
  %g = img.group "g" schedule #schedule.block_tile<tile = [32, 5], threads = [32, 1]> {
    %w = img.stage "w" (%x, %d) -> f32 {
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
