// Roots of the lanes of two vectors, stored under a mask.
func.func @roots(%in: memref<?xf32>, %wide: memref<?xf64>, %out: memref<?xf32>, %wide_out: memref<?xf64>, %n: index)
    attributes {kernel.threads = array<i64: 32, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  scf.for %tx = %c0 to %c32 step %c1 {
    %x = arith.muli %tx, %c4 : index
    %inside = arith.cmpi slt, %x, %n : index
    %v = vector.load %in[%x] : memref<?xf32>, vector<4xf32>
    %r = math.sqrt %v : vector<4xf32>
    %mask = vector.broadcast %inside : i1 to vector<4xi1>
    vector.maskedstore %out[%x], %mask, %r : memref<?xf32>, vector<4xi1>, vector<4xf32>
    %w = vector.load %wide[%x] : memref<?xf64>, vector<2xf64>
    %q = math.sqrt %w : vector<2xf64>
    %both = vector.broadcast %inside : i1 to vector<2xi1>
    vector.maskedstore %wide_out[%x], %both, %q : memref<?xf64>, vector<2xi1>, vector<2xf64>
  } {kernel.level = "thread_x"}
  func.return
}
