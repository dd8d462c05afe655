// Whether two numbers are equal, one of which may be clamped to the other one, is not asked by `==`: ptxas takes that
// for its contrary. Zero is never such a bound.

// RUN: pipeline-opt %s -t cuda | filecheck %s
// RUN: pipeline-opt %s -t c | filecheck %s --check-prefix=C

// CHECK:      static __device__ __forceinline__ unsigned int bits_apart(unsigned int a, unsigned int b) {
// CHECK-NEXT:   unsigned int d;
// CHECK-NEXT:   asm("xor.b32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
// CHECK-LABEL: equations_fn(
// CHECK:         bits_apart({{.*}}, 255) == 0
// CHECK:         bits_apart({{.*}}, {{.*}}) != 0
// CHECK:         = v_ == 0;
// CHECK:         bits_apart({{.*}}, n_) == 0
// CHECK-NOT:     bits_apart

// C-NOT:       bits_apart
func.func @equations(%a: memref<?xi32>, %out: memref<?xi1>, %n: index) attributes {kernel.threads = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0 : i32
  %white = arith.constant 255 : i32
  %v = memref.load %a[%c0] : memref<?xi32>
  %w = memref.load %a[%c1] : memref<?xi32>
  %low = arith.minsi %v, %white : i32
  %clamped = arith.maxsi %low, %zero : i32
  %is_white = arith.cmpi eq, %clamped, %white : i32
  memref.store %is_white, %out[%c0] : memref<?xi1>
  %differ = arith.cmpi ne, %v, %w : i32
  memref.store %differ, %out[%c1] : memref<?xi1>
  %none = arith.cmpi eq, %v, %zero : i32
  memref.store %none, %out[%c2] : memref<?xi1>
  %i = arith.minsi %n, %c3 : index
  %j = arith.maxsi %i, %c0 : index
  %at_end = arith.cmpi eq, %j, %n : index
  memref.store %at_end, %out[%c3] : memref<?xi1>
  func.return
}
