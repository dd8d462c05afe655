// Elements of a word whose sums wrap around: what stands above the first is not cut off, and is left behind where words
// are made again. What is used more than once, or compared, is cut off.

// RUN: pipeline-opt %s -t cuda | filecheck %s

// CHECK:      static __device__ __forceinline__ unsigned int join_u16x2(unsigned int a0, unsigned int a1) {
// CHECK-NEXT:   return __byte_perm(a0, a1, 0x5410);
// CHECK-NEXT: }
// CHECK:      static __device__ __forceinline__ unsigned int join_u8x4(
// CHECK-NEXT:     unsigned int a0, unsigned int a1, unsigned int a2, unsigned int a3) {
// CHECK-NEXT:   return __byte_perm(__byte_perm(a0, a1, 0x0040), __byte_perm(a2, a3, 0x0040), 0x5410);
// CHECK-NEXT: }
// CHECK:        const unsigned int v_ = load_u16x2(&in_[x_]);
// CHECK-NEXT:   store_u16x2(&out_[x_], join_u16x2(v_ * 5, (unsigned short)(v_ >> 16) + 5));
// CHECK-NEXT:   const uint2 w_ = load_u8x8(&bytes_[x_]);
// CHECK-NEXT:   const unsigned char d_ = w_.y;
// CHECK-NEXT:   store_u8x4(&inverted_[x_], join_u8x4(w_.x * 2, max_u8(d_, 7), d_, d_));

// Less than a word has nothing above it that could be left:

// CHECK:        const unsigned short h_ = load_u8x2(&bytes_[x_]);
// CHECK-NEXT:   const unsigned short half_ = make_u8x2((unsigned char)h_ * 2, (unsigned char)(h_ >> 8));
func.func @sums(%in: memref<?xi16>, %out: memref<?xi16>, %bytes: memref<?xi8>, %inverted: memref<?xi8>)
    attributes {kernel.threads = array<i64: 32, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %five = arith.constant 5 : i16
  %two = arith.constant 2 : i8
  %seven = arith.constant 7 : i8
  scf.for %tx = %c0 to %c32 step %c1 {
    %x = arith.muli %tx, %c8 : index
    %v = vector.load %in[%x] : memref<?xi16>, vector<2xi16>
    %a = vector.extract %v[0] : i16 from vector<2xi16>
    %b = vector.extract %v[1] : i16 from vector<2xi16>
    %a5 = arith.muli %a, %five : i16
    %ba = arith.addi %b, %five : i16
    %u = ub.poison : vector<2xi16>
    %r0 = vector.insert %a5, %u [0] : i16 into vector<2xi16>
    %r = vector.insert %ba, %r0 [1] : i16 into vector<2xi16>
    vector.store %r, %out[%x] : memref<?xi16>, vector<2xi16>
    %w = vector.load %bytes[%x] : memref<?xi8>, vector<8xi8>
    %c = vector.extract %w[0] : i8 from vector<8xi8>
    %d = vector.extract %w[4] : i8 from vector<8xi8>
    %twice = arith.muli %c, %two : i8
    %more = arith.maxui %d, %seven : i8
    %t = ub.poison : vector<4xi8>
    %s0 = vector.insert %twice, %t [0] : i8 into vector<4xi8>
    %s1 = vector.insert %more, %s0 [1] : i8 into vector<4xi8>
    %s2 = vector.insert %d, %s1 [2] : i8 into vector<4xi8>
    %s = vector.insert %d, %s2 [3] : i8 into vector<4xi8>
    vector.store %s, %inverted[%x] : memref<?xi8>, vector<4xi8>
    %h = vector.load %bytes[%x] : memref<?xi8>, vector<2xi8>
    %h0 = vector.extract %h[0] : i8 from vector<2xi8>
    %h1 = vector.extract %h[1] : i8 from vector<2xi8>
    %h2 = arith.muli %h0, %two : i8
    %p = ub.poison : vector<2xi8>
    %q = vector.insert %h2, %p [0] : i8 into vector<2xi8>
    %half = vector.insert %h1, %q [1] : i8 into vector<2xi8>
    vector.store %half, %inverted[%x] : memref<?xi8>, vector<2xi8>
  } {kernel.level = "thread_x"}
  func.return
}
