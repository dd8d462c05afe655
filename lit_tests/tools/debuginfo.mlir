// Locations are there, but printed only when asked for; what is printed with them parses back.

// RUN: pipeline-opt %s | filecheck %s --check-prefix=WITHOUT
// RUN: pipeline-opt %s --print-debuginfo | filecheck %s
// RUN: pipeline-opt %s --print-debuginfo | pipeline-opt --print-debuginfo | filecheck %s
// RUN: pipeline-opt %s --print-debuginfo --print-op-generic | pipeline-opt --print-debuginfo | filecheck %s

// WITHOUT-NOT: loc(
// WITHOUT:     img.return

// CHECK:      %f = img.input "f" : !img.func<1xf32> loc("{{.*}}debuginfo.mlir":18:3)
// CHECK-NEXT: %g = img.stage "g" (%x) -> f32 {
// CHECK-NEXT:   %v = img.read %f[%x] : !img.func<1xf32> loc("camera.py":3:4)
// CHECK-NEXT:   img.yield %v : f32 loc("{{.*}}debuginfo.mlir":21:5)
// CHECK-NEXT: } loc("{{.*}}debuginfo.mlir":19:3)
// CHECK-NEXT: img.return "g" = %g : !img.func<1xf32> loc(unknown)
img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  %g = img.stage "g" (%x) -> f32 {
    %v = img.read %f[%x] : !img.func<1xf32> loc("camera.py":3:4)
    img.yield %v : f32
  }
  img.return "g" = %g : !img.func<1xf32> loc(unknown)
}
