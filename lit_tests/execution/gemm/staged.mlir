// A product of matrices whose blocks stage 8 steps of both operands at a time; the next ones are on their way meanwhile.
// RUN: pipeline-opt %s -p 'validate-occupancy' | filecheck %s --check-prefix=OCCUPANCY
// RUN: pipeline-opt %s -p 'validate-occupancy,lower-groups,cse' | filecheck %s
// RUN: pipeline-opt %s -p 'validate-occupancy,lower-groups' -t cuda | filecheck %s --check-prefix=CUDA

// OCCUPANCY: slice = [8], buffers = 2, vector = 4, blocks = 2>
// OCCUPANCY-SAME: 3840 shared bytes

// CHECK:      func.func @product_c_kernel
// CHECK-DAG:  %[[A:.*]] = memref.alloca() : memref<2x16x12xf32, 3 : i64>
// CHECK-DAG:  %[[B:.*]] = memref.alloca() : memref<2x8x36xf32, 3 : i64>
// CHECK:      nvgpu.device_async_copy %a{{.*}}, 4
// CHECK:      scf.for %slice = {{.*}} {
// CHECK:        nvgpu.device_async_wait
// CHECK:        gpu.barrier
// CHECK:        nvgpu.device_async_copy %b{{.*}}, 4
// CHECK:        vector.load %[[A]]
// CHECK:        vector.load %[[B]]

// CUDA:      __launch_bounds__(64, 2)
// CUDA:      __shared__ __align__(16) float staged_[2][16][12];
// CUDA:      for (idx slice_ = 0;
// CUDA:      wait_copies_0();
// CUDA:      __syncthreads();
// CUDA:      copy_async_16_l2(&staged_
// CUDA:      load_f32x4(&staged_
// CUDA:      sums_[7] = sums_[7] + {{.*}};
img.pipeline @product {
  %a = img.input "a" : !img.func<2xf32>
  %b = img.input "b" : !img.func<2xf32>
  %n = img.extent 0 of %a : !img.func<2xf32>
  %first = img.min 0 of %a : !img.func<2xf32>
  %z = img.group "zero" schedule #schedule.block_tile<tile = [32, 4], threads = [32, 4]> {
    %s = img.stage "zero" (%x, %y) -> f32 {
      %v = arith.constant 0.0 : f32
      img.yield %v : f32
    }
    img.yield %s : !img.func<2xf32>
  } : !img.func<2xf32>
  %c = img.group "c" schedule #schedule.gemm<threads = [8, 8], points = [4, 2], unroll = 4, slice = [8], buffers = 2, vector = 4, blocks = 2> {
    %u = img.update "c" (%x, %y) over (%k in [%first, %n]) of (%h = %z : !img.func<2xf32>) combine [add] {
      %l = img.read %a[%k, %y] : !img.func<2xf32>
      %r = img.read %b[%x, %k] : !img.func<2xf32>
      %p = arith.mulf %l, %r : f32
      img.write %p at [%x, %y] : f32
    }
    img.yield %u : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "c" = %c : !img.func<2xf32>
}
