// Atomics on integers in global memory and in that of the block, and a barrier for memory alone: they parse back, mean
// the same to the real mlir-opt, and are printed as CUDA and as C, where a block's own memory needs no atomics.

// RUN: pipeline-opt %s | pipeline-opt | filecheck %s
// RUN: pipeline-opt %s --print-op-generic | pipeline-opt | filecheck %s
// RUN: pipeline-opt %s | mlir-opt | filecheck %s
// RUN: pipeline-opt %s --print-op-generic | mlir-opt | filecheck %s
// RUN: pipeline-opt %s -t cuda | filecheck %s --check-prefix=CUDA
// RUN: pipeline-opt %s -t c | filecheck %s --check-prefix=C

// CHECK-LABEL: func.func @counts(
// CHECK:         memref.atomic_rmw addi {{%.*}}, {{%.*}}[{{%.*}}] : (i32, memref<64xi32, 3{{.*}}>) -> i32
// CHECK:         memref.atomic_rmw mins {{%.*}}, {{%.*}}[{{%.*}}] : (i32, memref<?xi32>) -> i32
// CHECK:         memref.atomic_rmw minu {{%.*}}, {{%.*}}[{{%.*}}] : (i64, memref<?xi64>) -> i64
// CHECK:         memref.atomic_rmw maxs
// CHECK:         memref.atomic_rmw maxu
// CHECK:         memref.atomic_rmw andi
// CHECK:         memref.atomic_rmw ori
// CHECK:         memref.atomic_rmw xori
// CHECK:         nvvm.memory.barrier{{.*}}gpu>
// CHECK:         %{{.*}} = memref.atomic_rmw assign
// CHECK:         memref.store

// CUDA: static __device__ __forceinline__ unsigned int atomic_mins_32(unsigned int* p, unsigned int v) { return (unsigned int)atomicMin(reinterpret_cast<int*>(p), (int)v); }
// CUDA-LABEL: counts_fn(
// CUDA:         extern __shared__ __align__(16) unsigned char own_bytes_[];
// CUDA-NEXT:    unsigned int* own_ = (unsigned int*)own_bytes_;
// CUDA:         atomicAdd(&own_[t_], v_);
// CUDA-NEXT:    atomic_mins_32(&h_[t_], v_);
// CUDA-NEXT:    atomicMin(&g_[t_], w_);
// CUDA-NEXT:    atomic_maxs_64(&g_[t_], w_);
// CUDA-NEXT:    atomicMax(&g_[t_], w_);
// CUDA-NEXT:    atomicAnd(&g_[t_], w_);
// CUDA-NEXT:    atomicOr(&g_[t_], w_);
// CUDA-NEXT:    atomicXor(&g_[t_], w_);
// CUDA-NEXT:    __threadfence();
// CUDA-NEXT:    const unsigned int old_ = atomicExch(&h_[t_], v_);
// CUDA-NEXT:    own_[t_] = old_;

// C:       static inline unsigned int plain_addi_32(unsigned int* p, unsigned int v) { const unsigned int a = *p; *p = a + v; return a; }
// C:       static inline unsigned int atomic_mins_32(
// C:         while (!__atomic_compare_exchange_n(p, &a, (int)a < (int)v ? a : v, 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
// C:       static inline unsigned long long atomic_andi_64({{.*}}) { return __atomic_fetch_and(p, v, __ATOMIC_ACQ_REL); }
// C-LABEL: counts_fn(
// C:         static _Thread_local unsigned char own_bytes_[256] __attribute__((aligned(64)));
// C:         plain_addi_32(&own_[t_], v_);
// C-NEXT:    atomic_mins_32(&h_[t_], v_);
// C:         __atomic_thread_fence(__ATOMIC_SEQ_CST);
// C-NEXT:    const unsigned int old_ = atomic_assign_32(&h_[t_], v_);
func.func @counts(%h: memref<?xi32>, %g: memref<?xi64>, %v: i32, %w: i64) attributes {kernel.threads = array<i64: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %own = memref.alloca() {kernel.dynamic_shared} : memref<64xi32, 3>
  scf.for %t = %c0 to %c64 step %c1 {
    %0 = memref.atomic_rmw addi %v, %own[%t] : (i32, memref<64xi32, 3>) -> i32
    %1 = memref.atomic_rmw mins %v, %h[%t] : (i32, memref<?xi32>) -> i32
    %2 = memref.atomic_rmw minu %w, %g[%t] : (i64, memref<?xi64>) -> i64
    %3 = memref.atomic_rmw maxs %w, %g[%t] : (i64, memref<?xi64>) -> i64
    %4 = memref.atomic_rmw maxu %w, %g[%t] : (i64, memref<?xi64>) -> i64
    %5 = memref.atomic_rmw andi %w, %g[%t] : (i64, memref<?xi64>) -> i64
    %6 = memref.atomic_rmw ori %w, %g[%t] : (i64, memref<?xi64>) -> i64
    %7 = memref.atomic_rmw xori %w, %g[%t] : (i64, memref<?xi64>) -> i64
    nvvm.memory.barrier <gpu>
    %old = memref.atomic_rmw assign %v, %h[%t] : (i32, memref<?xi32>) -> i32
    memref.store %old, %own[%t] : memref<64xi32, 3>
  } {kernel.level = "thread_x"}
  func.return
}
