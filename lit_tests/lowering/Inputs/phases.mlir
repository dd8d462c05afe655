// Sibling phases may use the same names; a load is not moved over the store, barrier or loop that follows it.
func.func @helper(%a: f32, %in: index) -> f32 attributes {kernel.inline} {
  %i = arith.index_cast %in : index to i32
  %f = arith.sitofp %i : i32 to f32
  %r = arith.addf %a, %f : f32
  func.return %r : f32
}
func.func @phases(%x: memref<64xf32>, %float: memref<64xf32>) attributes {kernel.threads = array<i64: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %tile = memref.alloca() {kernel.dynamic_shared} : memref<64xf32, 3>
  scf.for %i = %c0 to %c64 step %c1 {
    %v = memref.load %x[%i] : memref<64xf32>
    %w = func.call @helper(%v, %i) : (f32, index) -> f32
    memref.store %w, %tile[%i] : memref<64xf32, 3>
  } {kernel.level = "thread_x"}
  "gpu.barrier"() : () -> ()
  scf.for %i = %c0 to %c64 step %c1 {
    %63 = arith.constant 63 : index
    %j = arith.subi %63, %i : index
    %before = memref.load %x[%i] : memref<64xf32>
    %other = memref.load %tile[%j] : memref<64xf32, 3>
    memref.store %other, %x[%i] : memref<64xf32>
    %double = arith.addf %before, %other {kernel.comment = "what was there, and the mirror image"} : f32
    memref.store %double, %float[%i] : memref<64xf32>
  } {kernel.level = "thread_x"}
  func.return
}
