// RUN: pipeline-opt %s -p cse,dce,cse --timing 2>%t | filecheck %s --check-prefix=STDOUT
// RUN: filecheck %s < %t

// STDOUT-NOT: timing
// STDOUT:     builtin.module {

// Verification has its own row; a pass that runs twice has one row.

// CHECK:      // ----- timing -----
// CHECK-NEXT: {{^  step +ms +share$}}
// CHECK-NEXT: {{^  parse +[0-9]+\.[0-9]+ +[0-9.]+%$}}
// CHECK-NEXT: {{^  verification +[0-9]+\.[0-9]+ +[0-9.]+%$}}
// CHECK-NEXT: {{^  cse +[0-9]+\.[0-9]+ +[0-9.]+%$}}
// CHECK-NEXT: {{^  dce +[0-9]+\.[0-9]+ +[0-9.]+%$}}
// CHECK-NEXT: {{^  print +[0-9]+\.[0-9]+ +[0-9.]+%$}}
// CHECK-NEXT: {{^  total +[0-9]+\.[0-9]+ +100\.0%$}}
// CHECK-NOT:  {{.}}
%a = arith.constant 1.0 : f32
