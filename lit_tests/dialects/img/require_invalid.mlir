// RUN: TILEFUSE_INVALID

// What a condition of a call may not be.

img.pipeline @p {
  %k = img.param "k" of si32 : i32
  %f = img.stage "f" (%x) -> si64 {
    %v = arith.index_cast %x : index to i64
    img.yield %v : i64
  }
  // expected-error @below {{the condition must be an i1, not i32}}
  img.require %k, "no" : i32
  img.return "f" = %f : !img.func<1xsi64>
}

// -----

img.pipeline @p {
  %f = img.stage "f" (%x) -> i1 {
    %v = arith.constant true
    img.yield %v : i1
  }
  // expected-error @below {{the condition is a scalar, not !img.func<1xi1>}}
  img.require %f, "no" : !img.func<1xi1>
  img.return "f" = %f : !img.func<1xi1>
}

// -----

img.pipeline @p {
  %holds = arith.constant true
  %n = arith.constant 3 : i64
  %f = img.stage "f" (%x) -> i1 {
    %v = arith.constant true
    img.yield %v : i1
  }
  // expected-error @below {{the format has 0 numbers (none), not}}
  img.require %holds, "no"(%n : i64) : i1
  img.return "f" = %f : !img.func<1xi1>
}
