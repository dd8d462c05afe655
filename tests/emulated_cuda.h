// CUDA's own, as far as generated kernels use it, for one thread after the other: lanes see their own values in
// shuffles, and barriers wait for nothing. Results mean nothing; addresses are what a GPU would use.
#include <math.h>
#include <string.h>
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
struct alignas(16) longlong2 { long long x, y; };
struct alignas(16) ulonglong2 { unsigned long long x, y; };
#define MAKE2(V, T) static V make_##V(T a, T b) { return {a, b}; }
#define MAKE4(V, T) static V make_##V(T a, T b, T c, T d) { return {a, b, c, d}; }
MAKE2(uint2, unsigned) MAKE2(int2, int) MAKE2(float2, float) MAKE2(double2, double)
MAKE2(longlong2, long long) MAKE2(ulonglong2, unsigned long long)
MAKE4(uint4, unsigned) MAKE4(int4, int) MAKE4(float4, float)
struct Place { int x, y, z; };
static Place threadIdx, blockIdx;
extern "C" { int emulated_grid[3], emulated_threads[3]; }
#define __device__
#define __forceinline__ inline
#define __noinline__
#define __shared__ static
#define __restrict__
#define __align__(n) __attribute__((aligned(n)))
#define __syncthreads()
template <class T> static T __shfl_down_sync(unsigned, T v, int, int) { return v; }
template <class T> static T __shfl_up_sync(unsigned, T v, int, int) { return v; }
static unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  const unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned found = 0;
  for (int i = 0; i < 4; ++i) found |= (unsigned)(both >> 8 * (s >> 4 * i & 7) & 255) << 8 * i;
  return found;
}
static int __float2int_rz(float a) { return fabsf(a) < 2e9f ? (int)a : 0; }
static unsigned __float2uint_rz(float a) { return a > 0 && a < 4e9f ? (unsigned)a : 0; }
static float __fmaf_rn(float a, float b, float c) { return a * b + c; }
static float __fmul_rn(float a, float b) { return a * b; }
static float __fsqrt_rn(float a) { return sqrtf(a); }
static unsigned __vadd2(unsigned a, unsigned b) { return a + b; }
static unsigned __vsub2(unsigned a, unsigned b) { return a - b; }
static unsigned __vminu2(unsigned a, unsigned b) { return a < b ? a : b; }
static unsigned __vmaxu2(unsigned a, unsigned b) { return a > b ? a : b; }
static unsigned __float_as_uint(float a) { unsigned b; memcpy(&b, &a, 4); return b; }
static float __uint_as_float(unsigned a) { float b; memcpy(&b, &a, 4); return b; }
static unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
template <class T, class U> static T min(T a, U b) { return a < (T)b ? a : (T)b; }
template <class T, class U> static T max(T a, U b) { return a > (T)b ? a : (T)b; }
struct Pointer {
  unsigned long long address;
  template <class T> operator T*() const { return (T*)address; }
};
extern "C" { int emulated_misaligned; }
template <class T> static T* checked(const void* p) {
  emulated_misaligned += (unsigned long long)p % alignof(T) != 0;
  return (T*)p;
}
