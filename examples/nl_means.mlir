img.pipeline @nl_means {
  %image = img.input "image" : !img.func<3xf32>
  %image_1 = img.boundary repeat_edge %image dims [0, 1, 2] : !img.func<3xf32>
  %by_channel = img.stage "by_channel" (%x, %y, %dx, %dy, %c) -> f32 {
    %0 = img.read %image_1[%x, %y, %c] : !img.func<3xf32>
    %1 = img.read %image_1[%x + %dx, %y + %dy, %c] : !img.func<3xf32>
    %2 = arith.subf %0, %1 : f32
    %3 = arith.mulf %2, %2 : f32
    img.yield %3 : f32
  }
  %difference = img.stage "difference" (%x_1, %y_1, %dx_1, %dy_1) -> f32 {
    %4 = img.read %by_channel[%x_1, %y_1, %dx_1, %dy_1, 0] : !img.func<5xf32>
    %5 = img.read %by_channel[%x_1, %y_1, %dx_1, %dy_1, 1] : !img.func<5xf32>
    %6 = arith.addf %4, %5 : f32
    %7 = img.read %by_channel[%x_1, %y_1, %dx_1, %dy_1, 2] : !img.func<5xf32>
    %8 = arith.addf %6, %7 : f32
    img.yield %8 : f32
  }
  %blur_y = img.stage "blur_y" (%x_2, %y_2, %dx_2, %dy_2) -> f32 {
    %9 = img.read %difference[%x_2, %y_2 - 4, %dx_2, %dy_2] : !img.func<4xf32>
    %10 = img.read %difference[%x_2, %y_2 - 3, %dx_2, %dy_2] : !img.func<4xf32>
    %11 = arith.addf %9, %10 : f32
    %12 = img.read %difference[%x_2, %y_2 - 2, %dx_2, %dy_2] : !img.func<4xf32>
    %13 = arith.addf %11, %12 : f32
    %14 = img.read %difference[%x_2, %y_2 - 1, %dx_2, %dy_2] : !img.func<4xf32>
    %15 = arith.addf %13, %14 : f32
    %16 = img.read %difference[%x_2, %y_2, %dx_2, %dy_2] : !img.func<4xf32>
    %17 = arith.addf %15, %16 : f32
    %18 = img.read %difference[%x_2, %y_2 + 1, %dx_2, %dy_2] : !img.func<4xf32>
    %19 = arith.addf %17, %18 : f32
    %20 = img.read %difference[%x_2, %y_2 + 2, %dx_2, %dy_2] : !img.func<4xf32>
    %21 = arith.addf %19, %20 : f32
    img.yield %21 : f32
  }
  %blur = img.stage "blur" (%x_3, %y_3, %dx_3, %dy_3) -> f32 {
    %22 = img.read %blur_y[%x_3 - 4, %y_3, %dx_3, %dy_3] : !img.func<4xf32>
    %23 = img.read %blur_y[%x_3 - 3, %y_3, %dx_3, %dy_3] : !img.func<4xf32>
    %24 = arith.addf %22, %23 : f32
    %25 = img.read %blur_y[%x_3 - 2, %y_3, %dx_3, %dy_3] : !img.func<4xf32>
    %26 = arith.addf %24, %25 : f32
    %27 = img.read %blur_y[%x_3 - 1, %y_3, %dx_3, %dy_3] : !img.func<4xf32>
    %28 = arith.addf %26, %27 : f32
    %29 = img.read %blur_y[%x_3, %y_3, %dx_3, %dy_3] : !img.func<4xf32>
    %30 = arith.addf %28, %29 : f32
    %31 = img.read %blur_y[%x_3 + 1, %y_3, %dx_3, %dy_3] : !img.func<4xf32>
    %32 = arith.addf %30, %31 : f32
    %33 = img.read %blur_y[%x_3 + 2, %y_3, %dx_3, %dy_3] : !img.func<4xf32>
    %34 = arith.addf %32, %33 : f32
    img.yield %34 : f32
  }
  %weight = img.stage "weight" (%x_4, %y_4, %dx_4, %dy_4) -> f32 {
    %35 = img.read %blur[%x_4, %y_4, %dx_4, %dy_4] : !img.func<4xf32>
    %36 = arith.constant -1.41723359 : f32
    %37 = arith.mulf %35, %36 : f32
    %38 = math.exp %37 : f32
    img.yield %38 : f32
  }
  %with_alpha = img.stage "with_alpha" (%x_5, %y_5, %c_1) -> f32 {
    %39 = arith.index_cast %c_1 : index to i32
    %40 = arith.constant 0 : i32
    %41 = arith.cmpi eq, %39, %40 : i32
    %42 = img.read %image_1[%x_5, %y_5, 0] : !img.func<3xf32>
    %43 = arith.constant 1 : i32
    %44 = arith.cmpi eq, %39, %43 : i32
    %45 = img.read %image_1[%x_5, %y_5, 1] : !img.func<3xf32>
    %46 = arith.constant 2 : i32
    %47 = arith.cmpi eq, %39, %46 : i32
    %48 = img.read %image_1[%x_5, %y_5, 2] : !img.func<3xf32>
    %49 = arith.constant 1.000000e+00 : f32
    %50 = arith.select %47, %48, %49 : f32
    %51 = arith.select %44, %45, %50 : f32
    %52 = arith.select %41, %42, %51 : f32
    img.yield %52 : f32
  }
  %total = img.stage "total" (%x_6, %y_6, %c_2) -> f32 {
    %53 = arith.constant 0.000000e+00 : f32
    img.yield %53 : f32
  }
  %54 = arith.constant -4 : index
  %55 = arith.constant 7 : index
  %56 = arith.constant -4 : index
  %57 = arith.constant 7 : index
  %total_update = img.update "total_update" (%x_7, %y_7, %c_3) over (%r.x in [%54, %55], %r.y in [%56, %57]) of (%total_1 = %total : !img.func<3xf32>) combine [add] {
    %58 = img.read %weight[%x_7, %y_7, %r.x, %r.y] : !img.func<4xf32>
    %59 = img.read %with_alpha[%x_7 + %r.x, %y_7 + %r.y, %c_3] : !img.func<3xf32>
    %60 = arith.mulf %58, %59 : f32
    img.write %60 at [%x_7, %y_7, %c_3] : f32
  }
  %nl_means = img.stage "nl_means" (%x_8, %y_8, %c_4) -> f32 bounds #img.box<[*, *, 0:3]> {
    %61 = img.read %total_update[%x_8, %y_8, %c_4] : !img.func<3xf32>
    %62 = img.read %total_update[%x_8, %y_8, 3] : !img.func<3xf32>
    %63 = arith.divf %61, %62 : f32
    %64 = arith.constant 1.000000e+00 : f32
    %65 = arith.minnumf %63, %64 : f32
    %66 = arith.constant 0.000000e+00 : f32
    %67 = arith.maxnumf %65, %66 : f32
    img.yield %67 : f32
  }
  img.return "nl_means" = %nl_means : !img.func<3xf32>
}
