img.pipeline @p {
  %photo = img.input "photo" : !img.func<2xf32>
  %clamped = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  %blur = img.group "blur" schedule #schedule.block_tile<tile = [64, 16], threads = [32, 8]> {
    %blur_x = img.stage "blur_x" (%x, %y) -> f32 place #img.place<block, shared> {
      %a = img.read %clamped[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %clamped[%x + 1, %y] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    %blur_y = img.stage "blur_y" (%x, %y) -> f32 {
      %a = img.read %blur_x[%x, %y - 1] : !img.func<2xf32>
      %b = img.read %blur_x[%x, %y + 1] : !img.func<2xf32>
      %r = arith.addf %a, %b : f32
      img.yield %r : f32
    }
    img.yield %blur_y : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "blur" = %blur : !img.func<2xf32>
}
