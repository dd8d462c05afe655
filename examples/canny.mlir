img.pipeline @canny {
  %image = img.input "image" : !img.func<2xf32>
  %image_1 = img.boundary repeat_edge %image dims [0, 1] : !img.func<2xf32>
  %blur_x = img.stage "blur_x" (%x, %y) -> f32 {
    %0 = img.read %image_1[%x - 2, %y] : !img.func<2xf32>
    %1 = img.read %image_1[%x + 2, %y] : !img.func<2xf32>
    %2 = arith.addf %0, %1 : f32
    %3 = arith.constant 4.000000e+00 : f32
    %4 = img.read %image_1[%x - 1, %y] : !img.func<2xf32>
    %5 = img.read %image_1[%x + 1, %y] : !img.func<2xf32>
    %6 = arith.addf %4, %5 : f32
    %7 = arith.mulf %3, %6 : f32
    %8 = arith.addf %2, %7 : f32
    %9 = arith.constant 6.000000e+00 : f32
    %10 = img.read %image_1[%x, %y] : !img.func<2xf32>
    %11 = arith.mulf %9, %10 : f32
    %12 = arith.addf %8, %11 : f32
    %13 = arith.constant 6.250000e-02 : f32
    %14 = arith.mulf %12, %13 : f32
    img.yield %14 : f32
  }
  %blur_y = img.stage "blur_y" (%x_1, %y_1) -> f32 {
    %15 = img.read %blur_x[%x_1, %y_1 - 2] : !img.func<2xf32>
    %16 = img.read %blur_x[%x_1, %y_1 + 2] : !img.func<2xf32>
    %17 = arith.addf %15, %16 : f32
    %18 = arith.constant 4.000000e+00 : f32
    %19 = img.read %blur_x[%x_1, %y_1 - 1] : !img.func<2xf32>
    %20 = img.read %blur_x[%x_1, %y_1 + 1] : !img.func<2xf32>
    %21 = arith.addf %19, %20 : f32
    %22 = arith.mulf %18, %21 : f32
    %23 = arith.addf %17, %22 : f32
    %24 = arith.constant 6.000000e+00 : f32
    %25 = img.read %blur_x[%x_1, %y_1] : !img.func<2xf32>
    %26 = arith.mulf %24, %25 : f32
    %27 = arith.addf %23, %26 : f32
    %28 = arith.constant 6.250000e-02 : f32
    %29 = arith.mulf %27, %28 : f32
    img.yield %29 : f32
  }
  %gx = img.stage "gx" (%x_2, %y_2) -> f32 {
    %30 = img.read %blur_y[%x_2 + 1, %y_2 - 1] : !img.func<2xf32>
    %31 = img.read %blur_y[%x_2 - 1, %y_2 - 1] : !img.func<2xf32>
    %32 = arith.subf %30, %31 : f32
    %33 = arith.constant 2.000000e+00 : f32
    %34 = img.read %blur_y[%x_2 + 1, %y_2] : !img.func<2xf32>
    %35 = img.read %blur_y[%x_2 - 1, %y_2] : !img.func<2xf32>
    %36 = arith.subf %34, %35 : f32
    %37 = arith.mulf %33, %36 : f32
    %38 = arith.addf %32, %37 : f32
    %39 = img.read %blur_y[%x_2 + 1, %y_2 + 1] : !img.func<2xf32>
    %40 = arith.addf %38, %39 : f32
    %41 = img.read %blur_y[%x_2 - 1, %y_2 + 1] : !img.func<2xf32>
    %42 = arith.subf %40, %41 : f32
    img.yield %42 : f32
  }
  %gy = img.stage "gy" (%x_3, %y_3) -> f32 {
    %43 = img.read %blur_y[%x_3 - 1, %y_3 + 1] : !img.func<2xf32>
    %44 = img.read %blur_y[%x_3 - 1, %y_3 - 1] : !img.func<2xf32>
    %45 = arith.subf %43, %44 : f32
    %46 = arith.constant 2.000000e+00 : f32
    %47 = img.read %blur_y[%x_3, %y_3 + 1] : !img.func<2xf32>
    %48 = img.read %blur_y[%x_3, %y_3 - 1] : !img.func<2xf32>
    %49 = arith.subf %47, %48 : f32
    %50 = arith.mulf %46, %49 : f32
    %51 = arith.addf %45, %50 : f32
    %52 = img.read %blur_y[%x_3 + 1, %y_3 + 1] : !img.func<2xf32>
    %53 = arith.addf %51, %52 : f32
    %54 = img.read %blur_y[%x_3 + 1, %y_3 - 1] : !img.func<2xf32>
    %55 = arith.subf %53, %54 : f32
    img.yield %55 : f32
  }
  %magnitude = img.stage "magnitude" (%x_4, %y_4) -> f32 {
    %56 = img.read %gx[%x_4, %y_4] : !img.func<2xf32>
    %57 = img.read %gx[%x_4, %y_4] : !img.func<2xf32>
    %58 = arith.mulf %56, %57 : f32
    %59 = img.read %gy[%x_4, %y_4] : !img.func<2xf32>
    %60 = img.read %gy[%x_4, %y_4] : !img.func<2xf32>
    %61 = arith.mulf %59, %60 : f32
    %62 = arith.addf %58, %61 : f32
    %63 = math.sqrt %62 : f32
    img.yield %63 : f32
  }
  %canny = img.stage "canny" (%x_5, %y_5) -> f32 {
    %64 = img.read %magnitude[%x_5, %y_5] : !img.func<2xf32>
    %65 = img.read %gy[%x_5, %y_5] : !img.func<2xf32>
    %66 = math.absf %65 : f32
    %67 = arith.constant 0.414213568 : f32
    %68 = img.read %gx[%x_5, %y_5] : !img.func<2xf32>
    %69 = math.absf %68 : f32
    %70 = arith.mulf %67, %69 : f32
    %71 = arith.cmpf ole, %66, %70 : f32
    %72 = img.read %magnitude[%x_5 - 1, %y_5] : !img.func<2xf32>
    %73 = math.absf %65 : f32
    %74 = arith.constant 2.41421366 : f32
    %75 = math.absf %68 : f32
    %76 = arith.mulf %74, %75 : f32
    %77 = arith.cmpf ogt, %73, %76 : f32
    %78 = img.read %magnitude[%x_5, %y_5 - 1] : !img.func<2xf32>
    %79 = arith.mulf %68, %65 : f32
    %80 = arith.constant 0.000000e+00 : f32
    %81 = arith.cmpf ogt, %79, %80 : f32
    %82 = img.read %magnitude[%x_5 - 1, %y_5 - 1] : !img.func<2xf32>
    %83 = img.read %magnitude[%x_5 + 1, %y_5 - 1] : !img.func<2xf32>
    %84 = arith.select %81, %82, %83 : f32
    %85 = arith.select %77, %78, %84 : f32
    %86 = arith.select %71, %72, %85 : f32
    %87 = arith.cmpf oge, %64, %86 : f32
    %88 = img.read %magnitude[%x_5 + 1, %y_5] : !img.func<2xf32>
    %89 = img.read %magnitude[%x_5, %y_5 + 1] : !img.func<2xf32>
    %90 = img.read %magnitude[%x_5 + 1, %y_5 + 1] : !img.func<2xf32>
    %91 = img.read %magnitude[%x_5 - 1, %y_5 + 1] : !img.func<2xf32>
    %92 = arith.select %81, %90, %91 : f32
    %93 = arith.select %77, %89, %92 : f32
    %94 = arith.select %71, %88, %93 : f32
    %95 = arith.cmpf oge, %64, %94 : f32
    %96 = arith.andi %87, %95 : i1
    %97 = arith.constant 2.000000e-01 : f32
    %98 = arith.cmpf ogt, %64, %97 : f32
    %99 = arith.andi %96, %98 : i1
    %100 = arith.constant 1.000000e+00 : f32
    %101 = arith.constant 8.000000e-02 : f32
    %102 = arith.cmpf ogt, %64, %101 : f32
    %103 = arith.andi %96, %102 : i1
    %104 = arith.constant 5.000000e-01 : f32
    %105 = arith.select %103, %104, %80 : f32
    %106 = arith.select %99, %100, %105 : f32
    img.yield %106 : f32
  }
  img.return "canny" = %canny : !img.func<2xf32>
}
