// The mean of a point and its two neighbours, bytes, two to a register.
#own = #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 1], columns = [0, 4], rows = [0, 1], packed = 2>
#beside = #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 1], columns = [-1, 5], rows = [0, 1], packed = 2>
func.func @mean(%in: memref<?x?xi8, strided<[?, 1]>>, %out: memref<?x?xi8, strided<[?, 1]>>, %border: i1, %aligned: i1)
    attributes {kernel.threads = array<i64: 32, 4, 1>} {
  %i = arith.constant 0 : index
  %a = warp.load %in[%i, %i] aligned %aligned : memref<?x?xi8, strided<[?, 1]>> -> !warp.tile<i8, #own>
  %b = warp.neighbours %a : !warp.tile<i8, #own> -> !warp.tile<i8, #beside>
  %c = warp.map {
  ^bb0(%x: index, %y: index):
    %l = warp.at %b[-1, 0] : !warp.tile<i8, #beside>
    %lw = arith.extui %l : i8 to i16
    %m = warp.at %b[0, 0] : !warp.tile<i8, #beside>
    %mw = arith.extui %m : i8 to i16
    %r = warp.at %b[1, 0] : !warp.tile<i8, #beside>
    %rw = arith.extui %r : i8 to i16
    %lm = arith.addi %lw, %mw overflow<nuw> : i16
    %sum = arith.addi %lm, %rw overflow<nuw> : i16
    %three = arith.constant 3 : i16
    %mean = arith.divui %sum, %three : i16
    %narrow = arith.trunci %mean : i16 to i8
    warp.yield %narrow : i8
  } : !warp.tile<i8, #own>
  warp.store %c to %out[%i, %i] within [0, 120, 0, 4] aligned %aligned border %border vectors_uniform %aligned : !warp.tile<i8, #own>, memref<?x?xi8, strided<[?, 1]>>
  func.return
}
