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
    %10 = arith.constant 0.333333343 : f32
    %11 = arith.mulf %9, %10 : f32
    img.yield %11 : f32
  }
  %step = img.stage "step_0" (%x_1, %y_1) -> f32 {
    %12 = img.read %rows[%x_1, %y_1 - 1] : !img.func<2xf32>
    %13 = img.read %rows[%x_1, %y_1] : !img.func<2xf32>
    %14 = arith.addf %12, %13 : f32
    %15 = img.read %rows[%x_1, %y_1 + 1] : !img.func<2xf32>
    %16 = arith.addf %14, %15 : f32
    %17 = arith.constant 0.333333343 : f32
    %18 = arith.mulf %16, %17 : f32
    img.yield %18 : f32
  }
  %19 = arith.constant 0 : index
  %20 = arith.constant 0 : index
  %21 = arith.constant 0.000000e+00 : f32
  %step_1 = img.boundary constant_exterior %step dims [0, 1] in [%19, %20] by [%0, %1] value %21 : !img.func<2xf32>
  %rows_1 = img.stage "rows_1" (%x_2, %y_2) -> f32 {
    %22 = img.read %step_1[%x_2 - 1, %y_2] : !img.func<2xf32>
    %23 = img.read %step_1[%x_2, %y_2] : !img.func<2xf32>
    %24 = arith.addf %22, %23 : f32
    %25 = img.read %step_1[%x_2 + 1, %y_2] : !img.func<2xf32>
    %26 = arith.addf %24, %25 : f32
    %27 = arith.constant 0.333333343 : f32
    %28 = arith.mulf %26, %27 : f32
    img.yield %28 : f32
  }
  %step_2 = img.stage "step_1" (%x_3, %y_3) -> f32 {
    %29 = img.read %rows_1[%x_3, %y_3 - 1] : !img.func<2xf32>
    %30 = img.read %rows_1[%x_3, %y_3] : !img.func<2xf32>
    %31 = arith.addf %29, %30 : f32
    %32 = img.read %rows_1[%x_3, %y_3 + 1] : !img.func<2xf32>
    %33 = arith.addf %31, %32 : f32
    %34 = arith.constant 0.333333343 : f32
    %35 = arith.mulf %33, %34 : f32
    img.yield %35 : f32
  }
  %36 = arith.constant 0 : index
  %37 = arith.constant 0 : index
  %38 = arith.constant 0.000000e+00 : f32
  %step_3 = img.boundary constant_exterior %step_2 dims [0, 1] in [%36, %37] by [%0, %1] value %38 : !img.func<2xf32>
  %rows_2 = img.stage "rows_2" (%x_4, %y_4) -> f32 {
    %39 = img.read %step_3[%x_4 - 1, %y_4] : !img.func<2xf32>
    %40 = img.read %step_3[%x_4, %y_4] : !img.func<2xf32>
    %41 = arith.addf %39, %40 : f32
    %42 = img.read %step_3[%x_4 + 1, %y_4] : !img.func<2xf32>
    %43 = arith.addf %41, %42 : f32
    %44 = arith.constant 0.333333343 : f32
    %45 = arith.mulf %43, %44 : f32
    img.yield %45 : f32
  }
  %step_4 = img.stage "step_2" (%x_5, %y_5) -> f32 {
    %46 = img.read %rows_2[%x_5, %y_5 - 1] : !img.func<2xf32>
    %47 = img.read %rows_2[%x_5, %y_5] : !img.func<2xf32>
    %48 = arith.addf %46, %47 : f32
    %49 = img.read %rows_2[%x_5, %y_5 + 1] : !img.func<2xf32>
    %50 = arith.addf %48, %49 : f32
    %51 = arith.constant 0.333333343 : f32
    %52 = arith.mulf %50, %51 : f32
    img.yield %52 : f32
  }
  %53 = arith.constant 0 : index
  %54 = arith.constant 0 : index
  %55 = arith.constant 0.000000e+00 : f32
  %step_5 = img.boundary constant_exterior %step_4 dims [0, 1] in [%53, %54] by [%0, %1] value %55 : !img.func<2xf32>
  %rows_3 = img.stage "rows_3" (%x_6, %y_6) -> f32 {
    %56 = img.read %step_5[%x_6 - 1, %y_6] : !img.func<2xf32>
    %57 = img.read %step_5[%x_6, %y_6] : !img.func<2xf32>
    %58 = arith.addf %56, %57 : f32
    %59 = img.read %step_5[%x_6 + 1, %y_6] : !img.func<2xf32>
    %60 = arith.addf %58, %59 : f32
    %61 = arith.constant 0.333333343 : f32
    %62 = arith.mulf %60, %61 : f32
    img.yield %62 : f32
  }
  %step_6 = img.stage "step_3" (%x_7, %y_7) -> f32 {
    %63 = img.read %rows_3[%x_7, %y_7 - 1] : !img.func<2xf32>
    %64 = img.read %rows_3[%x_7, %y_7] : !img.func<2xf32>
    %65 = arith.addf %63, %64 : f32
    %66 = img.read %rows_3[%x_7, %y_7 + 1] : !img.func<2xf32>
    %67 = arith.addf %65, %66 : f32
    %68 = arith.constant 0.333333343 : f32
    %69 = arith.mulf %67, %68 : f32
    img.yield %69 : f32
  }
  img.return "step_3" = %step_6 : !img.func<2xf32>
}
