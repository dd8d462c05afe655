img.pipeline @blur_u16 {
  %image = img.input "image" : !img.func<2xui16>
  %blur_x = img.stage "blur_x" (%x, %y) -> ui16 {
    %0 = img.read %image[%x, %y] : !img.func<2xui16>
    %1 = img.read %image[%x + 1, %y] : !img.func<2xui16>
    %2 = arith.addi %0, %1 : i16
    %3 = img.read %image[%x + 2, %y] : !img.func<2xui16>
    %4 = arith.addi %2, %3 : i16
    %5 = arith.constant 3 : i16
    %6 = img.div %4, %5 : i16
    img.yield %6 : i16
  }
  %blur_y = img.stage "blur_y" (%x_1, %y_1) -> ui16 {
    %7 = img.read %blur_x[%x_1, %y_1] : !img.func<2xui16>
    %8 = img.read %blur_x[%x_1, %y_1 + 1] : !img.func<2xui16>
    %9 = arith.addi %7, %8 : i16
    %10 = img.read %blur_x[%x_1, %y_1 + 2] : !img.func<2xui16>
    %11 = arith.addi %9, %10 : i16
    %12 = arith.constant 3 : i16
    %13 = img.div %11, %12 : i16
    img.yield %13 : i16
  }
  img.return "blur_y" = %blur_y : !img.func<2xui16>
}
