// RUN: pipeline-opt %s -p lower-groups | filecheck %s
// RUN: pipeline-opt %s -p lower-groups -t cuda | filecheck %s --check-prefix=CUDA
// RUN: pipeline-opt %s -p 'tile{target=h200}' | filecheck %s --check-prefix=KEPT

// Lanes along x load four points at once; warps are joined in shared memory, blocks by the last of them.

// KEPT: img.group "total_update" schedule #schedule.reduce<tile = [], threads = [32, 8], vector = 4, unroll = 2, segment = 3, split = 6>
// KEPT: img.group "columns_update" schedule #schedule.reduce<tile = [128], threads = [32, 4], vector = 4, unroll = 8, pure_lanes = 1>

// CHECK:      func.func @p_total_update_kernel1(%total: memref<f32, strided<[]>>, %in: memref<?x?xf32, strided<[?, 1]>>,
// CHECK-SAME: %partial0: memref<6x?x1xf32>, %tickets: memref<?xi32>)
// CHECK-SAME: kernel.threads = array<i64: 32, 8, 1>
// CHECK:      %of_warps = memref.alloca() : memref<8x1xf32, 3 : i64>
// CHECK:      %so_far = memref.alloca() : memref<4xf32, 5 : i64>
// CHECK:      vector.load %in[{{.*}}] : memref<?x?xf32, strided<[?, 1]>>, vector<4xf32>
// CHECK:      vector.load %in[{{.*}}] : memref<?x?xf32, strided<[?, 1]>>, vector<4xf32>
// CHECK:      gpu.shuffle
// CHECK:      memref.store {{.*}}, %of_warps[
// CHECK:      gpu.barrier
// CHECK:      memref.store {{.*}}, %partial0[
// CHECK-NEXT: nvvm.memory.barrier <gpu>
// CHECK:      gpu.barrier
// CHECK:      memref.atomic_rmw addi {{.*}}, %tickets[
// CHECK:      gpu.barrier
// CHECK:      memref.load %partial0[
// CHECK:      gpu.shuffle
// CHECK:      memref.store {{.*}}, %total[] : memref<f32, strided<[]>>

// Lanes along x have columns of their own, so that nothing is shuffled.

// CHECK-LABEL: func.func @p_columns_update_kernel
// CHECK:       vector.load %in[{{.*}}] : memref<?x?xf32, strided<[?, 1]>>, vector<4xf32>
// CHECK-NOT:   gpu.shuffle
// CHECK:       gpu.barrier
// CHECK:       memref.store {{.*}}, %columns[

// CUDA: __shfl_xor_sync(0xffffffffu,
// CUDA: __threadfence();
// CUDA: atomicAdd(
img.pipeline @p {
  %in = img.input "in" : !img.func<2xf32>
  %w = img.extent 0 of %in : !img.func<2xf32>
  %h = img.extent 1 of %in : !img.func<2xf32>
  %x0 = img.min 0 of %in : !img.func<2xf32>
  %y0 = img.min 1 of %in : !img.func<2xf32>
  %total = img.group "total" schedule #schedule.block_tile<tile = [], threads = []> {
    %s = img.stage "total" () -> f32 {
      %z = arith.constant 0.0 : f32
      img.yield %z : f32
    }
    img.yield %s : !img.func<0xf32>
  } : !img.func<0xf32>
  %sum = img.group "total_update" schedule #schedule.reduce<tile = [], threads = [32, 8], vector = 4, unroll = 2, segment = 3, split = 6> {
    %u = img.update "total_update" () over (%rx in [%x0, %w], %ry in [%y0, %h]) of (%t = %total : !img.func<0xf32>) combine [add] {
      %v = img.read %in[%rx, %ry] : !img.func<2xf32>
      img.write %v at [] : f32
    }
    img.yield %u : !img.func<0xf32>
  } : !img.func<0xf32>
  %columns = img.group "columns" schedule #schedule.block_tile<tile = [128], threads = [128]> {
    %s = img.stage "columns" (%x) -> f32 {
      %z = arith.constant 0.0 : f32
      img.yield %z : f32
    }
    img.yield %s : !img.func<1xf32>
  } : !img.func<1xf32>
  %sums = img.group "columns_update" schedule #schedule.reduce<tile = [128], threads = [32, 4], vector = 4, unroll = 8, pure_lanes = 1> {
    %u = img.update "columns_update" (%x) over (%ry in [%y0, %h]) of (%t = %columns : !img.func<1xf32>) combine [add] {
      %v = img.read %in[%x, %ry] : !img.func<2xf32>
      img.write %v at [%x] : f32
    }
    img.yield %u : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "sum" = %sum : !img.func<0xf32>, "sums" = %sums : !img.func<1xf32>
}
