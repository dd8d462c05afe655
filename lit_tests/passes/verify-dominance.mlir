// RUN: pipeline-opt %s -p verify-dominance | filecheck %s
// RUN: xdsl-opt %s -p verify-dominance | filecheck %s
// RUN: not xdsl-opt %S/Inputs/cyclic.mlir -p verify-dominance 2>&1 | filecheck %s --check-prefix=CYCLIC

// CHECK-LABEL: img.pipeline @fine
// CHECK:         img.read %f[%x_1]
img.pipeline @fine {
  %f = img.stage "f" (%x) -> f32 {
    %v = arith.constant 1.0 : f32
    img.yield %v : f32
  }
  %g = img.stage "g" (%x) -> f32 {
    %v = img.read %f[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "g" = %g : !img.func<1xf32>
}

// CYCLIC: img.read: %g is used before it is defined
