// What a call must fulfil: a condition on its numbers, and one on the points of a stage.

// RUN: TILEFUSE_ROUNDTRIP
// RUN: TILEFUSE_GENERIC_ROUNDTRIP
// RUN: pipeline-opt %s --split-input-file -p 'drop-requirements' | filecheck %s --check-prefix=DROPPED
// RUN: pipeline-opt %s --split-input-file -p 'drop-requirements,inline-stages,group-stages' | filecheck %s --check-prefix=GROUPED

// CHECK:      img.require %{{.*}}, "k is %lld"(%{{.*}} : i64) : i1
// CHECK:      img.require %{{.*}}, "pixel %llu at %lld"(%{{.*}}, %{{.*}} : !img.func<1xui64>, !img.func<1xsi64>) : !img.func<1xi1> for %{{.*}} : !img.func<1xui8>
// CHECK:      img.require %{{.*}}, "" : i1
// DROPPED-NOT: img.require
// DROPPED:     img.stage "g"
// GROUPED:     img.group "g"
img.pipeline @conditions {
  %k = img.param "k" of si32 : i32
  %in = img.input "in" : !img.func<1xui8>
  %zero = arith.constant 0 : i32
  %positive = arith.cmpi sgt, %k, %zero : i32
  %wide = arith.extsi %k : i32 to i64
  img.require %positive, "k is %lld" (%wide : i64) : i1
  %f = img.stage "f" (%x) -> ui8 {
    %v = img.read %in[%x] : !img.func<1xui8>
    img.yield %v : i8
  }
  %holds, %pixel, %at = img.stage "f_requires" (%x) -> (i1, ui64, si64) {
    %v = img.read %in[%x] : !img.func<1xui8>
    %most = arith.constant 7 : i8
    %small = arith.cmpi ult, %v, %most : i8
    %number = arith.extui %v : i8 to i64
    %where = arith.index_cast %x : index to i64
    img.yield %small, %number, %where : i1, i64, i64
  }
  img.require %holds, "pixel %llu at %lld" (%pixel, %at : !img.func<1xui64>, !img.func<1xsi64>) : !img.func<1xi1> for %f : !img.func<1xui8>
  %g = img.stage "g" (%x) -> ui8 {
    %v = img.read %f[%x] : !img.func<1xui8>
    %w = img.read %f[%x + 1] : !img.func<1xui8>
    %s = arith.addi %v, %w : i8
    img.yield %s : i8
  }
  img.require %positive, "" : i1
  img.return "g" = %g : !img.func<1xui8>
}
