// What is not lowered has nothing to print: an error, and no file that is empty but for its head.

// RUN: not pipeline-opt %s -t cuda 2>&1 | filecheck %s
// RUN: not pipeline-opt %s -t c 2>&1 | filecheck %s
// RUN: not pipeline-opt %s -p 'group-stages,tile,promote-memory' -t cuda 2>&1 | filecheck %s
// RUN: pipeline-opt %s -p 'inline-stages,group-stages,tile,promote-memory,lower-groups,pack-subwords,convert-early,roll-stages,lower-warp-tiles,split-divisions,expand-division,expand-shifts,merge-versions' -t cuda | filecheck %s --check-prefix=KERNEL

// CHECK:      no_kernels.mlir:[[# @LINE + 6]]:1: error: no kernels to print; run inline-stages,group-stages,tile,promote-memory,lower-groups,pack-subwords,convert-early,roll-stages,lower-warp-tiles,split-divisions,expand-division,expand-shifts,merge-versions first
// CHECK-NEXT: img.pipeline @copy {
// CHECK-NEXT: {{^\^$}}
// CHECK-NOT:  {{.}}

// KERNEL: __global__
img.pipeline @copy {
  %in = img.input "in" : !img.func<1xf32>
  %out = img.stage "out" (%x) -> f32 {
    %v = img.read %in[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "out" = %out : !img.func<1xf32>
}
