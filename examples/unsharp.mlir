img.pipeline @unsharp {
  %image = img.input "image" bounds #img.box<[*, *, 0:3]> : !img.func<3xf32>
  %image_1 = img.boundary repeat_edge %image dims [0, 1, 2] : !img.func<3xf32>
  %gray = img.stage "gray" (%x, %y) -> f32 {
    %0 = arith.constant 2.990000e-01 : f32
    %1 = img.read %image_1[%x, %y, 0] : !img.func<3xf32>
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.constant 5.870000e-01 : f32
    %4 = img.read %image_1[%x, %y, 1] : !img.func<3xf32>
    %5 = arith.mulf %3, %4 : f32
    %6 = arith.addf %2, %5 : f32
    %7 = arith.constant 1.140000e-01 : f32
    %8 = img.read %image_1[%x, %y, 2] : !img.func<3xf32>
    %9 = arith.mulf %7, %8 : f32
    %10 = arith.addf %6, %9 : f32
    img.yield %10 : f32
  }
  %blur_y = img.stage "blur_y" (%x_1, %y_1) -> f32 {
    %11 = arith.constant 0.265961528 : f32
    %12 = img.read %gray[%x_1, %y_1] : !img.func<2xf32>
    %13 = arith.mulf %11, %12 : f32
    %14 = arith.constant 0.212965339 : f32
    %15 = img.read %gray[%x_1, %y_1 - 1] : !img.func<2xf32>
    %16 = img.read %gray[%x_1, %y_1 + 1] : !img.func<2xf32>
    %17 = arith.addf %15, %16 : f32
    %18 = arith.mulf %14, %17 : f32
    %19 = arith.addf %13, %18 : f32
    %20 = arith.constant 0.109340049 : f32
    %21 = img.read %gray[%x_1, %y_1 - 2] : !img.func<2xf32>
    %22 = img.read %gray[%x_1, %y_1 + 2] : !img.func<2xf32>
    %23 = arith.addf %21, %22 : f32
    %24 = arith.mulf %20, %23 : f32
    %25 = arith.addf %19, %24 : f32
    %26 = arith.constant 0.0359939784 : f32
    %27 = img.read %gray[%x_1, %y_1 - 3] : !img.func<2xf32>
    %28 = img.read %gray[%x_1, %y_1 + 3] : !img.func<2xf32>
    %29 = arith.addf %27, %28 : f32
    %30 = arith.mulf %26, %29 : f32
    %31 = arith.addf %25, %30 : f32
    img.yield %31 : f32
  }
  %blur_x = img.stage "blur_x" (%x_2, %y_2) -> f32 {
    %32 = arith.constant 0.265961528 : f32
    %33 = img.read %blur_y[%x_2, %y_2] : !img.func<2xf32>
    %34 = arith.mulf %32, %33 : f32
    %35 = arith.constant 0.212965339 : f32
    %36 = img.read %blur_y[%x_2 - 1, %y_2] : !img.func<2xf32>
    %37 = img.read %blur_y[%x_2 + 1, %y_2] : !img.func<2xf32>
    %38 = arith.addf %36, %37 : f32
    %39 = arith.mulf %35, %38 : f32
    %40 = arith.addf %34, %39 : f32
    %41 = arith.constant 0.109340049 : f32
    %42 = img.read %blur_y[%x_2 - 2, %y_2] : !img.func<2xf32>
    %43 = img.read %blur_y[%x_2 + 2, %y_2] : !img.func<2xf32>
    %44 = arith.addf %42, %43 : f32
    %45 = arith.mulf %41, %44 : f32
    %46 = arith.addf %40, %45 : f32
    %47 = arith.constant 0.0359939784 : f32
    %48 = img.read %blur_y[%x_2 - 3, %y_2] : !img.func<2xf32>
    %49 = img.read %blur_y[%x_2 + 3, %y_2] : !img.func<2xf32>
    %50 = arith.addf %48, %49 : f32
    %51 = arith.mulf %47, %50 : f32
    %52 = arith.addf %46, %51 : f32
    img.yield %52 : f32
  }
  %sharpen = img.stage "sharpen" (%x_3, %y_3) -> f32 {
    %53 = arith.constant 2.000000e+00 : f32
    %54 = img.read %gray[%x_3, %y_3] : !img.func<2xf32>
    %55 = arith.mulf %53, %54 : f32
    %56 = img.read %blur_x[%x_3, %y_3] : !img.func<2xf32>
    %57 = arith.subf %55, %56 : f32
    img.yield %57 : f32
  }
  %ratio = img.stage "ratio" (%x_4, %y_4) -> f32 {
    %58 = img.read %sharpen[%x_4, %y_4] : !img.func<2xf32>
    %59 = img.read %gray[%x_4, %y_4] : !img.func<2xf32>
    %60 = arith.divf %58, %59 : f32
    img.yield %60 : f32
  }
  %unsharp = img.stage "unsharp" (%x_5, %y_5, %c) -> f32 bounds #img.box<[*, *, 0:3]> {
    %61 = img.read %ratio[%x_5, %y_5] : !img.func<2xf32>
    %62 = img.read %image[%x_5, %y_5, %c] : !img.func<3xf32>
    %63 = arith.mulf %61, %62 : f32
    img.yield %63 : f32
  }
  img.return "unsharp" = %unsharp : !img.func<3xf32>
}
