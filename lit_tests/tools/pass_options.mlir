// Options are separated by spaces, the values of a tuple by commas; `-` and `_` in names are the same.

// RUN: pipeline-opt %s -p 'scf-parallel-loop-tiling{parallel-loop-tile-sizes=4,8}' | filecheck %s
// RUN: pipeline-opt %s -p 'builtin.module(scf-parallel-loop-tiling{ parallel_loop_tile_sizes = 4, 8 })' | filecheck %s
// RUN: not pipeline-opt %s -p 'scf-parallel-loop-tiling{parallel-loop-tile-size=4}' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not pipeline-opt %s -p 'scf-parallel-loop-tiling{parallel-loop-tile-sizes=four}' 2>&1 | filecheck %s --check-prefix=TYPE
// RUN: not pipeline-opt %s -p 'cse,apply-individual-rewrite' 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not pipeline-opt %s -p 'cse,dce{fast}' 2>&1 | filecheck %s --check-prefix=NO-OPTIONS
// RUN: not pipeline-opt %s -p 'cse{' 2>&1 | filecheck %s --check-prefix=TEXT
// RUN: not pipeline-opt %s -p 'cse;dce' 2>&1 | filecheck %s --check-prefix=CHARACTER

// CHECK-DAG: arith.constant 4 : index
// CHECK-DAG: arith.constant 8 : index

// UNKNOWN:      --pass-pipeline:1:1: error: pass 'scf-parallel-loop-tiling' has no option 'parallel_loop_tile_size' (did you mean 'parallel_loop_tile_sizes'?); its options are parallel_loop_tile_sizes: tuple[int, ...]
// UNKNOWN-NEXT: scf-parallel-loop-tiling{parallel-loop-tile-size=4}
// UNKNOWN-NEXT: {{^\^$}}
// UNKNOWN-NOT:  {{.}}

// TYPE: --pass-pipeline:1:1: error: option 'parallel_loop_tile_sizes' of pass 'scf-parallel-loop-tiling' takes tuple[int, ...], not four; its options are

// MISSING:      --pass-pipeline:1:5: error: pass 'apply-individual-rewrite' needs option
// MISSING-NEXT: cse,apply-individual-rewrite
// MISSING-NEXT: {{^    \^$}}

// NO-OPTIONS: --pass-pipeline:1:5: error: pass 'dce' has no option 'fast'; it takes no options

// TEXT:      --pass-pipeline:1:5: error: expected argument name here
// TEXT-NEXT: cse{

// CHARACTER: --pass-pipeline:1:4: error: ';' has no meaning here
func.func @f() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 64 : index
  "scf.parallel"(%zero, %zero, %n, %n, %one, %one) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    "test.op"(%i, %j) : (index, index) -> ()
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}
