img.pipeline @stencil9 {
  %image = img.input "image" : !img.func<2xf32>
  %0 = img.extent 0 of %image : !img.func<2xf32>
  %1 = img.extent 1 of %image : !img.func<2xf32>
  %2 = arith.constant 0 : index
  %3 = arith.constant 0 : index
  %4 = arith.constant 0.000000e+00 : f32
  %image_1 = img.boundary constant_exterior %image dims [0, 1] in [%2, %3] by [%0, %1] value %4 : !img.func<2xf32>
  %rows = img.stage "rows_0" (%x, %y) -> f32 {
    %5 = img.read %image_1[%x - 1, %y] : !img.func<2xf32>
    %6 = img.read %image_1[%x, %y] : !img.func<2xf32>
    %7 = arith.addf %5, %6 : f32
    %8 = img.read %image_1[%x + 1, %y] : !img.func<2xf32>
    %9 = arith.addf %7, %8 : f32
    img.yield %9 : f32
  }
  %step = img.stage "step_0" (%x_1, %y_1) -> f32 {
    %10 = img.read %rows[%x_1, %y_1 - 1] : !img.func<2xf32>
    %11 = img.read %rows[%x_1, %y_1] : !img.func<2xf32>
    %12 = arith.addf %10, %11 : f32
    %13 = img.read %rows[%x_1, %y_1 + 1] : !img.func<2xf32>
    %14 = arith.addf %12, %13 : f32
    %15 = arith.constant 0.111111112 : f32
    %16 = arith.mulf %14, %15 : f32
    img.yield %16 : f32
  }
  %17 = arith.constant 0 : index
  %18 = arith.constant 0 : index
  %19 = arith.constant 0.000000e+00 : f32
  %step_1 = img.boundary constant_exterior %step dims [0, 1] in [%17, %18] by [%0, %1] value %19 : !img.func<2xf32>
  %rows_1 = img.stage "rows_1" (%x_2, %y_2) -> f32 {
    %20 = img.read %step_1[%x_2 - 1, %y_2] : !img.func<2xf32>
    %21 = img.read %step_1[%x_2, %y_2] : !img.func<2xf32>
    %22 = arith.addf %20, %21 : f32
    %23 = img.read %step_1[%x_2 + 1, %y_2] : !img.func<2xf32>
    %24 = arith.addf %22, %23 : f32
    img.yield %24 : f32
  }
  %step_2 = img.stage "step_1" (%x_3, %y_3) -> f32 {
    %25 = img.read %rows_1[%x_3, %y_3 - 1] : !img.func<2xf32>
    %26 = img.read %rows_1[%x_3, %y_3] : !img.func<2xf32>
    %27 = arith.addf %25, %26 : f32
    %28 = img.read %rows_1[%x_3, %y_3 + 1] : !img.func<2xf32>
    %29 = arith.addf %27, %28 : f32
    %30 = arith.constant 0.111111112 : f32
    %31 = arith.mulf %29, %30 : f32
    img.yield %31 : f32
  }
  %32 = arith.constant 0 : index
  %33 = arith.constant 0 : index
  %34 = arith.constant 0.000000e+00 : f32
  %step_3 = img.boundary constant_exterior %step_2 dims [0, 1] in [%32, %33] by [%0, %1] value %34 : !img.func<2xf32>
  %rows_2 = img.stage "rows_2" (%x_4, %y_4) -> f32 {
    %35 = img.read %step_3[%x_4 - 1, %y_4] : !img.func<2xf32>
    %36 = img.read %step_3[%x_4, %y_4] : !img.func<2xf32>
    %37 = arith.addf %35, %36 : f32
    %38 = img.read %step_3[%x_4 + 1, %y_4] : !img.func<2xf32>
    %39 = arith.addf %37, %38 : f32
    img.yield %39 : f32
  }
  %step_4 = img.stage "step_2" (%x_5, %y_5) -> f32 {
    %40 = img.read %rows_2[%x_5, %y_5 - 1] : !img.func<2xf32>
    %41 = img.read %rows_2[%x_5, %y_5] : !img.func<2xf32>
    %42 = arith.addf %40, %41 : f32
    %43 = img.read %rows_2[%x_5, %y_5 + 1] : !img.func<2xf32>
    %44 = arith.addf %42, %43 : f32
    %45 = arith.constant 0.111111112 : f32
    %46 = arith.mulf %44, %45 : f32
    img.yield %46 : f32
  }
  %47 = arith.constant 0 : index
  %48 = arith.constant 0 : index
  %49 = arith.constant 0.000000e+00 : f32
  %step_5 = img.boundary constant_exterior %step_4 dims [0, 1] in [%47, %48] by [%0, %1] value %49 : !img.func<2xf32>
  %rows_3 = img.stage "rows_3" (%x_6, %y_6) -> f32 {
    %50 = img.read %step_5[%x_6 - 1, %y_6] : !img.func<2xf32>
    %51 = img.read %step_5[%x_6, %y_6] : !img.func<2xf32>
    %52 = arith.addf %50, %51 : f32
    %53 = img.read %step_5[%x_6 + 1, %y_6] : !img.func<2xf32>
    %54 = arith.addf %52, %53 : f32
    img.yield %54 : f32
  }
  %step_6 = img.stage "step_3" (%x_7, %y_7) -> f32 {
    %55 = img.read %rows_3[%x_7, %y_7 - 1] : !img.func<2xf32>
    %56 = img.read %rows_3[%x_7, %y_7] : !img.func<2xf32>
    %57 = arith.addf %55, %56 : f32
    %58 = img.read %rows_3[%x_7, %y_7 + 1] : !img.func<2xf32>
    %59 = arith.addf %57, %58 : f32
    %60 = arith.constant 0.111111112 : f32
    %61 = arith.mulf %59, %60 : f32
    img.yield %61 : f32
  }
  img.return "step_3" = %step_6 : !img.func<2xf32>
}
