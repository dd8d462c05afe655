// RUN: pipeline-opt %s --split-input-file -p drop-clamps | filecheck %s

// A conversion gives the nearest end of the range, and 0 for NaN.

// CHECK-LABEL: img.pipeline @bytes
// CHECK:      [[V:%.*]] = img.read %in[%x]
// CHECK-NOT:  arith.m
// CHECK:      [[A:%.*]] = arith.fptoui [[V]] : f32 to i8
// CHECK-NOT:  arith.m
// CHECK:      [[B:%.*]] = arith.fptoui [[V]] : f32 to i8
// CHECK-NOT:  arith.m
// CHECK:      [[C:%.*]] = arith.fptosi [[V]] : f32 to i8
img.pipeline @bytes {
  %in = img.input "in" : !img.func<1xf32>
  %f:3 = img.stage "f" (%x) -> (ui8, ui8, si8) {
    %v = img.read %in[%x] : !img.func<1xf32>
    %low = arith.constant 0.0 : f32
    %high = arith.constant 255.0 : f32
    %l = arith.maximumf %v, %low : f32
    %a = arith.minimumf %high, %l : f32
    %i = arith.fptoui %a : f32 to i8
    %m = arith.maxnumf %v, %low : f32
    %b = arith.minnumf %m, %high : f32
    %j = arith.fptoui %b : f32 to i8
    %least = arith.constant -200.0 : f32
    %most = arith.constant 127.0 : f32
    %n = arith.maximumf %v, %least : f32
    %c = arith.minimumf %n, %most : f32
    %k = arith.fptosi %c : f32 to i8
    img.yield %i, %j, %k : i8, i8, i8
  }
  img.return "f" = %f#0 : !img.func<1xui8>, "g" = %f#1 : !img.func<1xui8>, "h" = %f#2 : !img.func<1xsi8>
}

// -----

// A narrower clamp stays, as does a clamp that another value needs, and one that gives a number for NaN which is not 0.

// CHECK-LABEL: img.pipeline @kept
// CHECK:      [[V:%.*]] = img.read %in[%x]
// CHECK:      [[A:%.*]] = arith.minimumf [[V]], %narrow : f32
// CHECK-NEXT: arith.fptoui [[A]] : f32 to i8
// CHECK-NEXT: [[B:%.*]] = arith.minnumf [[V]], %high : f32
// CHECK-NEXT: arith.fptoui [[B]] : f32 to i8
// CHECK-NEXT: [[C:%.*]] = arith.maximumf [[V]], %low : f32
// CHECK-NEXT: arith.fptoui [[V]] : f32 to i8
// CHECK:      img.yield {{.*}}, [[C]]
img.pipeline @kept {
  %in = img.input "in" : !img.func<1xf32>
  %f:4 = img.stage "f" (%x) -> (ui8, ui8, ui8, f32) {
    %v = img.read %in[%x] : !img.func<1xf32>
    %low = arith.constant 0.0 : f32
    %high = arith.constant 255.0 : f32
    %narrow = arith.constant 254.0 : f32
    %a = arith.minimumf %v, %narrow : f32
    %i = arith.fptoui %a : f32 to i8
    %b = arith.minnumf %v, %high : f32
    %j = arith.fptoui %b : f32 to i8
    %c = arith.maximumf %v, %low : f32
    %k = arith.fptoui %c : f32 to i8
    img.yield %i, %j, %k, %c : i8, i8, i8, f32
  }
  img.return "f" = %f#0 : !img.func<1xui8>, "g" = %f#1 : !img.func<1xui8>, "h" = %f#2 : !img.func<1xui8>, "k" = %f#3 : !img.func<1xf32>
}
