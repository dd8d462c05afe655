// RUN: pipeline-opt %s --split-input-file -p validate-occupancy --verify-diagnostics -o /dev/null

// expected-error @below {{threads has 2 dimensions but points has 1}}
"test.op"() {s = #schedule.gemm<threads = [32, 4], points = [2]>} : () -> ()

// -----

// expected-error @below {{a thread has 256 points; 128 at most}}
"test.op"() {s = #schedule.gemm<threads = [32, 4], points = [16, 16]>} : () -> ()

// -----

img.pipeline @p {
  %in = img.input "in" : !img.func<1xsi32>
  %n = img.extent 0 of %in : !img.func<1xsi32>
  %first = img.min 0 of %in : !img.func<1xsi32>
  %z = img.group "zero" schedule #schedule.block_tile<tile = [64], threads = [64]> {
    %s = img.stage "zero" (%x) -> si32 {
      %v = arith.constant 0 : i32
      img.yield %v : i32
    }
    img.yield %s : !img.func<1xsi32>
  } : !img.func<1xsi32>
  // expected-error @below {{group 'g': it has no pure coordinates, or does not reduce over all dimensions of its domain}}
  %g = img.group "g" schedule #schedule.gemm<threads = [], points = []> {
    %u = img.update "u" () over (%r in [%first, %n]) of (%h = %z : !img.func<1xsi32>) combine [add] {
      %v = img.read %in[%r] : !img.func<1xsi32>
      img.write %v at [%r] : i32
    }
    img.yield %u : !img.func<1xsi32>
  } : !img.func<1xsi32>
  img.return "g" = %g : !img.func<1xsi32>
}

// -----

// expected-error @below {{3 points along x are no multiple of runs of 2 neighbours}}
"test.op"() {s = #schedule.gemm<threads = [32, 4], points = [3, 2], slice = [8], vector = 2>} : () -> ()

// -----

// expected-error @below {{buffers, zigzag and adjacent need a slice; write slice = [...]}}
"test.op"() {s = #schedule.gemm<threads = [32, 4], points = [4, 2], buffers = 2>} : () -> ()

// -----

img.pipeline @p {
  %in = img.input "in" : !img.func<2xsi32>
  %n = img.extent 0 of %in : !img.func<2xsi32>
  %first = img.min 0 of %in : !img.func<2xsi32>
  %z = img.group "zero" schedule #schedule.block_tile<tile = [64], threads = [64]> {
    %s = img.stage "zero" (%x) -> si32 {
      %v = arith.constant 0 : i32
      img.yield %v : i32
    }
    img.yield %s : !img.func<1xsi32>
  } : !img.func<1xsi32>
  // expected-error @below {{a slice has 4 steps along dimension 0 of the domain, and several further out, but that has no constant extent}}
  %g = img.group "g" schedule #schedule.gemm<threads = [32], points = [1], slice = [4, 2]> {
    %u = img.update "u" (%x) over (%r in [%first, %n], %s in [%first, %n]) of (%h = %z : !img.func<1xsi32>) combine [add] {
      %v = img.read %in[%r, %s] : !img.func<2xsi32>
      img.write %v at [%x] : i32
    }
    img.yield %u : !img.func<1xsi32>
  } : !img.func<1xsi32>
  img.return "g" = %g : !img.func<1xsi32>
}

// -----

// expected-error @below {{zigzag needs a multiple of 8 threads along x, and of 4 along the other coordinates}}
"test.op"() {s = #schedule.gemm<threads = [4, 8], points = [4, 2], slice = [8], zigzag = 1>} : () -> ()

// -----

// expected-error @below {{without a slice, vector needs a block of one thread and unroll = 1}}
"test.op"() {s = #schedule.gemm<threads = [32, 4], points = [4, 2], vector = 4>} : () -> ()

// -----

// expected-error @below {{repeat, planes and pack need vector = 2 or more, and no slice}}
"test.op"() {s = #schedule.gemm<threads = [32, 4], points = [4, 2], slice = [8], vector = 4, pack = 8>} : () -> ()

// -----

// expected-error @below {{planes need pack, and a coordinate besides x and that of the rows}}
"test.op"() {s = #schedule.gemm<threads = [1, 1], points = [8, 2], vector = 4, planes = 2, pack = 8>} : () -> ()

// -----

img.pipeline @p {
  %a = img.input "a" : !img.func<3xf32>
  %b = img.input "b" : !img.func<3xf32>
  %n = img.extent 0 of %a : !img.func<3xf32>
  %first = img.min 0 of %a : !img.func<3xf32>
  %zero = img.group "zero" schedule #schedule.block_tile<tile = [32, 4, 1], threads = [1, 1, 1]> {
    %s = img.stage "zero" (%x, %y, %z) -> f32 {
      %v = arith.constant 0.0 : f32
      img.yield %v : f32
    }
    img.yield %s : !img.func<3xf32>
  } : !img.func<3xf32>
  // expected-error @below {{group 'g': the packed operands differ from plane to plane; write planes = 1}}
  %g = img.group "g" schedule #schedule.gemm<threads = [1, 1, 1], points = [8, 3, 1], vector = 4, planes = 2, pack = 16> {
    %u = img.update "u" (%x, %y, %z) over (%k in [%first, %n]) of (%h = %zero : !img.func<3xf32>) combine [add] {
      %l = img.read %a[%k, %y, %z] : !img.func<3xf32>
      %r = img.read %b[%x, %k, %z] : !img.func<3xf32>
      %p = arith.mulf %l, %r : f32
      img.write %p at [%x, %y, %z] : f32
    }
    img.yield %u : !img.func<3xf32>
  } : !img.func<3xf32>
  img.return "g" = %g : !img.func<3xf32>
}
