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
  // expected-error @below {{group 'g': update 'u' has stages for each step, so it starts from a stage of the group, all of its dimensions are pure coordinates, and what reads it does so at its own point, or at other points of small dimensions}}
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
  // expected-error @below {{group 'g': update 'u' has stages for each step, so it does nothing but read 'term', which gives the terms, at its own coordinates, pure ones first, and write them at its pure ones}}
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
  // expected-error @below {{group 'g': update 'u' has stages for each step, so it does nothing but read 'term', which gives the terms, at its own coordinates, pure ones first, and write them at its pure ones}}
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
  // expected-error @below {{group 'g': update 'u' stands with no more than a stage that gives its old functions, and one behind it that reads it}}
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
  // expected-error @below {{group 'g': update 'u' has stages for each step, so its schedule tiles its domain by single points}}
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
