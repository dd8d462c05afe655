// RUN: pipeline-opt %s --split-input-file | filecheck %s
// RUN: pipeline-opt %s --split-input-file | pipeline-opt --split-input-file | filecheck %s

// Values of one part are not seen in the next; a part without operations is an empty module.

// CHECK:      %a = "test.op"() {part = 1 : i64} : () -> f32
// CHECK:      // -----
// CHECK-NEXT: builtin.module {
// CHECK-NEXT: }
// CHECK:      // -----
// CHECK-NEXT: builtin.module {
// CHECK-NEXT:   %a = "test.op"() {part = 3 : i64, marker = "// -----"} : () -> f32
%a = "test.op"() {part = 1} : () -> f32

// -----

// -----

%a = "test.op"() {part = 3, marker = "// -----"} : () -> f32
