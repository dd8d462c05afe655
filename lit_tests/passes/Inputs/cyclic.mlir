img.pipeline @cyclic {
  %f = img.stage "f" (%x) -> f32 {
    %v = img.read %g[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  %g = img.stage "g" (%x) -> f32 {
    %v = img.read %f[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "g" = %g : !img.func<1xf32>
}
