img.pipeline @iir_blur {
  %image = img.input "image" : !img.func<3xf32>
  %blur = img.stage "blur" (%x, %y, %c) -> f32 {
    %0 = arith.constant 0.000000e+00 : f32
    img.yield %0 : f32
  }
  %blur_update = img.update "blur_update" (%x_1, %c_1) of (%blur_1 = %blur : !img.func<3xf32>) {
    %1 = img.read %image[%x_1, 0, %c_1] : !img.func<3xf32>
    img.write %1 at [%x_1, 0, %c_1] : f32
  }
  %2 = img.extent 1 of %image : !img.func<3xf32>
  %3 = arith.constant 1 : index
  %4 = arith.constant -1 : index
  %5 = arith.addi %2, %4 : index
  %blur_update1 = img.update "blur_update1" (%x_2, %c_2) over (%r.x in [%3, %5]) of (%blur_2 = %blur_update : !img.func<3xf32>) {
    %6 = arith.constant 1.000000e+00 : f32
    %7 = arith.constant 1.000000e-01 : f32
    %8 = arith.subf %6, %7 : f32
    %9 = img.read %blur_2[%x_2, %r.x - 1, %c_2] : !img.func<3xf32>
    %10 = arith.mulf %8, %9 : f32
    %11 = img.read %image[%x_2, %r.x, %c_2] : !img.func<3xf32>
    %12 = arith.mulf %7, %11 : f32
    %13 = arith.addf %10, %12 : f32
    img.write %13 at [%x_2, %r.x, %c_2] : f32
  }
  %14 = arith.constant 1 : index
  %15 = arith.constant -1 : index
  %16 = arith.addi %2, %15 : index
  %blur_update2 = img.update "blur_update2" (%x_3, %c_3) over (%r.x_1 in [%14, %16]) of (%blur_3 = %blur_update1 : !img.func<3xf32>) {
    %17 = arith.constant 1.000000e+00 : f32
    %18 = arith.constant 1.000000e-01 : f32
    %19 = arith.subf %17, %18 : f32
    %20 = img.read %blur_3[%x_3, %2 + %r.x_1 * -1, %c_3] : !img.func<3xf32>
    %21 = arith.mulf %19, %20 : f32
    %22 = img.read %blur_3[%x_3, %2 + %r.x_1 * -1 - 1, %c_3] : !img.func<3xf32>
    %23 = arith.mulf %18, %22 : f32
    %24 = arith.addf %21, %23 : f32
    img.write %24 at [%x_3, %2 + %r.x_1 * -1 - 1, %c_3] : f32
  }
  %transpose = img.stage "transpose_1" (%x_4, %y_1, %c_4) -> f32 {
    %25 = img.read %blur_update2[%y_1, %x_4, %c_4] : !img.func<3xf32>
    img.yield %25 : f32
  }
  %blur_4 = img.stage "blur_1" (%x_5, %y_2, %c_5) -> f32 {
    %26 = arith.constant 0.000000e+00 : f32
    img.yield %26 : f32
  }
  %blur_1_update = img.update "blur_1_update" (%x_6, %c_6) of (%blur_5 = %blur_4 : !img.func<3xf32>) {
    %27 = img.read %transpose[%x_6, 0, %c_6] : !img.func<3xf32>
    img.write %27 at [%x_6, 0, %c_6] : f32
  }
  %28 = img.extent 0 of %image : !img.func<3xf32>
  %29 = arith.constant 1 : index
  %30 = arith.constant -1 : index
  %31 = arith.addi %28, %30 : index
  %blur_1_update1 = img.update "blur_1_update1" (%x_7, %c_7) over (%r.x_2 in [%29, %31]) of (%blur_6 = %blur_1_update : !img.func<3xf32>) {
    %32 = arith.constant 1.000000e+00 : f32
    %33 = arith.constant 1.000000e-01 : f32
    %34 = arith.subf %32, %33 : f32
    %35 = img.read %blur_6[%x_7, %r.x_2 - 1, %c_7] : !img.func<3xf32>
    %36 = arith.mulf %34, %35 : f32
    %37 = img.read %transpose[%x_7, %r.x_2, %c_7] : !img.func<3xf32>
    %38 = arith.mulf %33, %37 : f32
    %39 = arith.addf %36, %38 : f32
    img.write %39 at [%x_7, %r.x_2, %c_7] : f32
  }
  %40 = arith.constant 1 : index
  %41 = arith.constant -1 : index
  %42 = arith.addi %28, %41 : index
  %blur_1_update2 = img.update "blur_1_update2" (%x_8, %c_8) over (%r.x_3 in [%40, %42]) of (%blur_7 = %blur_1_update1 : !img.func<3xf32>) {
    %43 = arith.constant 1.000000e+00 : f32
    %44 = arith.constant 1.000000e-01 : f32
    %45 = arith.subf %43, %44 : f32
    %46 = img.read %blur_7[%x_8, %28 + %r.x_3 * -1, %c_8] : !img.func<3xf32>
    %47 = arith.mulf %45, %46 : f32
    %48 = img.read %blur_7[%x_8, %28 + %r.x_3 * -1 - 1, %c_8] : !img.func<3xf32>
    %49 = arith.mulf %44, %48 : f32
    %50 = arith.addf %47, %49 : f32
    img.write %50 at [%x_8, %28 + %r.x_3 * -1 - 1, %c_8] : f32
  }
  %transpose_1 = img.stage "transpose" (%x_9, %y_3, %c_9) -> f32 bounds #img.box<[*, *, 0:3]> {
    %51 = img.read %blur_1_update2[%y_3, %x_9, %c_9] : !img.func<3xf32>
    img.yield %51 : f32
  }
  img.return "transpose" = %transpose_1 : !img.func<3xf32>
}
