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
  %sum = img.stage "sum" (%x_1, %y_1, %dx_1, %dy_1) -> f32 {
    %4 = arith.constant -0.000000e+00 : f32
    img.yield %4 : f32
  }
  %5 = arith.constant 0 : index
  %6 = arith.constant 3 : index
  %sum_update = img.update "sum_update" (%x_2, %y_2, %dx_2, %dy_2) over (%r.x in [%5, %6]) of (%sum_1 = %sum : !img.func<4xf32>) combine [add] inline {
    %7 = img.read %by_channel[%x_2, %y_2, %dx_2, %dy_2, %r.x] : !img.func<5xf32>
    img.write %7 at [%x_2, %y_2, %dx_2, %dy_2] : f32
  }
  %difference = img.stage "difference" (%x_3, %y_3, %dx_3, %dy_3) -> f32 {
    %8 = img.read %sum_update[%x_3, %y_3, %dx_3, %dy_3] : !img.func<4xf32>
    img.yield %8 : f32
  }
  %sum_2 = img.stage "sum_1" (%x_4, %y_4, %dx_4, %dy_4) -> f32 {
    %9 = arith.constant -0.000000e+00 : f32
    img.yield %9 : f32
  }
  %10 = arith.constant -4 : index
  %11 = arith.constant 7 : index
  %sum_1_update = img.update "sum_1_update" (%x_5, %y_5, %dx_5, %dy_5) over (%r.x_1 in [%10, %11]) of (%sum_3 = %sum_2 : !img.func<4xf32>) combine [add] inline {
    %12 = img.read %difference[%x_5, %y_5 + %r.x_1, %dx_5, %dy_5] : !img.func<4xf32>
    img.write %12 at [%x_5, %y_5, %dx_5, %dy_5] : f32
  }
  %blur_y = img.stage "blur_y" (%x_6, %y_6, %dx_6, %dy_6) -> f32 {
    %13 = img.read %sum_1_update[%x_6, %y_6, %dx_6, %dy_6] : !img.func<4xf32>
    img.yield %13 : f32
  }
  %sum_4 = img.stage "sum_2" (%x_7, %y_7, %dx_7, %dy_7) -> f32 {
    %14 = arith.constant -0.000000e+00 : f32
    img.yield %14 : f32
  }
  %15 = arith.constant -4 : index
  %16 = arith.constant 7 : index
  %sum_2_update = img.update "sum_2_update" (%x_8, %y_8, %dx_8, %dy_8) over (%r.x_2 in [%15, %16]) of (%sum_5 = %sum_4 : !img.func<4xf32>) combine [add] inline {
    %17 = img.read %blur_y[%x_8 + %r.x_2, %y_8, %dx_8, %dy_8] : !img.func<4xf32>
    img.write %17 at [%x_8, %y_8, %dx_8, %dy_8] : f32
  }
  %blur = img.stage "blur" (%x_9, %y_9, %dx_9, %dy_9) -> f32 {
    %18 = img.read %sum_2_update[%x_9, %y_9, %dx_9, %dy_9] : !img.func<4xf32>
    img.yield %18 : f32
  }
  %weight = img.stage "weight" (%x_10, %y_10, %dx_10, %dy_10) -> f32 {
    %19 = img.read %blur[%x_10, %y_10, %dx_10, %dy_10] : !img.func<4xf32>
    %20 = arith.constant -1.41723359 : f32
    %21 = arith.mulf %19, %20 : f32
    %22 = math.exp %21 : f32
    img.yield %22 : f32
  }
  %with_alpha = img.stage "with_alpha" (%x_11, %y_11, %c_1) -> f32 {
    %23 = arith.index_cast %c_1 : index to i32
    %24 = arith.constant 0 : i32
    %25 = arith.cmpi eq, %23, %24 : i32
    %26 = img.read %image_1[%x_11, %y_11, 0] : !img.func<3xf32>
    %27 = arith.constant 1 : i32
    %28 = arith.cmpi eq, %23, %27 : i32
    %29 = img.read %image_1[%x_11, %y_11, 1] : !img.func<3xf32>
    %30 = arith.constant 2 : i32
    %31 = arith.cmpi eq, %23, %30 : i32
    %32 = img.read %image_1[%x_11, %y_11, 2] : !img.func<3xf32>
    %33 = arith.constant 1.000000e+00 : f32
    %34 = arith.select %31, %32, %33 : f32
    %35 = arith.select %28, %29, %34 : f32
    %36 = arith.select %25, %26, %35 : f32
    img.yield %36 : f32
  }
  %total = img.stage "total" (%x_12, %y_12, %c_2) -> f32 {
    %37 = arith.constant 0.000000e+00 : f32
    img.yield %37 : f32
  }
  %38 = arith.constant -4 : index
  %39 = arith.constant 7 : index
  %40 = arith.constant -4 : index
  %41 = arith.constant 7 : index
  %total_update = img.update "total_update" (%x_13, %y_13, %c_3) over (%r.x_3 in [%38, %39], %r.y in [%40, %41]) of (%total_1 = %total : !img.func<3xf32>) combine [add] {
    %42 = img.read %weight[%x_13, %y_13, %r.x_3, %r.y] : !img.func<4xf32>
    %43 = img.read %with_alpha[%x_13 + %r.x_3, %y_13 + %r.y, %c_3] : !img.func<3xf32>
    %44 = arith.mulf %42, %43 : f32
    img.write %44 at [%x_13, %y_13, %c_3] : f32
  }
  %nl_means = img.stage "nl_means" (%x_14, %y_14, %c_4) -> f32 bounds #img.box<[*, *, 0:3]> {
    %45 = img.read %total_update[%x_14, %y_14, %c_4] : !img.func<3xf32>
    %46 = img.read %total_update[%x_14, %y_14, 3] : !img.func<3xf32>
    %47 = arith.divf %45, %46 : f32
    %48 = arith.constant 1.000000e+00 : f32
    %49 = arith.minnumf %47, %48 : f32
    %50 = arith.constant 0.000000e+00 : f32
    %51 = arith.maxnumf %49, %50 : f32
    img.yield %51 : f32
  }
  img.return "nl_means" = %nl_means : !img.func<3xf32>
}
