img.pipeline @harris {
  %image = img.input "image" : !img.func<3xf32>
  %gray = img.stage "gray" (%x, %y) -> f32 {
    %0 = arith.constant 2.990000e-01 : f32
    %1 = img.read %image[%x, %y, 0] : !img.func<3xf32>
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.constant 5.870000e-01 : f32
    %4 = img.read %image[%x, %y, 1] : !img.func<3xf32>
    %5 = arith.mulf %3, %4 : f32
    %6 = arith.addf %2, %5 : f32
    %7 = arith.constant 1.140000e-01 : f32
    %8 = img.read %image[%x, %y, 2] : !img.func<3xf32>
    %9 = arith.mulf %7, %8 : f32
    %10 = arith.addf %6, %9 : f32
    img.yield %10 : f32
  }
  %Ix = img.stage "Ix" (%x_1, %y_1) -> f32 {
    %11 = img.read %gray[%x_1 - 1, %y_1 - 1] : !img.func<2xf32>
    %12 = arith.constant -0.0833333358 : f32
    %13 = arith.mulf %11, %12 : f32
    %14 = img.read %gray[%x_1 + 1, %y_1 - 1] : !img.func<2xf32>
    %15 = arith.constant 0.0833333358 : f32
    %16 = arith.mulf %14, %15 : f32
    %17 = arith.addf %13, %16 : f32
    %18 = img.read %gray[%x_1 - 1, %y_1] : !img.func<2xf32>
    %19 = arith.constant -0.166666672 : f32
    %20 = arith.mulf %18, %19 : f32
    %21 = arith.addf %17, %20 : f32
    %22 = img.read %gray[%x_1 + 1, %y_1] : !img.func<2xf32>
    %23 = arith.constant 0.166666672 : f32
    %24 = arith.mulf %22, %23 : f32
    %25 = arith.addf %21, %24 : f32
    %26 = img.read %gray[%x_1 - 1, %y_1 + 1] : !img.func<2xf32>
    %27 = arith.mulf %26, %12 : f32
    %28 = arith.addf %25, %27 : f32
    %29 = img.read %gray[%x_1 + 1, %y_1 + 1] : !img.func<2xf32>
    %30 = arith.mulf %29, %15 : f32
    %31 = arith.addf %28, %30 : f32
    img.yield %31 : f32
  }
  %Ixx = img.stage "Ixx" (%x_2, %y_2) -> f32 {
    %32 = img.read %Ix[%x_2, %y_2] : !img.func<2xf32>
    %33 = img.read %Ix[%x_2, %y_2] : !img.func<2xf32>
    %34 = arith.mulf %32, %33 : f32
    img.yield %34 : f32
  }
  %Sxx = img.stage "Sxx" (%x_3, %y_3) -> f32 {
    %35 = img.read %Ixx[%x_3 - 1, %y_3 - 1] : !img.func<2xf32>
    %36 = img.read %Ixx[%x_3 - 1, %y_3] : !img.func<2xf32>
    %37 = arith.addf %35, %36 : f32
    %38 = img.read %Ixx[%x_3 - 1, %y_3 + 1] : !img.func<2xf32>
    %39 = arith.addf %37, %38 : f32
    %40 = img.read %Ixx[%x_3, %y_3 - 1] : !img.func<2xf32>
    %41 = arith.addf %39, %40 : f32
    %42 = img.read %Ixx[%x_3, %y_3] : !img.func<2xf32>
    %43 = arith.addf %41, %42 : f32
    %44 = img.read %Ixx[%x_3, %y_3 + 1] : !img.func<2xf32>
    %45 = arith.addf %43, %44 : f32
    %46 = img.read %Ixx[%x_3 + 1, %y_3 - 1] : !img.func<2xf32>
    %47 = arith.addf %45, %46 : f32
    %48 = img.read %Ixx[%x_3 + 1, %y_3] : !img.func<2xf32>
    %49 = arith.addf %47, %48 : f32
    %50 = img.read %Ixx[%x_3 + 1, %y_3 + 1] : !img.func<2xf32>
    %51 = arith.addf %49, %50 : f32
    img.yield %51 : f32
  }
  %Iy = img.stage "Iy" (%x_4, %y_4) -> f32 {
    %52 = img.read %gray[%x_4 - 1, %y_4 - 1] : !img.func<2xf32>
    %53 = arith.constant -0.0833333358 : f32
    %54 = arith.mulf %52, %53 : f32
    %55 = img.read %gray[%x_4 - 1, %y_4 + 1] : !img.func<2xf32>
    %56 = arith.constant 0.0833333358 : f32
    %57 = arith.mulf %55, %56 : f32
    %58 = arith.addf %54, %57 : f32
    %59 = img.read %gray[%x_4, %y_4 - 1] : !img.func<2xf32>
    %60 = arith.constant -0.166666672 : f32
    %61 = arith.mulf %59, %60 : f32
    %62 = arith.addf %58, %61 : f32
    %63 = img.read %gray[%x_4, %y_4 + 1] : !img.func<2xf32>
    %64 = arith.constant 0.166666672 : f32
    %65 = arith.mulf %63, %64 : f32
    %66 = arith.addf %62, %65 : f32
    %67 = img.read %gray[%x_4 + 1, %y_4 - 1] : !img.func<2xf32>
    %68 = arith.mulf %67, %53 : f32
    %69 = arith.addf %66, %68 : f32
    %70 = img.read %gray[%x_4 + 1, %y_4 + 1] : !img.func<2xf32>
    %71 = arith.mulf %70, %56 : f32
    %72 = arith.addf %69, %71 : f32
    img.yield %72 : f32
  }
  %Iyy = img.stage "Iyy" (%x_5, %y_5) -> f32 {
    %73 = img.read %Iy[%x_5, %y_5] : !img.func<2xf32>
    %74 = img.read %Iy[%x_5, %y_5] : !img.func<2xf32>
    %75 = arith.mulf %73, %74 : f32
    img.yield %75 : f32
  }
  %Syy = img.stage "Syy" (%x_6, %y_6) -> f32 {
    %76 = img.read %Iyy[%x_6 - 1, %y_6 - 1] : !img.func<2xf32>
    %77 = img.read %Iyy[%x_6 - 1, %y_6] : !img.func<2xf32>
    %78 = arith.addf %76, %77 : f32
    %79 = img.read %Iyy[%x_6 - 1, %y_6 + 1] : !img.func<2xf32>
    %80 = arith.addf %78, %79 : f32
    %81 = img.read %Iyy[%x_6, %y_6 - 1] : !img.func<2xf32>
    %82 = arith.addf %80, %81 : f32
    %83 = img.read %Iyy[%x_6, %y_6] : !img.func<2xf32>
    %84 = arith.addf %82, %83 : f32
    %85 = img.read %Iyy[%x_6, %y_6 + 1] : !img.func<2xf32>
    %86 = arith.addf %84, %85 : f32
    %87 = img.read %Iyy[%x_6 + 1, %y_6 - 1] : !img.func<2xf32>
    %88 = arith.addf %86, %87 : f32
    %89 = img.read %Iyy[%x_6 + 1, %y_6] : !img.func<2xf32>
    %90 = arith.addf %88, %89 : f32
    %91 = img.read %Iyy[%x_6 + 1, %y_6 + 1] : !img.func<2xf32>
    %92 = arith.addf %90, %91 : f32
    img.yield %92 : f32
  }
  %Ixy = img.stage "Ixy" (%x_7, %y_7) -> f32 {
    %93 = img.read %Ix[%x_7, %y_7] : !img.func<2xf32>
    %94 = img.read %Iy[%x_7, %y_7] : !img.func<2xf32>
    %95 = arith.mulf %93, %94 : f32
    img.yield %95 : f32
  }
  %Sxy = img.stage "Sxy" (%x_8, %y_8) -> f32 {
    %96 = img.read %Ixy[%x_8 - 1, %y_8 - 1] : !img.func<2xf32>
    %97 = img.read %Ixy[%x_8 - 1, %y_8] : !img.func<2xf32>
    %98 = arith.addf %96, %97 : f32
    %99 = img.read %Ixy[%x_8 - 1, %y_8 + 1] : !img.func<2xf32>
    %100 = arith.addf %98, %99 : f32
    %101 = img.read %Ixy[%x_8, %y_8 - 1] : !img.func<2xf32>
    %102 = arith.addf %100, %101 : f32
    %103 = img.read %Ixy[%x_8, %y_8] : !img.func<2xf32>
    %104 = arith.addf %102, %103 : f32
    %105 = img.read %Ixy[%x_8, %y_8 + 1] : !img.func<2xf32>
    %106 = arith.addf %104, %105 : f32
    %107 = img.read %Ixy[%x_8 + 1, %y_8 - 1] : !img.func<2xf32>
    %108 = arith.addf %106, %107 : f32
    %109 = img.read %Ixy[%x_8 + 1, %y_8] : !img.func<2xf32>
    %110 = arith.addf %108, %109 : f32
    %111 = img.read %Ixy[%x_8 + 1, %y_8 + 1] : !img.func<2xf32>
    %112 = arith.addf %110, %111 : f32
    img.yield %112 : f32
  }
  %det = img.stage "det" (%x_9, %y_9) -> f32 {
    %113 = img.read %Sxx[%x_9, %y_9] : !img.func<2xf32>
    %114 = img.read %Syy[%x_9, %y_9] : !img.func<2xf32>
    %115 = arith.mulf %113, %114 : f32
    %116 = img.read %Sxy[%x_9, %y_9] : !img.func<2xf32>
    %117 = img.read %Sxy[%x_9, %y_9] : !img.func<2xf32>
    %118 = arith.mulf %116, %117 : f32
    %119 = arith.subf %115, %118 : f32
    img.yield %119 : f32
  }
  %trace = img.stage "trace" (%x_10, %y_10) -> f32 {
    %120 = img.read %Sxx[%x_10, %y_10] : !img.func<2xf32>
    %121 = img.read %Syy[%x_10, %y_10] : !img.func<2xf32>
    %122 = arith.addf %120, %121 : f32
    img.yield %122 : f32
  }
  %response = img.stage "response" (%x_11, %y_11) -> f32 {
    %123 = img.read %det[%x_11, %y_11] : !img.func<2xf32>
    %124 = arith.constant 4.000000e-02 : f32
    %125 = img.read %trace[%x_11, %y_11] : !img.func<2xf32>
    %126 = arith.mulf %124, %125 : f32
    %127 = img.read %trace[%x_11, %y_11] : !img.func<2xf32>
    %128 = arith.mulf %126, %127 : f32
    %129 = arith.subf %123, %128 : f32
    img.yield %129 : f32
  }
  %harris = img.stage "harris" (%x_12, %y_12) -> f32 {
    %130 = img.read %response[%x_12 + 2, %y_12 + 2] : !img.func<2xf32>
    img.yield %130 : f32
  }
  img.return "harris" = %harris : !img.func<2xf32>
}
