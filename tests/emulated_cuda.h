// CUDA's own, as far as generated kernels use it, on one CPU core. The threads of a block are fibers: one runs until it
// needs what another has not done yet, at a shuffle or a barrier. Blocks run one after the other. Approximations
// (rsqrt.approx) are exact here.
// A fiber jumps to other stacks, which checked versions of longjmp refuse.
#undef _FORTIFY_SOURCE
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

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
extern "C" { int emulated_grid[3], emulated_threads[3], emulated_misaligned; void (*emulated_after_block)(); }
extern "C" { int emulated_shared_bytes; }  // of the dynamic shared memory, which a launch asks for
alignas(256) static unsigned char emulated_shared[1 << 18];
extern "C" { unsigned long long emulated_watched[2]; }  // addresses: what vectors near it have to lie in
#define __device__
#define __forceinline__ inline
#define __noinline__
#define __shared__ static
#define __restrict__
#define __align__(n) __attribute__((aligned(n)))

// Under the address sanitizer, as a device has it.
static void beyond_shared_memory_nothing_is_touched() {
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(emulated_shared, sizeof emulated_shared);
  __asan_poison_memory_region(emulated_shared + emulated_shared_bytes, sizeof emulated_shared - emulated_shared_bytes);
#endif
}

// Threads of a block.
enum { MOST_THREADS = 1024, STACK = 1 << 18, LANES = 32 };
struct Fiber {
  jmp_buf waits;  // where it goes on
  ucontext_t begins;
  Place place;
  char* stack;
  int barriers, shuffles;  // that it has come to; INT_MAX at its end
};
static Fiber fibers[MOST_THREADS];
static jmp_buf scheduler;
static int current, threads, steps;
static unsigned long long lanes[2][MOST_THREADS];
static void (*body)(const void*);
static const void* kernel_of_body;

// Let the scheduler choose another. Unlike swapcontext, no call of the system.
static void switch_to_scheduler() {
  if (!_setjmp(fibers[current].waits)) _longjmp(scheduler, 1);
}
// A fiber computes the thread of its number of one block after another.
static void run_fiber() {
  for (;;) {
    body(kernel_of_body);
    fibers[current].barriers = fibers[current].shuffles = INT_MAX;
    ++steps;
    switch_to_scheduler();
  }
}
static void resume(Fiber& f) {
  if (_setjmp(scheduler)) return;
  if (f.stack) _longjmp(f.waits, 1);
  f.stack = (char*)malloc(STACK);
  getcontext(&f.begins);
  f.begins.uc_stack.ss_sp = f.stack;
  f.begins.uc_stack.ss_size = STACK;
  f.begins.uc_link = nullptr;
  makecontext(&f.begins, run_fiber, 0);
  setcontext(&f.begins);
}
// Let the others run until those of [first, first + count) have come as far.
static void wait_for(int Fiber::*done, int first, int count) {
  const int mine = fibers[current].*done;
  for (int i = first; i < first + count && i < threads; ++i)
    while (fibers[i].*done < mine) switch_to_scheduler();
  ++steps;
}
template <class Kernel> static void run_block(const Kernel& kernel) {
  body = [](const void* k) { (*(const Kernel*)k)(); };
  kernel_of_body = &kernel;
  beyond_shared_memory_nothing_is_touched();
  threads = 0;
  for (int z = 0; z < emulated_threads[2]; ++z)
    for (int y = 0; y < emulated_threads[1]; ++y)
      for (int x = 0; x < emulated_threads[0]; ++x) {
        Fiber& f = fibers[threads++];
        f.place = {x, y, z};
        f.barriers = f.shuffles = 0;
      }
  for (bool alive = true; alive;) {
    alive = false;
    const int before = steps;
    for (current = 0; current < threads; ++current)
      if (fibers[current].barriers != INT_MAX) {
        alive = true;
        threadIdx = fibers[current].place;
        resume(fibers[current]);
      }
    if (alive && steps == before) {
      fprintf(stderr, "block (%d, %d, %d): its threads wait for each other\n", blockIdx.x, blockIdx.y, blockIdx.z);
      abort();
    }
  }
}
static void __syncthreads() {
  ++fibers[current].barriers;
  wait_for(&Fiber::barriers, 0, threads);
}
// What all lanes of the warp give.
template <class T> static const unsigned long long* given(T v) {
  unsigned long long* row = lanes[++fibers[current].shuffles & 1];
  const int first = current / LANES * LANES;
  memcpy(&row[current], &v, sizeof v);
  wait_for(&Fiber::shuffles, first, LANES);
  return row + first;
}
template <class T> static T shuffle(T v, int from) {
  T found;
  memcpy(&found, &given(v)[from], sizeof found);
  return found;
}
template <class T> static T __shfl_down_sync(unsigned, T v, int by, int = LANES) {
  const int lane = current % LANES;
  return shuffle(v, lane + by < LANES ? lane + by : lane);
}
template <class T> static T __shfl_up_sync(unsigned, T v, int by, int = LANES) {
  const int lane = current % LANES;
  return shuffle(v, lane >= by ? lane - by : lane);
}
template <class T> static T __shfl_sync(unsigned, T v, int from, int = LANES) { return shuffle(v, from & LANES - 1); }
template <class T> static T __shfl_xor_sync(unsigned, T v, int by, int = LANES) {
  return shuffle(v, (current % LANES) ^ by);
}
static bool __any_sync(unsigned, bool v) {
  const unsigned long long* of_lanes = given((unsigned long long)v);
  bool any = false;
  for (int i = 0; i < LANES; ++i) any |= of_lanes[i] != 0;
  return any;
}

