// RUN: pipeline-opt %s --split-input-file -p convert-once | filecheck %s

// Three taps in a row are cast and scaled by one stage; the sum stays.

// CHECK-LABEL: @row
img.pipeline @row {
  // CHECK:      %image = img.input "image"
  // CHECK-NEXT: [[CAST:%.*]] = img.stage "image_as_f32" (%x, %y) -> f32 {
  // CHECK-NEXT:   [[P:%.*]] = img.read %image[%x, %y]
  // CHECK-NEXT:   [[F:%.*]] = arith.uitofp [[P]] : i8 to f32
  // CHECK-NEXT:   [[C:%.*]] = arith.constant 2.500000e-01 : f32
  // CHECK-NEXT:   [[V:%.*]] = arith.mulf [[F]], [[C]] : f32
  // CHECK-NEXT:   img.yield [[V]] : f32
  // CHECK-NEXT: }
  // CHECK:      img.stage "sum"
  // CHECK:        [[A:%.*]] = img.read [[CAST]][{{%.*}} - 1, {{%.*}}]
  // CHECK:        [[B:%.*]] = img.read [[CAST]][{{%.*}}, {{%.*}}]
  // CHECK:        [[D:%.*]] = img.read [[CAST]][{{%.*}} + 1, {{%.*}}]
  // CHECK:        arith.addf [[A]], [[B]] : f32
  // CHECK-NOT:    arith.uitofp
  %image = img.input "image" : !img.func<2xui8>
  %sum = img.stage "sum" (%x, %y) -> f32 {
    %scale = arith.constant 0.25 : f32
    %p = img.read %image[%x - 1, %y] : !img.func<2xui8>
    %pf = arith.uitofp %p : i8 to f32
    %ps = arith.mulf %pf, %scale : f32
    %q = img.read %image[%x, %y] : !img.func<2xui8>
    %qf = arith.uitofp %q : i8 to f32
    %qs = arith.mulf %qf, %scale : f32
    %r = img.read %image[%x + 1, %y] : !img.func<2xui8>
    %rf = arith.uitofp %r : i8 to f32
    %rs = arith.mulf %rf, %scale : f32
    %pq = arith.addf %ps, %qs : f32
    %pqr = arith.addf %pq, %rs : f32
    img.yield %pqr : f32
  }
  img.return "sum" = %sum : !img.func<2xf32>
}

// -----

// Three channels of a pixel are no taps: each is cast once as it is.

// CHECK-LABEL: @channels
// CHECK-NOT:   _as_f32
img.pipeline @channels {
  %image = img.input "image" : !img.func<3xui8>
  %sum = img.stage "sum" (%x, %y) -> f32 {
    %p = img.read %image[%x, %y, 0] : !img.func<3xui8>
    %pf = arith.uitofp %p : i8 to f32
    %q = img.read %image[%x, %y, 1] : !img.func<3xui8>
    %qf = arith.uitofp %q : i8 to f32
    %r = img.read %image[%x, %y, 2] : !img.func<3xui8>
    %rf = arith.uitofp %r : i8 to f32
    %pq = arith.addf %pf, %qf : f32
    %pqr = arith.addf %pq, %rf : f32
    img.yield %pqr : f32
  }
  img.return "sum" = %sum : !img.func<2xf32>
}
