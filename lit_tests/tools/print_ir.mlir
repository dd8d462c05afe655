// Dumps go to stderr, so that stdout stays IR.

// RUN: pipeline-opt %s -p cse,dce --print-ir-after-all 2>%t | filecheck %s --check-prefix=STDOUT
// RUN: filecheck %s --check-prefix=AFTER-ALL < %t
// RUN: pipeline-opt %s -p cse,dce --print-ir-before-all 2>%t >%t.out
// RUN: filecheck %s --check-prefix=BEFORE-ALL < %t
// RUN: pipeline-opt %s -p cse,dce --print-ir-after=dce 2>%t >%t.out
// RUN: filecheck %s --check-prefix=AFTER-ONE < %t
// RUN: pipeline-opt %s -p cse,dce --print-ir-before=dce --print-ir-after=cse,dce --print-op-generic 2>%t >%t.out
// RUN: filecheck %s --check-prefix=SOME < %t

// STDOUT-NOT: IR dump
// STDOUT:     builtin.module {

// AFTER-ALL:      // ----- IR dump after cse -----
// AFTER-ALL-NEXT: builtin.module {
// AFTER-ALL-NEXT:   %a = arith.constant
// AFTER-ALL-NEXT:   "test.op"(%a, %a)
// AFTER-ALL-NEXT: }
// AFTER-ALL:      // ----- IR dump after dce -----
// AFTER-ALL-NEXT: builtin.module {
// AFTER-ALL-NEXT:   %a = arith.constant

// BEFORE-ALL:      // ----- IR dump before cse -----
// BEFORE-ALL-NEXT: builtin.module {
// BEFORE-ALL-NEXT:   %a = arith.constant
// BEFORE-ALL-NEXT:   %b = arith.constant
// BEFORE-ALL:      // ----- IR dump before dce -----

// AFTER-ONE-NOT: cse
// AFTER-ONE:     // ----- IR dump after dce -----
// AFTER-ONE-NOT: IR dump

// SOME:     // ----- IR dump after cse -----
// SOME:     "arith.constant"()
// SOME:     // ----- IR dump before dce -----
// SOME:     // ----- IR dump after dce -----
// SOME-NOT: IR dump
%a = arith.constant 1.0 : f32
%b = arith.constant 1.0 : f32
"test.op"(%a, %b) : (f32, f32) -> ()
