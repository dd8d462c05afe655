// Read by verify_diagnostics.mlir: what it says when expectations and errors differ.

// CHECK:      unmet.mlir:8:1: error: unexpected error: a pipeline must end in img.return
// CHECK-NEXT: {{^}}img.pipeline @unexpected {
// CHECK-NEXT: {{^\^$}}

// The error is there, on another line.
img.pipeline @unexpected {
  "test.termop"() : () -> ()
}

// CHECK-NEXT: unmet.mlir:14:4: error: expected error "must end" was not given
// CHECK:      {{^   \^$}}
// expected-error {{must end}}

// -----

// CHECK-NEXT: unmet.mlir:21:27: error: expected error "none" was not given
// CHECK-NEXT: test.op
// CHECK-NEXT: {{ \^$}}
"test.op"() : () -> () // expected-error {{none}}

// -----

// CHECK-NEXT: unmet.mlir:27:27: error: only expected-error is supported
// CHECK-NEXT: test.op
"test.op"() : () -> () // expected-warning {{none}}
