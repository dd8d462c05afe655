img.pipeline @binomial {
  %image = img.input "image" : !img.func<2xui8>
  %image_1 = img.boundary repeat_edge %image dims [0, 1] : !img.func<2xui8>
  %rows = img.stage "rows" (%x, %y) -> ui16 {
    %0 = img.read %image_1[%x - 2, %y] : !img.func<2xui8>
    %1 = arith.extui %0 : i8 to i16
    %2 = img.read %image_1[%x + 2, %y] : !img.func<2xui8>
    %3 = arith.extui %2 : i8 to i16
    %4 = arith.addi %1, %3 : i16
    %5 = arith.constant 4 : i16
    %6 = img.read %image_1[%x - 1, %y] : !img.func<2xui8>
    %7 = arith.extui %6 : i8 to i16
    %8 = img.read %image_1[%x + 1, %y] : !img.func<2xui8>
    %9 = arith.extui %8 : i8 to i16
    %10 = arith.addi %7, %9 : i16
    %11 = arith.muli %5, %10 : i16
    %12 = arith.addi %4, %11 : i16
    %13 = arith.constant 6 : i16
    %14 = img.read %image_1[%x, %y] : !img.func<2xui8>
    %15 = arith.extui %14 : i8 to i16
    %16 = arith.muli %13, %15 : i16
    %17 = arith.addi %12, %16 : i16
    img.yield %17 : i16
  }
  %blurred = img.stage "blurred" (%x_1, %y_1) -> ui8 {
    %18 = img.read %rows[%x_1, %y_1 - 2] : !img.func<2xui16>
    %19 = img.read %rows[%x_1, %y_1 + 2] : !img.func<2xui16>
    %20 = arith.addi %18, %19 : i16
    %21 = arith.constant 4 : i16
    %22 = img.read %rows[%x_1, %y_1 - 1] : !img.func<2xui16>
    %23 = img.read %rows[%x_1, %y_1 + 1] : !img.func<2xui16>
    %24 = arith.addi %22, %23 : i16
    %25 = arith.muli %21, %24 : i16
    %26 = arith.addi %20, %25 : i16
    %27 = arith.constant 6 : i16
    %28 = img.read %rows[%x_1, %y_1] : !img.func<2xui16>
    %29 = arith.muli %27, %28 : i16
    %30 = arith.addi %26, %29 : i16
    %31 = arith.constant 128 : i16
    %32 = arith.addi %30, %31 : i16
    %33 = arith.constant 8 : i16
    %34 = arith.shrui %32, %33 : i16
    %35 = arith.trunci %34 : i16 to i8
    img.yield %35 : i8
  }
  img.return "blurred" = %blurred : !img.func<2xui8>
}
