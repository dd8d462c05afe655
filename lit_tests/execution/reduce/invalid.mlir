// RUN: pipeline-opt %s --split-input-file -p 'validate-occupancy{target=h200}' --verify-diagnostics -o /dev/null

// expected-error @below {{all parameters must be positive, and vector a power of two up to 512}}
"test.op"() {s = #schedule.reduce<tile = [1], threads = [32, 8], vector = 3>} : () -> ()

// -----

// expected-error @below {{all parameters must be positive, and vector a power of two up to 512}}
"test.op"() {s = #schedule.reduce<tile = [1], threads = [32, 8], split = 0>} : () -> ()

// -----

// expected-error @below {{a lane has 32 sums at most}}
"test.op"() {s = #schedule.reduce<tile = [1], threads = [32, 8], vector = 64>} : () -> ()

// -----

// expected-error @below {{threads must be [32, warps], or [1, warps] on a CPU}}
"test.op"() {s = #schedule.reduce<tile = [1], threads = [64]>} : () -> ()

// -----

// expected-error @below {{lanes and vector have 128 points, so the tile must be as wide}}
"test.op"() {s = #schedule.reduce<tile = [64], threads = [32, 8], vector = 4, pure_lanes = 1>} : () -> ()

// -----

// expected-error @below {{the tile must have one point in all dimensions without lanes or warps}}
"test.op"() {s = #schedule.reduce<tile = [2, 2], threads = [32, 4]>} : () -> ()

// -----

// expected-error @below {{8 warps do not divide 3 rows of the tile evenly}}
"test.op"() {s = #schedule.reduce<tile = [3], threads = [32, 8]>} : () -> ()

// -----

img.pipeline @p {
  %in = img.input "in" : !img.func<1xf32>
  %zero = arith.constant 0 : index
  %n = img.extent 0 of %in : !img.func<1xf32>
  %f = img.group "f" schedule #schedule.block_tile<tile = [64], threads = [64]> {
    %s = img.stage "f" (%x) -> f32 {
      %v = img.read %in[%x] : !img.func<1xf32>
      img.yield %v : f32
    }
    img.yield %s : !img.func<1xf32>
  } : !img.func<1xf32>
  // expected-error @below {{group 'g': its steps write several points}}
  %g = img.group "g" schedule #schedule.reduce<tile = [], threads = [32, 8]> {
    %u = img.update "u" () over (%r in [%zero, %n]) of (%c = %f : !img.func<1xf32>) combine [add] {
      %v = img.read %in[%r] : !img.func<1xf32>
      img.write %v at [%r] : f32
    }
    img.yield %u : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}
