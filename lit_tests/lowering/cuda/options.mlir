// The first line says how to compile the text; index has 32 or 64 bits.

// RUN: pipeline-opt %S/../Inputs/blur.mlir -t cuda | filecheck %s
// RUN: pipeline-opt %S/../Inputs/blur.mlir -t 'cuda{arch=sm_80 strict_float=true index_bits=64}' | filecheck %s --check-prefix=WIDE
// RUN: not pipeline-opt %S/../Inputs/blur.mlir -t 'cuda{index_bits=16}' 2>&1 | filecheck %s --check-prefix=BAD

// CHECK: // compile with: nvrtc --std=c++17 --gpu-architecture=sm_90{{$}}
// CHECK: typedef int idx;

// WIDE: // compile with: nvrtc --std=c++17 --gpu-architecture=sm_80 --fmad=false{{$}}
// WIDE: typedef long long idx;

// BAD: error: index_bits must be 32 or 64, got 16
