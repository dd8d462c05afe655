// RUN: TILEFUSE_INVALID

// What a line that is printed may not be.

img.pipeline @p {
  %f = img.stage "f" (%x) -> si64 {
    %v = arith.index_cast %x : index to i64
    %condition = arith.constant true
    // expected-error @below {{the format "%d" has a conversion other than %lld, %llu, %f and %%}}
    %line = img.print %v when %condition, "%d"(%v : i64) : i64
    img.yield %line : i64
  }
  img.return "f" = %f : !img.func<1xsi64>
}
