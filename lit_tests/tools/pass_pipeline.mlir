// The spellings of a pipeline; each removes the constant that is computed twice, and then the unused one.

// RUN: pipeline-opt %s --pass-pipeline='cse,dce' | filecheck %s
// RUN: pipeline-opt %s --pass-pipeline='builtin.module(cse,dce)' | filecheck %s
// RUN: pipeline-opt %s --passes=' builtin.module( cse , dce{} ) ' | filecheck %s
// RUN: pipeline-opt %s -p cse,dce | filecheck %s
// RUN: pipeline-opt -p cse,dce < %s | filecheck %s
// RUN: pipeline-opt -p cse,dce - < %s | filecheck %s
// RUN: pipeline-opt %s -p cse,dce -o %t && filecheck %s < %t
// RUN: pipeline-opt %s | filecheck %s --check-prefix=NONE

// CHECK:      func.func @f() -> f32 {
// CHECK-NEXT:   %a = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:   %s = arith.addf %a, %a : f32
// CHECK-NEXT:   func.return %s : f32

// NONE:      %a = arith.constant
// NONE-NEXT: %b = arith.constant
func.func @f() -> f32 {
  %a = arith.constant 1.0 : f32
  %b = arith.constant 1.0 : f32
  %s = arith.addf %a, %b : f32
  %unused = arith.mulf %a, %b : f32
  func.return %s : f32
}
