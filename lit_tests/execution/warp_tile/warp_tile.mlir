// Warp tiles as a level of IR: what each lane of each warp holds stands in the types.

// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 2, exchange = 0"},promote-memory,lower-groups' | filecheck %s --check-prefix=RECOMPUTE
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 2, exchange = 1"},promote-memory,lower-groups' | filecheck %s --check-prefix=EXCHANGE

// A warp loads and computes the rows above and below its own, too; only columns come from neighbours.

// RECOMPUTE: %clamped = warp.load %photo[%{{[0-9]+}}, %{{[0-9]+}}] aligned %vectors_uniform border %border vectors_uniform %vectors_uniform rows {
// RECOMPUTE: } : memref<?x?xf32, strided<[?, 1]>> -> !warp.tile<f32, #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 3]>>
// RECOMPUTE: %clamped_1 = warp.neighbours %clamped : !warp.tile<f32, #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 3]>> -> !warp.tile<f32, #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [-1, 5], rows = [-1, 3]>>
// RECOMPUTE: %rows = warp.map {
// RECOMPUTE: %{{[0-9]+}} = warp.at %clamped_1[-1, 0] : !warp.tile<f32, #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [-1, 5], rows = [-1, 3]>>
// RECOMPUTE: %{{[0-9]+}} = warp.at %clamped_1[1, 0] : !warp.tile<f32, #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [-1, 5], rows = [-1, 3]>>
// RECOMPUTE: } : !warp.tile<f32, #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 3]>>
// RECOMPUTE: %blur = warp.map {
// RECOMPUTE: %{{[0-9]+}} = warp.at %rows[0, -1] : !warp.tile<f32, #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 3]>>
// RECOMPUTE: %{{[0-9]+}} = warp.at %rows[0, 1] : !warp.tile<f32, #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 3]>>
// RECOMPUTE: } : !warp.tile<f32, #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
// RECOMPUTE: warp.store %blur to %out_blur[%{{[0-9]+}}, %{{[0-9]+}}] within [0, 120, 0, 8] aligned %vectors_uniform border %border vectors_uniform %vectors_uniform : !warp.tile<f32, #warp.layout<origin = [-4, 0], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, memref<?x?xf32, strided<[?, 1]>>

// Rows go to the neighbouring warps; the first and the last row of the block are valid no more.

// EXCHANGE: %clamped = warp.load %photo[%{{[0-9]+}}, %{{[0-9]+}}] aligned %vectors_uniform border %border vectors_uniform %vectors_uniform rows {
// EXCHANGE: } : memref<?x?xf32, strided<[?, 1]>> -> !warp.tile<f32, #warp.layout<origin = [-4, -1], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
// EXCHANGE: %clamped_1 = warp.neighbours %clamped : !warp.tile<f32, #warp.layout<origin = [-4, -1], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>> -> !warp.tile<f32, #warp.layout<origin = [-4, -1], lanes = [32, 4], warps = [4, 2], columns = [-1, 5], rows = [0, 2]>>
// EXCHANGE: %rows = warp.map {
// EXCHANGE: %{{[0-9]+}} = warp.at %clamped_1[-1, 0] : !warp.tile<f32, #warp.layout<origin = [-4, -1], lanes = [32, 4], warps = [4, 2], columns = [-1, 5], rows = [0, 2]>>
// EXCHANGE: %{{[0-9]+}} = warp.at %clamped_1[1, 0] : !warp.tile<f32, #warp.layout<origin = [-4, -1], lanes = [32, 4], warps = [4, 2], columns = [-1, 5], rows = [0, 2]>>
// EXCHANGE: } : !warp.tile<f32, #warp.layout<origin = [-4, -1], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
// EXCHANGE: %rows_1 = warp.neighbours %rows : !warp.tile<f32, #warp.layout<origin = [-4, -1], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>> -> !warp.tile<f32, #warp.layout<origin = [-4, -1], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 3]>>
// EXCHANGE: %blur = warp.map {
// EXCHANGE: %{{[0-9]+}} = warp.at %rows_1[0, -1] : !warp.tile<f32, #warp.layout<origin = [-4, -1], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 3]>>
// EXCHANGE: %{{[0-9]+}} = warp.at %rows_1[0, 1] : !warp.tile<f32, #warp.layout<origin = [-4, -1], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [-1, 3]>>
// EXCHANGE: } : !warp.tile<f32, #warp.layout<origin = [-4, -1], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>
// EXCHANGE: warp.store %blur to %out_blur[%{{[0-9]+}}, %{{[0-9]+}}] within [0, 120, 0, 6] aligned %vectors_uniform border %border vectors_uniform %vectors_uniform : !warp.tile<f32, #warp.layout<origin = [-4, -1], lanes = [32, 4], warps = [4, 2], columns = [0, 4], rows = [0, 2]>>, memref<?x?xf32, strided<[?, 1]>>

img.pipeline @p {
  %photo = img.input "photo" : !img.func<2xf32>
  %clamped = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  %out = img.group "blur" {
    %rows = img.stage "rows" (%x, %y) -> f32 {
      %a = img.read %clamped[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %clamped[%x + 1, %y] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    %blur = img.stage "blur" (%x, %y) -> f32 {
      %a = img.read %rows[%x, %y - 1] : !img.func<2xf32>
      %b = img.read %rows[%x, %y + 1] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    img.yield %blur : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %out : !img.func<2xf32>
}
