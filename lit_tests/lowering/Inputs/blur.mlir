// Separable 3x3 blur, repeated edge: a shared tile, three phases, an interior and a border version.
func.func @blur_tile(
    %photo: memref<?x?xf32, strided<[?, 1]>>, %out: memref<?x?xf32, strided<[?, 1]>>,
    %x0: index, %y0: index, %border: i1) attributes {kernel.inline} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c10 = arith.constant 10 : index
  %c32 = arith.constant 32 : index
  %c34 = arith.constant 34 : index
  %three = arith.constant 3.0 : f32
  %h = memref.dim %photo, %c0 : memref<?x?xf32, strided<[?, 1]>>
  %w = memref.dim %photo, %c1 : memref<?x?xf32, strided<[?, 1]>>
  %last_x = arith.subi %w, %c1 : index
  %last_y = arith.subi %h, %c1 : index
  %tile = memref.alloca() {kernel.comment = "photo, with a halo of 1"} : memref<10x34xf32, 3>
  %blur_x = memref.alloca() {kernel.comment = "blur_x"} : memref<10x33xf32, 3>
  scf.for %ty = %c0 to %c8 step %c1 {
    scf.for %tx = %c0 to %c32 step %c1 {
      scf.for %y = %ty to %c10 step %c8 {
        scf.for %x = %tx to %c34 step %c32 {
          %gx0 = arith.addi %x0, %x : index
          %gx1 = arith.subi %gx0, %c1 : index
          %gy0 = arith.addi %y0, %y : index
          %gy1 = arith.subi %gy0, %c1 : index
          %gx2 = arith.minsi %gx1, %last_x : index
          %gx3 = arith.maxsi %gx2, %c0 : index
          %gy2 = arith.minsi %gy1, %last_y : index
          %gy3 = arith.maxsi %gy2, %c0 : index
          %gx = arith.select %border, %gx3, %gx1 : index
          %gy = arith.select %border, %gy3, %gy1 : index
          %v = memref.load %photo[%gy, %gx] : memref<?x?xf32, strided<[?, 1]>>
          memref.store %v, %tile[%y, %x] : memref<10x34xf32, 3>
        }
      }
    } {kernel.level = "thread_x"}
  } {kernel.level = "thread_y", kernel.comment = "load photo"}
  "gpu.barrier"() : () -> ()
  scf.for %ty = %c0 to %c8 step %c1 {
    scf.for %tx = %c0 to %c32 step %c1 {
      scf.for %y = %ty to %c10 step %c8 {
        %xa = arith.addi %tx, %c1 : index
        %xb = arith.addi %tx, %c2 : index
        %a = memref.load %tile[%y, %tx] : memref<10x34xf32, 3>
        %b = memref.load %tile[%y, %xa] : memref<10x34xf32, 3>
        %c = memref.load %tile[%y, %xb] : memref<10x34xf32, 3>
        %ab = arith.addf %a, %b : f32
        %abc = arith.addf %ab, %c : f32
        %r = arith.divf %abc, %three : f32
        memref.store %r, %blur_x[%y, %tx] : memref<10x33xf32, 3>
      } {kernel.unroll}
    } {kernel.level = "thread_x", kernel.simd}
  } {kernel.level = "thread_y", kernel.comment = "blur_x"}
  "gpu.barrier"() : () -> ()
  scf.for %ty = %c0 to %c8 step %c1 {
    scf.for %tx = %c0 to %c32 step %c1 {
      %x = arith.addi %x0, %tx : index
      %y = arith.addi %y0, %ty : index
      %inside_x = arith.cmpi slt, %x, %w : index
      %inside_y = arith.cmpi slt, %y, %h : index
      %inside = arith.andi %inside_x, %inside_y : i1
      scf.if %inside {
        %ya = arith.addi %ty, %c1 : index
        %yb = arith.addi %ty, %c2 : index
        %a = memref.load %blur_x[%ty, %tx] : memref<10x33xf32, 3>
        %b = memref.load %blur_x[%ya, %tx] : memref<10x33xf32, 3>
        %c = memref.load %blur_x[%yb, %tx] : memref<10x33xf32, 3>
        %ab = arith.addf %a, %b : f32
        %abc = arith.addf %ab, %c : f32
        %r = arith.divf %abc, %three : f32
        memref.store %r, %out[%y, %x] : memref<?x?xf32, strided<[?, 1]>>
      }
    } {kernel.level = "thread_x"}
  } {kernel.level = "thread_y", kernel.comment = "blur_y"}
  func.return
}

func.func @blur(%photo: memref<?x?xf32, strided<[?, 1]>>, %out: memref<?x?xf32, strided<[?, 1]>>)
    attributes {kernel.threads = array<i64: 32, 8, 1>, kernel.comment = "blur_y(blur_x(photo))"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %false = arith.constant false
  %h = memref.dim %out, %c0 : memref<?x?xf32, strided<[?, 1]>>
  %w = memref.dim %out, %c1 : memref<?x?xf32, strided<[?, 1]>>
  %nbx = arith.ceildivsi %w, %c32 : index
  %nby = arith.ceildivsi %h, %c8 : index
  scf.for %by = %c0 to %nby step %c1 {
    scf.for %bx = %c0 to %nbx step %c1 {
      %x0 = arith.muli %bx, %c32 : index
      %y0 = arith.muli %by, %c8 : index
      %x1 = arith.addi %x0, %c32 : index
      %y1 = arith.addi %y0, %c8 : index
      %left = arith.cmpi sgt, %x0, %c0 : index
      %top = arith.cmpi sgt, %y0, %c0 : index
      %right = arith.cmpi slt, %x1, %w : index
      %bottom = arith.cmpi slt, %y1, %h : index
      %0 = arith.andi %left, %top : i1
      %1 = arith.andi %right, %bottom : i1
      %interior = arith.andi %0, %1 : i1
      scf.if %interior {
        func.call @blur_tile(%photo, %out, %x0, %y0, %false) : (memref<?x?xf32, strided<[?, 1]>>, memref<?x?xf32, strided<[?, 1]>>, index, index, i1) -> ()
      } else {
        func.call @blur_tile(%photo, %out, %x0, %y0, %true) : (memref<?x?xf32, strided<[?, 1]>>, memref<?x?xf32, strided<[?, 1]>>, index, index, i1) -> ()
      }
    } {kernel.level = "block_x"}
  } {kernel.level = "block_y"}
  func.return
}
