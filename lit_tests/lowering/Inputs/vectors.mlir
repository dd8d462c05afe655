// Four floats and sixteen bytes at a time; a private array of four pixels; a byte pool seen as two arrays.
func.func @vectors(%in: memref<?x?xf32, strided<[?, 1]>>, %out: memref<?x?xf32, strided<[?, 1]>>,
                   %bytes: memref<?xi8>, %inverted: memref<?xi8>)
    attributes {kernel.threads = array<i64: 32, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %all = arith.constant 255 : i8
  %two = arith.constant 2.0 : f32
  %h = memref.dim %in, %c0 : memref<?x?xf32, strided<[?, 1]>>
  scf.for %by = %c0 to %h step %c1 {
    %pool = memref.alloca() : memref<1024xi8, 3>
    %row = memref.view %pool[%c0][] : memref<1024xi8, 3> to memref<32x4xf32, 3>
    %line = memref.view %pool[%c512][] : memref<1024xi8, 3> to memref<128xf32, 3>
    scf.for %tx = %c0 to %c32 step %c1 {
      %x = arith.muli %tx, %c4 : index
      %v = vector.load %in[%by, %x] : memref<?x?xf32, strided<[?, 1]>>, vector<4xf32>
      vector.store %v, %row[%tx, %c0] : memref<32x4xf32, 3>, vector<4xf32>
      %a = vector.extract %v[0] : f32 from vector<4xf32>
      %b = vector.extract %v[3] : f32 from vector<4xf32>
      %ab = arith.addf %a, %b : f32
      %s = vector.broadcast %ab : f32 to vector<4xf32>
      vector.store %s, %line[%x] : memref<128xf32, 3>, vector<4xf32>
    } {kernel.level = "thread_x"}
    "gpu.barrier"() : () -> ()
    scf.for %tx = %c0 to %c32 step %c1 {
      %x = arith.muli %tx, %c4 : index
      %pixel = memref.alloca() : memref<4xf32, 5>
      scf.for %i = %c0 to %c4 step %c1 {
        %xi = arith.addi %x, %i : index
        %a = memref.load %row[%tx, %i] : memref<32x4xf32, 3>
        %b = memref.load %line[%xi] : memref<128xf32, 3>
        %m = arith.mulf %a, %two : f32
        %r = arith.addf %m, %b : f32
        memref.store %r, %pixel[%i] : memref<4xf32, 5>
      } {kernel.unroll}
      %p0 = memref.load %pixel[%c0] : memref<4xf32, 5>
      %whole = vector.load %pixel[%c0] : memref<4xf32, 5>, vector<4xf32>
      %p3 = vector.extract %whole[3] : f32 from vector<4xf32>
      %p2 = vector.extract %whole[2] : f32 from vector<4xf32>
      %p1 = vector.extract %whole[1] : f32 from vector<4xf32>
      %u = ub.poison : vector<4xf32>
      %v0 = vector.insert %p3, %u [0] : f32 into vector<4xf32>
      %v1 = vector.insert %p2, %v0 [1] : f32 into vector<4xf32>
      %v2 = vector.insert %p1, %v1 [2] : f32 into vector<4xf32>
      %v3 = vector.insert %p0, %v2 [3] : f32 into vector<4xf32>
      vector.store %v3, %out[%by, %x] : memref<?x?xf32, strided<[?, 1]>>, vector<4xf32>
      %at = arith.muli %tx, %c16 : index
      %bs = vector.load %bytes[%at] : memref<?xi8>, vector<16xi8>
      %b0 = vector.extract %bs[0] : i8 from vector<16xi8>
      %b15 = vector.extract %bs[15] : i8 from vector<16xi8>
      %n0 = arith.subi %all, %b0 : i8
      %n15 = arith.addi %n0, %b15 : i8
      %splat = vector.broadcast %n15 : i8 to vector<16xi8>
      vector.store %splat, %inverted[%at] : memref<?xi8>, vector<16xi8>
    } {kernel.level = "thread_x"}
  } {kernel.level = "block_x"}
  func.return
}
