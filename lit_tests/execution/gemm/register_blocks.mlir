// A product of matrices on a CPU: a block has three rows of two vectors, whose sums are registers, and rows that share
// what is copied of b; the last block of points begins where all of its rows lie inside, and leaves those of the one before.
// RUN: pipeline-opt %s -p 'lower-groups,cse' | filecheck %s
// RUN: pipeline-opt %s -p 'lower-groups,cse' -t c | filecheck %s --check-prefix=C

// CHECK:      memref.alloca() : memref<12x8xf32, 3 : i64>
// CHECK:      memref.alloca() : memref<16x8xf32, 3 : i64>
// CHECK:      %[[HELD:.*]] = memref.alloca() : memref<6xvector<4xf32>, 5 : i64>
// CHECK:      scf.for %k
// CHECK:        vector.broadcast {{.*}} : f32 to vector<4xf32>
// CHECK:        arith.mulf {{.*}} : vector<4xf32>
// CHECK:        memref.store {{.*}}, %[[HELD]][%{{.*}}] : memref<6xvector<4xf32>, 5 : i64>

// C:      typedef float f32x4 __attribute__((vector_size(16)));
// C:      #pragma omp parallel for collapse(2) schedule(dynamic)
// C:      float sums_[12][8] __attribute__((aligned(64)));
// C:      float copy_[16][8] __attribute__((aligned(64)));
// C:      for (idx first_ = 0; first_ < {{.*}}; first_ += 16) {
// C:      f32x4 block_sums_[6];
// C:      block_sums_[5] = load_f32x4(&sums_[{{.*}}][4]);
// C:      for (idx k_ = 0; k_ <
// C:      const idx [[ROW:i_[0-9]+_]] = out_c_min_y_ + min_idx({{.*}}, out_c_n0_ - 3);
// C:      const f32x4 v_ = splat_f32x4(a_[([[ROW]] - a_min_y_) * a_s0_
// C-NEXT: const f32x4 v_1_ = load_f32x4(&copy_[k_][0]);
// C-NEXT: block_sums_[0] = block_sums_[0] + v_ * v_1_;
// C-NEXT: const f32x4 v_2_ = load_f32x4(&copy_[k_][4]);
// C-NEXT: block_sums_[1] = block_sums_[1] + v_ * v_2_;
// C-NEXT: const f32x4 v_3_ = splat_f32x4(a_[([[ROW]] + 1 - a_min_y_) * a_s0_
// C:      block_sums_[5] = block_sums_[5] + v_4_ * v_2_;
// C:      store_f32x4(&sums_[{{.*}}][4], block_sums_[5]);
img.pipeline @product {
  %a = img.input "a" : !img.func<2xf32>
  %b = img.input "b" : !img.func<2xf32>
  %n = img.extent 0 of %a : !img.func<2xf32>
  %low = img.min 0 of %a : !img.func<2xf32>
  %z = img.group "zero" schedule #schedule.block_tile<tile = [32, 4], threads = [1, 1]> {
    %s = img.stage "zero" (%x, %y) -> f32 {
      %v = arith.constant 0.0 : f32
      img.yield %v : f32
    }
    img.yield %s : !img.func<2xf32>
  } : !img.func<2xf32>
  %c = img.group "c" schedule #schedule.gemm<threads = [1, 1], points = [8, 3], vector = 4, repeat = 4, pack = 16, dynamic = 1> {
    %u = img.update "c" (%x, %y) over (%k in [%low, %n]) of (%h = %z : !img.func<2xf32>) combine [add] {
      %l = img.read %a[%k, %y] : !img.func<2xf32>
      %r = img.read %b[%x, %k] : !img.func<2xf32>
      %p = arith.mulf %l, %r : f32
      img.write %p at [%x, %y] : f32
    }
    img.yield %u : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "c" = %c : !img.func<2xf32>
}
