img.pipeline @blur_u8 {
  %image = img.input "image" : !img.func<2xui8>
  %blur_x = img.stage "blur_x" (%x, %y) -> ui8 {
    %0 = img.read %image[%x, %y] : !img.func<2xui8>
    %1 = arith.extui %0 : i8 to i16
    %2 = img.read %image[%x + 1, %y] : !img.func<2xui8>
    %3 = arith.extui %2 : i8 to i16
    %4 = arith.addi %1, %3 : i16
    %5 = img.read %image[%x + 2, %y] : !img.func<2xui8>
    %6 = arith.extui %5 : i8 to i16
    %7 = arith.addi %4, %6 : i16
    %8 = arith.constant 3 : i16
    %9 = img.div %7, %8 : i16
    %10 = arith.trunci %9 : i16 to i8
    img.yield %10 : i8
  }
  %blur_y = img.stage "blur_y" (%x_1, %y_1) -> ui8 {
    %11 = img.read %blur_x[%x_1, %y_1] : !img.func<2xui8>
    %12 = arith.extui %11 : i8 to i16
    %13 = img.read %blur_x[%x_1, %y_1 + 1] : !img.func<2xui8>
    %14 = arith.extui %13 : i8 to i16
    %15 = arith.addi %12, %14 : i16
    %16 = img.read %blur_x[%x_1, %y_1 + 2] : !img.func<2xui8>
    %17 = arith.extui %16 : i8 to i16
    %18 = arith.addi %15, %17 : i16
    %19 = arith.constant 3 : i16
    %20 = img.div %18, %19 : i16
    %21 = arith.trunci %20 : i16 to i8
    img.yield %21 : i8
  }
  img.return "blur_y" = %blur_y : !img.func<2xui8>
}