// Atomic by themselves: a thread runs until it waits.
#define ATOMIC(NAME, WHAT)                              \
  template <class T, class U> static T NAME(T* p, U u) { \
    const T a = *p, v = (T)u;                           \
    *p = WHAT;                                          \
    return a;                                           \
  }
ATOMIC(atomicAdd, a + v) ATOMIC(atomicAnd, a & v) ATOMIC(atomicOr, a | v) ATOMIC(atomicXor, a ^ v)
ATOMIC(atomicExch, v) ATOMIC(atomicMin, a < v ? a : v) ATOMIC(atomicMax, a > v ? a : v)
static void __threadfence() {}

// Words, and pairs of 16 bits.
static unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  const unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned found = 0;
  for (int i = 0; i < 4; ++i) found |= (unsigned)(both >> 8 * (s >> 4 * i & 7) & 255) << 8 * i;
  return found;
}
static unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return (unsigned)(((unsigned long long)high << 32 | low) << (by & 31) >> 32);
}
static unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31));
}
#define PAIRS(NAME, T, WHAT)                                          \
  static unsigned NAME(unsigned a, unsigned b) {                      \
    unsigned found = 0;                                               \
    for (int i = 0; i < 32; i += 16) {                                \
      const T p = (T)(a >> i), q = (T)(b >> i);                       \
      found |= (unsigned)(unsigned short)(WHAT) << i;                 \
    }                                                                 \
    return found;                                                     \
  }
PAIRS(__vadd2, unsigned short, p + q)
PAIRS(__vsub2, unsigned short, p - q)
PAIRS(__vminu2, unsigned short, p < q ? p : q)
PAIRS(__vmaxu2, unsigned short, p > q ? p : q)
PAIRS(__vmins2, short, p < q ? p : q)
PAIRS(__vmaxs2, short, p > q ? p : q)
static unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
static int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
static unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned __int128)a * b >> 64;
}
static long long __mul64hi(long long a, long long b) { return (__int128)a * b >> 64; }
static int __clz(int a) { return a ? __builtin_clz((unsigned)a) : 32; }
static int __clzll(long long a) { return a ? __builtin_clzll((unsigned long long)a) : 64; }
static int __popc(unsigned a) { return __builtin_popcount(a); }
static int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
static unsigned __brev(unsigned a) {
  unsigned found = 0;
  for (int i = 0; i < 32; ++i) found |= (a >> i & 1) << (31 - i);
  return found;
}
static unsigned long long __brevll(unsigned long long a) {
  return (unsigned long long)__brev((unsigned)a) << 32 | __brev((unsigned)(a >> 32));
}
template <class T, class U> static T min(T a, U b) { return a < (T)b ? a : (T)b; }
template <class T, class U> static T max(T a, U b) { return a > (T)b ? a : (T)b; }

