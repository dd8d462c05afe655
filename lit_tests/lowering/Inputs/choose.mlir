// scf.if with results, one of them unused; nested; and a branch that is empty.
func.func @choose(%in: memref<?xf32>, %out: memref<?xf32>, %low: memref<?xi32>)
    attributes {kernel.threads = array<i64: 128, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %yes = arith.constant 1 : i32
  %n = memref.dim %in, %c0 : memref<?xf32>
  %nbx = arith.ceildivsi %n, %c128 : index
  scf.for %bx = %c0 to %nbx step %c1 {
    scf.for %tx = %c0 to %c128 step %c1 {
      %x0 = arith.muli %bx, %c128 : index
      %x = arith.addi %x0, %tx : index
      %inside = arith.cmpi slt, %x, %n : index
      scf.if %inside {
        %v = memref.load %in[%x] : memref<?xf32>
        %positive = arith.cmpf ogt, %v, %zero : f32
        %r, %unused = scf.if %positive -> (f32, f32) {
          %large = arith.cmpf ogt, %v, %one : f32
          %root = scf.if %large -> (f32) {
            %s = math.sqrt %v : f32
            scf.yield %s : f32
          } else {
            scf.yield %v : f32
          }
          %e = math.exp %v : f32
          scf.yield %root, %e : f32, f32
        } else {
          %m = arith.mulf %v, %half : f32
          %minus = arith.negf %m : f32
          scf.yield %minus, %zero : f32, f32
        }
        memref.store %r, %out[%x] : memref<?xf32>
        scf.if %positive {
        } else {
          memref.store %yes, %low[%x] : memref<?xi32>
        }
      }
    } {kernel.level = "thread_x"}
  } {kernel.level = "block_x"}
  func.return
}
