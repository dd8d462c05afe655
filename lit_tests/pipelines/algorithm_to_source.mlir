// The whole way, from the algorithm to the text of kernels.

// RUN: pipeline-opt %s -p 'cse,canonicalize,inline-stages,group-stages{target=sm_80},tile{target=sm_80 shape=block_tile},promote-memory,validate-occupancy{target=sm_80 fix=true},lower-groups,expand-division' -t cuda | filecheck %s --check-prefix=BLOCKS
// RUN: pipeline-opt %s -p 'cse,canonicalize,inline-stages,group-stages{target=h200},tile{target=h200 shape=warp_tile more="exchange = 0"},promote-memory,validate-occupancy{target=h200 fix=true},lower-groups,lower-warp-tiles,expand-division' -t cuda | filecheck %s --check-prefix=WARPS
// RUN: pipeline-opt %s -p 'cse,canonicalize,inline-stages,group-stages{target=h200},tile{target=h200 shape=warp_tile more="exchange = 1"},promote-memory,validate-occupancy{target=h200 fix=true},lower-groups,lower-warp-tiles,expand-division' -t cuda | filecheck %s --check-prefix=EXCHANGE
// RUN: pipeline-opt %s -p 'cse,canonicalize,inline-stages,group-stages{target=cpu},tile{target=cpu},promote-memory,validate-occupancy{target=cpu fix=true},lower-groups,lower-warp-tiles{warps=false},expand-division' -t c | filecheck %s --check-prefix=C

// One kernel: each neighbour of the second stage is a neighbour in shared memory, or in a lane; or in a lane or another warp.

// BLOCKS:     __shared__
// BLOCKS:     __syncthreads();
// BLOCKS:     __global__ void __launch_bounds__({{[0-9]+}}) sharpen_out_kernel7(
// BLOCKS-NOT: __global__

// WARPS-NOT:  __shared__
// WARPS:      __shfl_up_sync(
// WARPS:      __global__ void __launch_bounds__({{[0-9, ]+}}) sharpen_out_kernel7(
// WARPS-NOT:  __global__

// EXCHANGE:     __shared__ __align__(16) unsigned char exchange_[
// EXCHANGE:     __shfl_up_sync(
// EXCHANGE:     __syncthreads();
// EXCHANGE:     __global__ void __launch_bounds__({{[0-9, ]+}}) sharpen_out_kernel7(
// EXCHANGE-NOT: __global__

// C-NOT:      {{__(shared|global|device|launch_bounds|sync|shfl)}}
// C:          #pragma omp parallel for
img.pipeline @sharpen {
  %photo = img.input "photo" : !img.func<2xf32>
  %clamped = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  %edge = img.stage "edge" (%x, %y) -> f32 {
    %a = img.read %clamped[%x - 1, %y] : !img.func<2xf32>
    %b = img.read %clamped[%x, %y] : !img.func<2xf32>
    %c = img.read %clamped[%x + 1, %y] : !img.func<2xf32>
    %two = arith.constant 2.0 : f32
    %0 = arith.mulf %b, %two : f32
    %1 = arith.subf %0, %a : f32
    %2 = arith.subf %1, %c : f32
    %3 = math.sqrt %2 : f32
    %4 = math.exp %3 : f32
    img.yield %4 : f32
  }
  %out = img.stage "out" (%x, %y) -> f32 {
    %a = img.read %edge[%x - 1, %y] : !img.func<2xf32>
    %b = img.read %edge[%x, %y - 1] : !img.func<2xf32>
    %c = img.read %edge[%x, %y] : !img.func<2xf32>
    %d = img.read %edge[%x, %y + 1] : !img.func<2xf32>
    %e = img.read %edge[%x + 1, %y] : !img.func<2xf32>
    %0 = arith.maximumf %a, %b : f32
    %1 = arith.maximumf %0, %c : f32
    %2 = arith.maximumf %1, %d : f32
    %3 = arith.maximumf %2, %e : f32
    img.yield %3 : f32
  }
  img.return "out" = %out : !img.func<2xf32>
}
