// One thread per row: sum and largest value with its position (three carried values), and Fibonacci numbers,
// whose two carried values change places.
func.func @rows(%in: memref<?x?xf32, strided<[?, 1]>>, %sum: memref<?xf32>, %where: memref<?xi32>,
                %fib: memref<?xi32>) attributes {kernel.threads = array<i64: 32, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %none = arith.constant -1 : i32
  %f0 = arith.constant 0 : i32
  %f1 = arith.constant 1 : i32
  %h = memref.dim %in, %c0 : memref<?x?xf32, strided<[?, 1]>>
  %w = memref.dim %in, %c1 : memref<?x?xf32, strided<[?, 1]>>
  %nbx = arith.ceildivsi %h, %c32 : index
  scf.for %bx = %c0 to %nbx step %c1 {
    scf.for %tx = %c0 to %c32 step %c1 {
      %y0 = arith.muli %bx, %c32 : index
      %y = arith.addi %y0, %tx : index
      %inside = arith.cmpi slt, %y, %h : index
      scf.if %inside {
        %total, %most, %at = scf.for %x = %c0 to %w step %c1 iter_args(%acc = %zero, %max = %lowest, %pos = %none) -> (f32, f32, i32) {
          %v = memref.load %in[%y, %x] : memref<?x?xf32, strided<[?, 1]>>
          %acc2 = arith.addf %acc, %v : f32
          %greater = arith.cmpf ogt, %v, %max : f32
          %max2 = arith.select %greater, %v, %max : f32
          %xi = arith.index_cast %x : index to i32
          %pos2 = arith.select %greater, %xi, %pos : i32
          scf.yield %acc2, %max2, %pos2 : f32, f32, i32
        }
        memref.store %total, %sum[%y] : memref<?xf32>
        memref.store %at, %where[%y] : memref<?xi32>
        %fa, %fb = scf.for %i = %c0 to %y step %c1 iter_args(%a = %f0, %b = %f1) -> (i32, i32) {
          %next = arith.addi %a, %b : i32
          scf.yield %b, %next : i32, i32
        }
        memref.store %fa, %fib[%y] : memref<?xi32>
      }
    } {kernel.level = "thread_x"}
  } {kernel.level = "block_x"}
  func.return
}
