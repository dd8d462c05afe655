// The first line says how to compile the text; index has 32 or 64 bits.

// RUN: pipeline-opt %S/../Inputs/blur.mlir -t c | filecheck %s
// RUN: pipeline-opt %S/../Inputs/blur.mlir -t 'c{strict_float=true index_bits=64}' | filecheck %s --check-prefix=WIDE

// CHECK: // compile with: cc -O3 -march=native -fopenmp -fno-math-errno -ffp-contract=fast{{$}}
// CHECK: typedef int idx;

// WIDE: // compile with: cc {{.*}} -ffp-contract=off{{$}}
// WIDE: typedef long long idx;
