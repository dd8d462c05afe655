// One branch for the lanes of a vector of f32; a store under a predicate.

// RUN: pipeline-opt %S/../Inputs/roots.mlir -t cuda | filecheck %s

// CHECK:      static __device__ __noinline__ float4 sqrt_any_f32x4(float4 a) {
// CHECK-NEXT:   float4 b;
// CHECK-NEXT:   b.x = a.x < 0x1p-64f ? __fmul_rn(a.x, 0x1p64f) : a.x;
// CHECK:        asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y.w) : "f"(b.w));
// CHECK:        if (a.x < 0x1p-64f) r.x = __fmul_rn(r.x, 0x1p-32f);
// CHECK:        if (a.w == 0.0f || a.w == __int_as_float(0x7f800000)) r.w = a.w;
// CHECK-NEXT:   return r;
// CHECK-NEXT: }
// CHECK-NEXT: static __device__ __forceinline__ float4 sqrt_f32x4(float4 a) {
// CHECK-NEXT:   float4 y, s, r;
// CHECK-NEXT:   asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y.x) : "f"(a.x));
// CHECK:        asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(s.x) : "f"(a.x), "f"(y.x));
// CHECK:        r.x = __fmaf_rn(__fmaf_rn(-s.x, s.x, a.x), __fmul_rn(0.5f, y.x), s.x);
// CHECK:        if (__builtin_expect(!(s.x >= 0x1p-50f && s.y >= 0x1p-50f && s.z >= 0x1p-50f && s.w >= 0x1p-50f), 0)) r = sqrt_any_f32x4(a);
// CHECK-NEXT:   return r;
// CHECK-NEXT: }
// CHECK-NEXT: static __device__ __forceinline__ void store_if_f32x4(bool condition, float* p, float4 v) {
// CHECK-NEXT:   asm volatile("{ .reg .pred q; setp.ne.b32 q, %0, 0; @q st.global.v4.f32 [%1], {%2, %3, %4, %5}; }"
// CHECK-NEXT:     :: "r"((int)condition), "l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
// CHECK-NEXT: }
// CHECK:      double2 sqrt_f64x2(double2 a) { return make_double2(__dsqrt_rn(a.x), __dsqrt_rn(a.y)); }
// CHECK:      @q st.global.v2.f64 [%1], {%2, %3}; }"
// CHECK-NEXT:     :: "r"((int)condition), "l"(p), "d"(v.x), "d"(v.y) : "memory");
// CHECK:        const bool inside_ = x_ < n_;
// CHECK-NEXT:   store_if_f32x4(inside_, &out_[x_], sqrt_f32x4(load_f32x4(&in_[x_])));
// CHECK-NEXT:   store_if_f64x2(inside_, &wide_out_[x_], sqrt_f64x2(load_f64x2(&wide_[x_])));
