img.pipeline @too_large {
  %photo = img.input "photo" : !img.func<2xf32>
  // expected-error @below {{bytes of shared memory, most of them for stage 'g', where a block has}}
  %diff = img.group "diff" schedule #schedule.block_tile<tile = [128, 256], threads = [32, 8]> {
    %g = img.stage "g" (%x, %y) -> f32 place #img.place<block, shared> {
      %v = img.read %photo[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %h = img.stage "diff" (%x, %y) -> f32 {
      %a = img.read %g[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %g[%x + 1, %y] : !img.func<2xf32>
      %r = arith.subf %a, %b : f32
      img.yield %r : f32
    }
    img.yield %h : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "diff" = %diff : !img.func<2xf32>
}
