// RUN: not pipeline-opt %s -p 'cse,canonicaliz' 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not pipeline-opt %s --print-ir-after=csee 2>&1 | filecheck %s --check-prefix=DUMP
// RUN: not pipeline-opt %s -t mlr 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not pipeline-opt %s -t 'mlir{arch=sm_90}' 2>&1 | filecheck %s --check-prefix=TARGET-OPTION
// RUN: not pipeline-opt %s -t 'mlir{' 2>&1 | filecheck %s --check-prefix=TARGET-TEXT
// RUN: not pipeline-opt %s --no-such-flag 2>&1 | filecheck %s --check-prefix=FLAG
// RUN: not pipeline-opt %S/no_such_file.mlir 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not pipeline-opt %s -o %t.no_such_folder/out.mlir 2>&1 | filecheck %s --check-prefix=OUTPUT

// PASS:      --pass-pipeline:1:5: error: unknown pass 'canonicaliz' (did you mean 'canonicalize'
// PASS-NEXT: cse,canonicaliz
// PASS-NEXT: {{^    \^$}}
// PASS-NOT:  {{.}}

// DUMP:     pipeline-opt: error: unknown pass 'csee' (did you mean 'cse'?)
// DUMP-NOT: {{.}}

// TARGET:     pipeline-opt: error: unknown target 'mlr' (did you mean 'mlir'{{.*}}?); the targets are
// TARGET-NOT: Traceback

// TARGET-OPTION: pipeline-opt: error: target 'mlir' has no option 'arch'; its options are print_generic_format: bool = false

// TARGET-TEXT:      --target:1:6: error: expected argument name here
// TARGET-TEXT-NEXT: mlir{

// FLAG:     pipeline-opt: error: unrecognized arguments: --no-such-flag; --help lists the options
// FLAG-NOT: {{.}}

// FILE:     pipeline-opt: error: cannot read '{{.*}}no_such_file.mlir': No such file or directory
// FILE-NOT: {{.}}

// OUTPUT:     pipeline-opt: error: cannot write '{{.*}}out.mlir': No such file or directory
// OUTPUT-NOT: {{.}}
"test.op"() : () -> ()
