// More lines than a lane's code can ask for one by one.
// RUN: pipeline-opt %s --verify-diagnostics -p lower-warp-tiles -o /dev/null

func.func @f(%in: memref<?x?xf32>, %i: index) {
  // expected-error @below {{warp.prefetch: a lane prefetches 67108863 lines, where 12000 are the most; give a smaller box}}
  warp.prefetch %in[%i, %i] within [-4, 60, 36, 4294967296] by 4 : memref<?x?xf32>
  func.return
}