// Floats.
template <class To, class From> static To rounded_to_zero(From a, To low, To high) {
  if (a != a) return 0;
  if (a <= (From)low) return low;
  return a >= (From)high ? high : (To)a;
}
static int least_of_s(int bits) { return -(1 << (bits - 1)); }
static int least_of_u(int) { return 0; }
static int greatest_of_s(int bits) { return (1 << (bits - 1)) - 1; }
static int greatest_of_u(int bits) { return (1 << bits) - 1; }
static int __float2int_rz(float a) { return rounded_to_zero<int>(a, INT_MIN, INT_MAX); }
static unsigned __float2uint_rz(float a) { return rounded_to_zero<unsigned>(a, 0, UINT_MAX); }
static long long __float2ll_rz(float a) { return rounded_to_zero<long long>(a, LLONG_MIN, LLONG_MAX); }
static unsigned long long __float2ull_rz(float a) { return rounded_to_zero<unsigned long long>(a, 0, ULLONG_MAX); }
static int __double2int_rz(double a) { return rounded_to_zero<int>(a, INT_MIN, INT_MAX); }
static unsigned __double2uint_rz(double a) { return rounded_to_zero<unsigned>(a, 0, UINT_MAX); }
static long long __double2ll_rz(double a) { return rounded_to_zero<long long>(a, LLONG_MIN, LLONG_MAX); }
static unsigned long long __double2ull_rz(double a) { return rounded_to_zero<unsigned long long>(a, 0, ULLONG_MAX); }
static float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static float __fadd_rn(float a, float b) { return a + b; }
static float __fsub_rn(float a, float b) { return a - b; }
static float __fadd_rz(float a, float b) {
  const double sum = (double)a + b;
  const float near = (float)sum;
  return fabs((double)near) > fabs(sum) ? nextafterf(near, 0.0f) : near;
}
static float __fmul_rn(float a, float b) { return a * b; }
static double __dadd_rn(double a, double b) { return a + b; }
static double __dsub_rn(double a, double b) { return a - b; }
static double __dmul_rn(double a, double b) { return a * b; }
static float __fdiv_rn(float a, float b) { return a / b; }
static float __fsqrt_rn(float a) { return sqrtf(a); }
static double __dsqrt_rn(double a) { return sqrt(a); }
// the number if one is NaN, also a signalling one
#define NUMBER(name, type, better) \
  static type name##_number(type a, type b) { return a != a ? b : b != b || !(b better a) ? a : b; }
NUMBER(fminf, float, <) NUMBER(fmaxf, float, >) NUMBER(fmin, double, <) NUMBER(fmax, double, >)
#define fminf fminf_number
#define fmaxf fmaxf_number
#define fmin fmin_number
#define fmax fmax_number
static float rsqrtf(float a) { return 1.0f / sqrtf(a); }
static double rsqrt(double a) { return 1.0 / sqrt(a); }
template <class To, class From> static To same_bits(From a) {
  To b;
  static_assert(sizeof a == sizeof b, "as many bits");
  memcpy(&b, &a, sizeof b);
  return b;
}
static float __int_as_float(int a) { return same_bits<float>(a); }
static unsigned __float_as_uint(float a) { return same_bits<unsigned>(a); }
static float __uint_as_float(unsigned a) { return same_bits<float>(a); }
static long long __double_as_longlong(double a) { return same_bits<long long>(a); }
static double __longlong_as_double(long long a) { return same_bits<double>(a); }

struct Pointer {
  unsigned long long address;
  template <class T> operator T*() const { return (T*)address; }
};
static void prefetched(const void* p) {
  const unsigned long long first = (unsigned long long)p, *watched = emulated_watched;
  emulated_misaligned += watched[1] && (first < watched[0] || first >= watched[1]);
}
template <class T> static T* checked(const void* p) {
  const unsigned long long first = (unsigned long long)p, end = first + sizeof(T), *watched = emulated_watched;
  const bool near = watched[1] && end + 16 > watched[0] && first < watched[1] + 16;
  emulated_misaligned += first % alignof(T) != 0 || (near && (first < watched[0] || end > watched[1]));
  return (T*)p;
}
