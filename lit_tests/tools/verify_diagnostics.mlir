// RUN: pipeline-opt %s --split-input-file --verify-diagnostics -o %t
// RUN: not pipeline-opt %S/Inputs/unmet.mlir --split-input-file --verify-diagnostics 2>%t
// RUN: filecheck %S/Inputs/unmet.mlir < %t

// Every way to say where.

img.pipeline @same_line { // expected-error {{a pipeline must end in img.return}}
  "test.termop"() : () -> ()
}

// -----

// expected-error @+1 {{a pipeline must end in img.return}}
img.pipeline @plus {
  "test.termop"() : () -> ()
}

// -----

img.pipeline @minus {
  // expected-error @-1 {{a pipeline must end in img.return}}
  "test.termop"() : () -> ()
}

// -----

// expected-error @below {{must end}}
img.pipeline @below {
  "test.termop"() : () -> ()
}

// -----

img.pipeline @above {
  // expected-error @above {{must end}}
  "test.termop"() : () -> ()
}

// -----

// expected-error-re @below {{must .* in img\.r[a-z]+, which}}
img.pipeline @pattern {
  "test.termop"() : () -> ()
}

// -----

// A part without an error, and without an expectation.
"test.op"() : () -> ()
