// out = saturate_u8(2 * in - left), 16-bit signed arithmetic on 8-bit pixels; a float gain, saturating.
func.func @sharpen(%in: memref<?x?xi8, strided<[?, 1]>>, %out: memref<?x?xi8, strided<[?, 1]>>,
                   %bright: memref<?x?xi8, strided<[?, 1]>>, %gain: f32)
    attributes {kernel.threads = array<i64: 64, 4, 1>, kernel.min_blocks = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1 : i16
  %zero = arith.constant 0 : i16
  %most = arith.constant 255 : i16
  %h = memref.dim %in, %c0 : memref<?x?xi8, strided<[?, 1]>>
  %w = memref.dim %in, %c1 : memref<?x?xi8, strided<[?, 1]>>
  %nbx = arith.ceildivsi %w, %c64 : index
  %nby = arith.ceildivsi %h, %c4 : index
  scf.for %by = %c0 to %nby step %c1 {
    scf.for %bx = %c0 to %nbx step %c1 {
      scf.for %ty = %c0 to %c4 step %c1 {
        scf.for %tx = %c0 to %c64 step %c1 {
          %x0 = arith.muli %bx, %c64 : index
          %x = arith.addi %x0, %tx : index
          %y0 = arith.muli %by, %c4 : index
          %y = arith.addi %y0, %ty : index
          %in_x = arith.cmpi slt, %x, %w : index
          %in_y = arith.cmpi slt, %y, %h : index
          %inside = arith.andi %in_x, %in_y : i1
          scf.if %inside {
            %x_left = arith.subi %x, %c1 : index
            %left_x = arith.maxsi %x_left, %c0 : index
            %a8 = memref.load %in[%y, %x] : memref<?x?xi8, strided<[?, 1]>>
            %b8 = memref.load %in[%y, %left_x] : memref<?x?xi8, strided<[?, 1]>>
            %a = arith.extui %a8 : i8 to i16
            %b = arith.extui %b8 : i8 to i16
            %a2 = arith.shli %a, %one : i16
            %d = arith.subi %a2, %b : i16
            %low = arith.maxsi %d, %zero : i16
            %clamped = arith.minsi %low, %most : i16
            %r = arith.trunci %clamped : i16 to i8
            memref.store %r, %out[%y, %x] : memref<?x?xi8, strided<[?, 1]>>
            %f = arith.uitofp %a8 : i8 to f32
            %g = arith.mulf %f, %gain : f32
            %q = arith.fptoui %g : f32 to i8
            memref.store %q, %bright[%y, %x] : memref<?x?xi8, strided<[?, 1]>>
          }
        } {kernel.level = "thread_x", kernel.simd}
      } {kernel.level = "thread_y"}
    } {kernel.level = "block_x"}
  } {kernel.level = "block_y"}
  func.return
}
