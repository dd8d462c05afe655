// What cannot be printed is said in one line, at the operation.

// RUN: not pipeline-opt %s --split-input-file -t cuda -o /dev/null 2>%t.errors
// RUN: filecheck %s < %t.errors

// CHECK: invalid.mlir:7:{{[0-9]+}}: error: @plain must have one of the attributes kernel.threads, kernel.inline and kernel.outlined
func.func @plain() {
  func.return
}

// -----

// CHECK: invalid.mlir:14:{{[0-9]+}}: error: @many: kernel.threads must be array<i64: x, y, z>, 1 to 1024 threads
func.func @many() attributes {kernel.threads = array<i64: 64, 32, 1>} {
  func.return
}

// -----

// CHECK: invalid.mlir:25:{{[0-9]+}}: error: scf.for: the thread_x loop has 32 iterations, but kernel.threads of @other_size says 64
func.func @other_size() attributes {kernel.threads = array<i64: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  scf.for %tx = %c0 to %c32 step %c1 {
  } {kernel.level = "thread_x"}
  func.return
}

// -----

// CHECK: invalid.mlir:39:{{[0-9]+}}: error: memref.store: every thread of thread_y would store here; put it inside thread loops
func.func @everyone(%out: memref<?xf32>) attributes {kernel.threads = array<i64: 32, 2, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  scf.for %tx = %c0 to %c32 step %c1 {
    memref.store %one, %out[%tx] : memref<?xf32>
  } {kernel.level = "thread_x"}
  func.return
}

// -----

// CHECK: invalid.mlir:52:{{[0-9]+}}: error: gpu.barrier inside of a thread loop; move it between thread loops
func.func @waits() attributes {kernel.threads = array<i64: 32, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  scf.for %tx = %c0 to %c32 step %c1 {
    "gpu.barrier"() : () -> ()
  } {kernel.level = "thread_x"}
  func.return
}

// -----

// CHECK: invalid.mlir:61:{{[0-9]+}}: error: @large holds 80000 bytes in static shared arrays, and CUDA allows 49152; mark one memref.alloca with kernel.dynamic_shared
func.func @large() attributes {kernel.threads = array<i64: 1, 1, 1>} {
  %a = memref.alloca() : memref<100x100xf32, 3>
  %b = memref.alloca() : memref<100x100xf32, 3>
  func.return
}

// -----

// CHECK: invalid.mlir:72:{{[0-9]+}}: error: scf.for: a block_x loop cannot carry values from one iteration to the next
func.func @carries(%n: index, %x: f32) attributes {kernel.threads = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %bx = %c0 to %n step %c1 iter_args(%a = %x) -> (f32) {
    scf.yield %a : f32
  } {kernel.level = "block_x"}
  func.return
}

// -----

// CHECK: invalid.mlir:84:{{[0-9]+}}: error: scf.for: kernel.level must be one of block_x, block_y, block_z, thread_x, thread_y, thread_z, not warp
func.func @level(%n: index) attributes {kernel.threads = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %bx = %c0 to %n step %c1 {
  } {kernel.level = "warp"}
  func.return
}

// -----

// CHECK: error: {{.*}}i24 has no C type; use i1, i8, i16, i32 or i64
func.func @odd(%out: memref<4xi24>) attributes {kernel.threads = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %a = arith.constant 3 : i24
  memref.store %a, %out[%c0] : memref<4xi24>
  func.return
}

// -----

// CHECK: invalid.mlir:103:{{[0-9]+}}: error: memref.alloc is not printed as CUDA
func.func @heap() attributes {kernel.threads = array<i64: 1, 1, 1>} {
  %a = memref.alloc() : memref<4xf32>
  func.return
}

// -----

// CHECK: invalid.mlir:111:{{[0-9]+}}: error: memref.alloca: the memory space must be 3 (block) or 5 (thread)
func.func @space() attributes {kernel.threads = array<i64: 1, 1, 1>} {
  %a = memref.alloca() : memref<4xf32>
  func.return
}

// -----

// CHECK: invalid.mlir:122:{{[0-9]+}}: error: func.call: @other is not a function of this module with kernel.inline or kernel.outlined
func.func @other() attributes {kernel.threads = array<i64: 1, 1, 1>} {
  func.return
}
func.func @calls() attributes {kernel.threads = array<i64: 1, 1, 1>} {
  func.call @other() : () -> ()
  func.return
}

// -----

// CHECK: error: {{.*}}vector<16xf32> is not a vector of rank 1 of 2, 4, 8 or 16 bytes
func.func @wide(%x: memref<64xf32>, %y: memref<64xf32>) attributes {kernel.threads = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<64xf32>, vector<16xf32>
  vector.store %v, %y[%c0] : memref<64xf32>, vector<16xf32>
  func.return
}

// -----

// CHECK: error: vector.extract: element 4 of a vector of 4
func.func @beyond(%x: memref<64xf32>, %y: memref<64xf32>) attributes {kernel.threads = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<64xf32>, vector<4xf32>
  %e = vector.extract %v[4] : f32 from vector<4xf32>
  memref.store %e, %y[%c0] : memref<64xf32>
  func.return
}
