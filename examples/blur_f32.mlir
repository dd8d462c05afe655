img.pipeline @blur_f32 {
  %image = img.input "image" : !img.func<2xf32>
  %blur_x = img.stage "blur_x" (%x, %y) -> f32 {
    %0 = img.read %image[%x, %y] : !img.func<2xf32>
    %1 = img.read %image[%x + 1, %y] : !img.func<2xf32>
    %2 = arith.addf %0, %1 : f32
    %3 = img.read %image[%x + 2, %y] : !img.func<2xf32>
    %4 = arith.addf %2, %3 : f32
    %5 = arith.constant 0.333333343 : f32
    %6 = arith.mulf %4, %5 : f32
    img.yield %6 : f32
  }
  %blur_y = img.stage "blur_y" (%x_1, %y_1) -> f32 {
    %7 = img.read %blur_x[%x_1, %y_1] : !img.func<2xf32>
    %8 = img.read %blur_x[%x_1, %y_1 + 1] : !img.func<2xf32>
    %9 = arith.addf %7, %8 : f32
    %10 = img.read %blur_x[%x_1, %y_1 + 2] : !img.func<2xf32>
    %11 = arith.addf %9, %10 : f32
    %12 = arith.constant 0.333333343 : f32
    %13 = arith.mulf %11, %12 : f32
    img.yield %13 : f32
  }
  img.return "blur_y" = %blur_y : !img.func<2xf32>
}
