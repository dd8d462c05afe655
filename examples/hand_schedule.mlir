// The 3x3 blur with schedules written by hand; the passes keep them and check them.
//
//   pipeline-opt examples/hand_schedule.mlir --split-input-file -p 'validate-occupancy{target=h200},lower-groups,lower-warp-tiles,expand-division' -t cuda
//
// @in_shared: tiles of 128 x 16 points by 32 x 8 threads; the rows are blurred once per tile, into shared memory.
img.pipeline @in_shared {
  %image = img.input "image" : !img.func<2xf32>
  %out = img.group "blur_y" schedule #schedule.block_tile<tile = [128, 16], threads = [32, 8]> {
    %blur_x = img.stage "blur_x" (%x, %y) -> f32 place #img.place<block, shared, pad = 1> {
      %a = img.read %image[%x, %y] : !img.func<2xf32>
      %b = img.read %image[%x + 1, %y] : !img.func<2xf32>
      %c = img.read %image[%x + 2, %y] : !img.func<2xf32>
      %third = arith.constant 0.333333343 : f32
      %ab = arith.addf %a, %b : f32
      %abc = arith.addf %ab, %c : f32
      %mean = arith.mulf %abc, %third : f32
      img.yield %mean : f32
    }
    %blur_y = img.stage "blur_y" (%x, %y) -> f32 {
      %a = img.read %blur_x[%x, %y] : !img.func<2xf32>
      %b = img.read %blur_x[%x, %y + 1] : !img.func<2xf32>
      %c = img.read %blur_x[%x, %y + 2] : !img.func<2xf32>
      %third = arith.constant 0.333333343 : f32
      %ab = arith.addf %a, %b : f32
      %abc = arith.addf %ab, %c : f32
      %mean = arith.mulf %abc, %third : f32
      img.yield %mean : f32
    }
    img.yield %blur_y : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "blur_y" = %out : !img.func<2xf32>
}

// -----

// @in_registers: tiles of 62 x 16 points by four warps of 32 lanes: two columns per lane, four rows per warp, in registers.
// About 42 rows of such tiles run at once in a picture 1536 wide: each block asks for what the one so far below it will load.
img.pipeline @in_registers {
  %image = img.input "image" : !img.func<2xf32>
  %out = img.group "blur_y" schedule #schedule.warp_tile<tile = [62, 16], threads = [32, 4], vector = 2, prefetch_rows = 42> {
    %blur_x = img.stage "blur_x" (%x, %y) -> f32 place #img.place<warp, register> {
      %a = img.read %image[%x, %y] : !img.func<2xf32>
      %b = img.read %image[%x + 1, %y] : !img.func<2xf32>
      %c = img.read %image[%x + 2, %y] : !img.func<2xf32>
      %third = arith.constant 0.333333343 : f32
      %ab = arith.addf %a, %b : f32
      %abc = arith.addf %ab, %c : f32
      %mean = arith.mulf %abc, %third : f32
      img.yield %mean : f32
    }
    %blur_y = img.stage "blur_y" (%x, %y) -> f32 {
      %a = img.read %blur_x[%x, %y] : !img.func<2xf32>
      %b = img.read %blur_x[%x, %y + 1] : !img.func<2xf32>
      %c = img.read %blur_x[%x, %y + 2] : !img.func<2xf32>
      %third = arith.constant 0.333333343 : f32
      %ab = arith.addf %a, %b : f32
      %abc = arith.addf %ab, %c : f32
      %mean = arith.mulf %abc, %third : f32
      img.yield %mean : f32
    }
    img.yield %blur_y : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "blur_y" = %out : !img.func<2xf32>
}
