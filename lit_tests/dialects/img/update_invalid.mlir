// RUN: TILEFUSE_INVALID

// What an update definition may not be.

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  // expected-error @below {{update 'g' must end in img.write}}
  %g = "img.update"(%f) <{sym_name = "g", operandSegmentSizes = array<i32: 0, 0, 1>}> ({
  ^bb0(%x : index, %y : index, %c : !img.func<2xf32>):
    "test.termop"() : () -> ()
  }) : (!img.func<2xf32>) -> !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  %n = img.extent 0 of %f : !img.func<2xf32>
  // expected-error @below {{update 'g' writes (f64) but its type says (f32)}}
  %g = img.update "g" (%x, %y) of (%c = %f : !img.func<2xf32>) {
    %one = arith.constant 1.0 : f64
    img.write %one at [%x, %y] : f64
  }
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  %n = img.extent 0 of %f : !img.func<2xf32>
  // expected-error @below {{update 'g' writes at 1 indices; its functions have 2}}
  %g = img.update "g" (%x) of (%c = %f : !img.func<2xf32>) {
    %one = arith.constant 1.0 : f32
    img.write %one at [%x] : f32
  }
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  %n = img.extent 0 of %f : !img.func<2xf32>
  // expected-error @below {{update 'g': the pure coordinate %y must be one of the written indices by itself}}
  %g = img.update "g" (%x, %y) of (%c = %f : !img.func<2xf32>) {
    %one = arith.constant 1.0 : f32
    img.write %one at [%x, %y + 1] : f32
  }
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  %n = img.extent 0 of %f : !img.func<2xf32>
  // expected-error @below {{update 'g' reads itself in dimension 0 at another place than the written pure coordinate}}
  %g = img.update "g" (%x) over (%r in [%n, %n]) of (%c = %f : !img.func<2xf32>) {
    %v = img.read %c[%x + 1, %r] : !img.func<2xf32>
    img.write %v at [%x, %r] : f32
  }
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  %n = img.extent 0 of %f : !img.func<2xf32>
  // expected-error @below {{update 'g': there is no combiner 'plus'; there are set, add, mul, min, max, and, or, xor}}
  %g = img.update "g" (%x, %y) of (%c = %f : !img.func<2xf32>) combine [plus] {
    %one = arith.constant 1.0 : f32
    img.write %one at [%x, %y] : f32
  }
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  %n = img.extent 0 of %f : !img.func<2xf32>
  // expected-error @below {{update 'g': 'and' combines integers, not f32}}
  %g = img.update "g" (%x, %y) of (%c = %f : !img.func<2xf32>) combine [and] {
    %one = arith.constant 1.0 : f32
    img.write %one at [%x, %y] : f32
  }
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  %n = img.extent 0 of %f : !img.func<2xf32>
  // expected-error @below {{update 'g': combine names 2 ways for 1 functions}}
  %g = img.update "g" (%x, %y) of (%c = %f : !img.func<2xf32>) combine [add, add] {
    %one = arith.constant 1.0 : f32
    img.write %one at [%x, %y] : f32
  }
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  %n = img.extent 0 of %f : !img.func<2xf32>
  // expected-error @below {{update 'g': bounds name 1 dimensions of 2}}
  %g = img.update "g" (%x, %y) of (%c = %f : !img.func<2xf32>) bounds #img.box<[0:3]> {
    %one = arith.constant 1.0 : f32
    img.write %one at [%x, %y] : f32
  }
  img.return "g" = %g : !img.func<2xf32>
}

// -----

// expected-error @below {{two stages, inputs or params are called 'f'}}
img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  %n = img.extent 0 of %f : !img.func<2xf32>
  %g = img.update "f" (%x, %y) of (%c = %f : !img.func<2xf32>) {
    %one = arith.constant 1.0 : f32
    img.write %one at [%x, %y] : f32
  }
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  %n = img.extent 0 of %f : !img.func<2xf32>
  %e = img.input "e" : !img.func<1xf32>
  // expected-error @below {{update 'g': functions that are updated together must have equal rank}}
  %g, %k = img.update "g" () of (%c = %f : !img.func<2xf32>, %d = %e : !img.func<1xf32>) {
    %one = arith.constant 1.0 : f32
    img.write %one, %one at [0, 0] : f32, f32
  }
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  %n = img.extent 0 of %f : !img.func<2xf32>
  // expected-error @below {{has side effects}}
  %g = img.update "g" (%x, %y) of (%c = %f : !img.func<2xf32>) {
    %one = arith.constant 1.0 : f32
    "test.op"() : () -> ()
    img.write %one at [%x, %y] : f32
  }
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  // expected-error @below {{group 'g': update 'u' has dimensions that are not pure coordinates, so it may be fused with a prologue or an epilogue, not both}}
  %g = img.group "g" {
    %s = img.stage "s" (%x, %y) -> f32 {
      %v = img.read %f[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %u = img.update "u" (%x) of (%c = %s : !img.func<2xf32>) {
      %v = img.read %f[%x, 0] : !img.func<2xf32>
      img.write %v at [%x, 1] : f32
    }
    %g = img.stage "g" (%x, %y) -> f32 {
      %v = img.read %u[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %g : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  // expected-error @below {{group 'g': update 'u': stage 'g' must be its only reader, at the same or a transposed point}}
  %g = img.group "g" {
    %u = img.update "u" (%x, %y) of (%c = %f : !img.func<2xf32>) {
      %v = img.read %c[%x, %y] : !img.func<2xf32>
      img.write %v at [%x, %y] : f32
    }
    %g = img.stage "g" (%x, %y) -> f32 {
      %v = img.read %u[%x - 1, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %g : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  // expected-error @below {{group 'g': update 'v' must start from the functions of 'u', which nothing else may use}}
  %g = img.group "g" {
    %u = img.update "u" (%x, %y) of (%c = %f : !img.func<2xf32>) {
      %v = img.read %c[%x, %y] : !img.func<2xf32>
      img.write %v at [%x, %y] : f32
    }
    %v = img.update "v" (%x, %y) of (%c = %f : !img.func<2xf32>) {
      %w = img.read %u[%x, %y] : !img.func<2xf32>
      img.write %w at [%x, %y] : f32
    }
    img.yield %v : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}
