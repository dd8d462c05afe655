// A line that is printed where a value is computed.

// RUN: TILEFUSE_ROUNDTRIP
// RUN: TILEFUSE_GENERIC_ROUNDTRIP
// RUN: pipeline-opt %s --split-input-file -p 'inline-stages,group-stages' | filecheck %s --check-prefix=APART

// CHECK:      %{{.*}} = img.print %{{.*}} when %{{.*}}, "%lld\0A"(%{{.*}} : i64) : i64
// CHECK:      %{{.*}} = img.print %{{.*}} when %{{.*}}, "here 100%%\0A" : i64
// What prints is neither inlined nor shares a kernel.
// APART: img.group "f"
// APART: img.group "g"
img.pipeline @prints {
  %f = img.stage "f" (%x) -> si64 {
    %v = arith.index_cast %x : index to i64
    %condition = arith.constant true
    %line = img.print %v when %condition, "%lld\n"(%v : i64) : i64
    img.yield %line : i64
  }
  %g = img.stage "g" (%x) -> si64 {
    %v = img.read %f[%x + 1] : !img.func<1xsi64>
    %condition = arith.constant true
    %line = img.print %v when %condition, "here 100%%\n" : i64
    img.yield %line : i64
  }
  img.return "g" = %g : !img.func<1xsi64>
}
