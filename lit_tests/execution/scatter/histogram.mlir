// RUN: pipeline-opt %s -p lower-groups | filecheck %s
// RUN: pipeline-opt %s -p lower-groups,expand-division --print-op-generic | mlir-opt --allow-unregistered-dialect -o /dev/null
// RUN: pipeline-opt %s -p lower-groups,expand-division,chain-kernels -t cuda | filecheck %s --check-prefix=CUDA
// RUN: pipeline-opt %s -p lower-groups,expand-division -t c | filecheck %s --check-prefix=C

// A histogram of bytes: blocks share out the picture, and a lane has counters of its own in the table of its block, which
// holds what a byte can be. Four bytes are loaded at once where all of them are in the domain.

// CHECK:       func.func @hist_hist_update_kernel4(%hist: memref<?xi32, strided<[1]>>,
// CHECK:       scf.for %block = {{.*}} {
// CHECK:         %table = memref.alloca() {{.*}}: memref<8192xi32, 3 : i64>
// CHECK:         scf.for %tx{{.*}} =
// CHECK:           scf.for %i{{.*}} =
// CHECK:             vector.store {{.*}}, %table[{{.*}}] : memref<8192xi32, 3 : i64>, vector<4xi32>
// CHECK:         } {kernel.level = "thread_x"}
// CHECK-NEXT:    "gpu.barrier"() : () -> ()
// CHECK:         scf.for %tx{{.*}} =
// CHECK:           scf.for %item{{.*}} =
// CHECK:             scf.if
// CHECK:               vector.load %in[{{.*}}] : {{.*}}, vector<4xi8>
// CHECK-COUNT-4:       memref.atomic_rmw addi %one{{.*}}, %table[
// CHECK:             } else {
// CHECK:               scf.for %x{{.*}} =
// CHECK:                 memref.load %in[
// CHECK:                 memref.atomic_rmw addi %one{{.*}}, %table[
// CHECK:         } {kernel.level = "thread_x"}
// CHECK-NEXT:    "gpu.barrier"() : () -> ()
// CHECK:         scf.for %tx{{.*}} =
// CHECK:           scf.for %i{{.*}} =
// CHECK-COUNT-32:    memref.load %table[
// CHECK:             scf.if
// CHECK:               memref.atomic_rmw addi {{.*}}, %hist[
// CHECK:       {kernel.level = "block_x"}

// The table is filled while the kernel before still ends.
// CUDA:        hist_hist_update_kernel4(
// CUDA:          __shared__ __align__(16) unsigned int table_[8192];
// CUDA-NEXT:     {
// CUDA-NEXT:       const idx tx_ = threadIdx.x;
// CUDA-NEXT:       for (idx i_ = tx_ * 4; i_ < 8192; i_ += 1024) {
// CUDA-NEXT:         store_u32x4(&table_[i_], make_u32x4(0, 0, 0, 0));
// CUDA:          griddepcontrol_wait();
// CUDA:          __syncthreads();
// CUDA:            atomicAdd(&table_[
// CUDA:          __syncthreads();
// CUDA:              atomicAdd(&hist_[

// C:           void hist_hist_update_kernel4(
// C:             #pragma omp parallel for
// C-NEXT:        for (idx block_ = 0; block_ < 132; ++block_) {
// C:               plain_addi_32(&table_[
// C:               atomic_addi_32(&hist_[
img.pipeline @hist {
  %in = img.input "in" {img.align = 16 : i64} : !img.func<2xui8>
  %x0 = img.min 0 of %in : !img.func<2xui8>
  %w = img.extent 0 of %in : !img.func<2xui8>
  %y0 = img.min 1 of %in : !img.func<2xui8>
  %h = img.extent 1 of %in : !img.func<2xui8>
  %h0 = img.group "hist" schedule #schedule.block_tile<tile = [256], threads = [256]> {
    %s = img.stage "hist" (%x) -> ui32 {
      %z = arith.constant 0 : i32
      img.yield %z : i32
    }
    img.yield %s : !img.func<1xui32>
  } : !img.func<1xui32>
  %h1 = img.group "hist_update" schedule #schedule.scatter<threads = [256], split = 132, copies = 32, points = 4> {
    %u = img.update "hist_update" () over (%x in [%x0, %w], %y in [%y0, %h]) of (%old = %h0 : !img.func<1xui32>) combine [add] {
      %v = img.read %in[%x, %y] : !img.func<2xui8>
      %n = arith.extui %v : i8 to i32
      %i = arith.index_cast %n : i32 to index
      %one = arith.constant 1 : i32
      img.write %one at [%i] : i32
    }
    img.yield %u : !img.func<1xui32>
  } : !img.func<1xui32>
  img.return "hist" = %h1 : !img.func<1xui32>
}
