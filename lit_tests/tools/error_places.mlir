// One located line, the source line with a caret, and nothing else: no traceback and no module.

// RUN: not pipeline-opt %s --split-input-file -p cse 2>%t.errors >%t
// RUN: filecheck %s < %t.errors
// RUN: filecheck %s --check-prefix=OUTPUT < %t

// Parts without an error are printed all the same; an output file is written only if all went well.

// RUN: not pipeline-opt %s --split-input-file -o %t.unwritten 2>%t.ignored
// RUN: not cat %t.unwritten

// OUTPUT:     "test.op"() {fine}
// OUTPUT-NOT: error
"test.op"() {fine} : () -> ()

// -----

// CHECK:      {{^.*}}error_places.mlir:22:8: error: unknown operation 'img.stag'; did you mean 'img.stage'?
// CHECK-NEXT: {{^}}  %f = img.stag "f" (%x) -> f32 {
// CHECK-NEXT: {{^       \^$}}
img.pipeline @unknown_op {
  %f = img.stag "f" (%x) -> f32 {
  }
}

// -----

// CHECK-NEXT: {{^.*}}error_places.mlir:33:15: error: %nothing is used but never defined
// CHECK-NEXT: {{^}}    img.yield %nothing : f32
// CHECK-NEXT: {{^              \^$}}
img.pipeline @undefined {
  %f = img.stage "f" (%x) -> f32 {
    img.yield %nothing : f32
  }
  img.return "f" = %f : !img.func<1xf32>
}

// -----

// A verifier error.

// CHECK-NEXT: {{^.*}}error_places.mlir:46:3: error: input 'f': bounds name 1 dimensions of 2
// CHECK-NEXT: {{^}}  %f = img.input "f" bounds
// CHECK-NEXT: {{^  \^$}}
img.pipeline @malformed {
  %f = img.input "f" bounds #img.box<[0:3]> : !img.func<2xf32>
  img.return "f" = %f : !img.func<2xf32>
}

// -----

// An explicit location in the text wins.

// CHECK-NEXT: camera.py:12:7: error: img.min: no dimension 5 in !img.func<1xf32>
// CHECK-NOT:  {{.}}
img.pipeline @explicit {
  %f = img.input "f" : !img.func<1xf32>
  %m = img.min 5 of %f : !img.func<1xf32> loc("camera.py":12:7)
  img.return "f" = %f : !img.func<1xf32>
}
