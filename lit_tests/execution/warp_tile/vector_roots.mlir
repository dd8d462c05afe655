// Square roots of f32 that a lane takes of its columns are one vector op, whose slow path is one branch of the warp.
// Where there are such branches, what is stored is stored under masks, outside of any branch of its own.

// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=2 more="rows = 2, exchange = 0"},promote-memory,lower-groups,lower-warp-tiles' | filecheck %s
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=2 more="rows = 2, exchange = 0"},promote-memory,lower-groups,lower-warp-tiles{warps=false}' | filecheck %s --check-prefix=ARRAYS
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=2 more="rows = 2, exchange = 0"},promote-memory,lower-groups,lower-warp-tiles' -t cuda | filecheck %s --check-prefix=CUDA

// CHECK:       func.func @p_length_tile1(
// CHECK:       [[ROOTS:%[0-9]+]] = math.sqrt %{{[0-9]+}} {kernel.converged} : vector<2xf32>
// CHECK-NEXT:  [[A:%[0-9]+]] = vector.extract [[ROOTS]][0] : f32 from vector<2xf32>
// CHECK-NEXT:  [[B:%[0-9]+]] = vector.extract [[ROOTS]][1] : f32 from vector<2xf32>
// CHECK-NOT:   math.sqrt
// CHECK:       [[ALIVE:%[0-9]+]] = arith.andi {{.*}} : i1
// CHECK-NEXT:  scf.if %border {
// CHECK-NEXT:    scf.if %vectors_uniform {
// CHECK-NOT:       scf.if
// CHECK:           vector.maskedstore {{.*}} vector<2xi1>, vector<2xf32>
// CHECK-NEXT:    } else {
// CHECK-NOT:       scf.if
// CHECK:           vector.maskedstore {{.*}} vector<1xi1>, vector<1xf32>
// CHECK:           vector.maskedstore {{.*}} vector<1xi1>, vector<1xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  } else {
// CHECK-NEXT:    scf.if %vectors_uniform {
// CHECK-NOT:     scf.if
// CHECK:         [[MASK:%[0-9]+]] = vector.broadcast [[ALIVE]] : i1 to vector<2xi1>
// CHECK:         vector.maskedstore %out_length[{{.*}}], [[MASK]], %{{[0-9]+}} : memref<?x?xf32, strided<[?, 1]>>, vector<2xi1>, vector<2xf32>
// CHECK-NEXT:  } else {
// CHECK-NOT:     scf.if
// CHECK:         vector.broadcast [[ALIVE]] : i1 to vector<1xi1>
// CHECK:         vector.maskedstore {{.*}} vector<1xi1>, vector<1xf32>
// CHECK:         vector.maskedstore {{.*}} vector<1xi1>, vector<1xf32>
// CHECK:       func.func @p_length_kernel1(

// ARRAYS-NOT:  vector<
// ARRAYS:      math.sqrt %{{.*}} : f32
// ARRAYS-NOT:  vector<

// CUDA:        static __device__ __noinline__ float2 sqrt_any_f32x2(float2 a) {
// CUDA:        static __device__ __forceinline__ float2 sqrt_converged_f32x2(float2 a) {
// CUDA:        if (__builtin_expect(__any_sync(0xffffffffu, !(s.x >= 0x1p-50f && s.y >= 0x1p-50f)), 0)) r = sqrt_any_f32x2(a);
// CUDA:        = sqrt_converged_f32x2(
// CUDA:        store_if_f32x2(test{{.*}}, &out
// CUDA:        store_if_f32x1(test{{.*}}, &out

img.pipeline @p {
  %photo = img.input "photo" : !img.func<2xf32>
  %clamped = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  %out = img.group "length" {
    %length = img.stage "length" (%x, %y) -> f32 {
      %a = img.read %clamped[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %clamped[%x + 1, %y] : !img.func<2xf32>
      %aa = arith.mulf %a, %a : f32
      %bb = arith.mulf %b, %b : f32
      %s = arith.addf %aa, %bb : f32
      %r = math.sqrt %s : f32
      img.yield %r : f32
    }
    img.yield %length : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %out : !img.func<2xf32>
}
