img.pipeline @hist {
  %image = img.input "image" : !img.func<3xui8>
  %Y = img.stage "Y" (%x, %y) -> f32 {
    %0 = arith.constant 2.990000e-01 : f32
    %1 = img.read %image[%x, %y, 0] : !img.func<3xui8>
    %2 = arith.uitofp %1 : i8 to f32
    %3 = arith.mulf %0, %2 : f32
    %4 = arith.constant 5.870000e-01 : f32
    %5 = img.read %image[%x, %y, 1] : !img.func<3xui8>
    %6 = arith.uitofp %5 : i8 to f32
    %7 = arith.mulf %4, %6 : f32
    %8 = arith.addf %3, %7 : f32
    %9 = arith.constant 1.140000e-01 : f32
    %10 = img.read %image[%x, %y, 2] : !img.func<3xui8>
    %11 = arith.uitofp %10 : i8 to f32
    %12 = arith.mulf %9, %11 : f32
    %13 = arith.addf %8, %12 : f32
    img.yield %13 : f32
  }
  %hist_rows = img.stage "hist_rows" (%x_1, %y_1) -> si32 {
    %14 = arith.constant 0 : i32
    img.yield %14 : i32
  }
  %15 = img.extent 0 of %image : !img.func<3xui8>
  %16 = arith.constant 0 : index
  %hist_rows_update = img.update "hist_rows_update" (%y_2) over (%r.x in [%16, %15]) of (%hist_rows_1 = %hist_rows : !img.func<2xsi32>) combine [add] {
    %17 = arith.constant 1 : i32
    %18 = img.read %Y[%r.x, %y_2] : !img.func<2xf32>
    %19 = arith.constant 2.550000e+02 : f32
    %20 = arith.minnumf %18, %19 : f32
    %21 = arith.constant 0.000000e+00 : f32
    %22 = arith.maxnumf %20, %21 : f32
    %23 = arith.fptosi %22 : f32 to i32
    %24 = arith.index_cast %23 : i32 to index
    img.write %17 at [%24, %y_2] : i32
  }
  %histogram = img.stage "histogram" (%x_2) -> si32 {
    %25 = arith.constant 0 : i32
    img.yield %25 : i32
  }
  %26 = img.extent 1 of %image : !img.func<3xui8>
  %27 = arith.constant 0 : index
  %histogram_update = img.update "histogram_update" (%x_3) over (%r.x_1 in [%27, %26]) of (%histogram_1 = %histogram : !img.func<1xsi32>) combine [add] {
    %28 = img.read %hist_rows_update[%x_3, %r.x_1] : !img.func<2xsi32>
    img.write %28 at [%x_3] : i32
  }
  %cdf = img.stage "cdf" (%x_4) -> si32 {
    %29 = img.read %histogram_update[0] : !img.func<1xsi32>
    img.yield %29 : i32
  }
  %30 = arith.constant 1 : index
  %31 = arith.constant 255 : index
  %cdf_update = img.update "cdf_update" () over (%r.x_2 in [%30, %31]) of (%cdf_1 = %cdf : !img.func<1xsi32>) {
    %32 = img.read %cdf_1[%r.x_2 - 1] : !img.func<1xsi32>
    %33 = img.read %histogram_update[%r.x_2] : !img.func<1xsi32>
    %34 = arith.addi %32, %33 : i32
    img.write %34 at [%r.x_2] : i32
  }
  %equalized = img.stage "equalized" (%x_5, %y_3) -> f32 {
    %35 = img.read %Y[%x_5, %y_3] : !img.func<2xf32>
    %36 = arith.constant 2.550000e+02 : f32
    %37 = arith.minnumf %35, %36 : f32
    %38 = arith.constant 0.000000e+00 : f32
    %39 = arith.maxnumf %37, %38 : f32
    %40 = arith.fptoui %39 : f32 to i32
    %41 = arith.trunci %40 : i32 to i8
    %42 = arith.extui %41 : i8 to i32
    %43 = arith.index_cast %42 : i32 to index
    %44 = img.read %cdf_update[%43] : !img.func<1xsi32>
    %45 = arith.sitofp %44 : i32 to f32
    %46 = arith.index_cast %26 : index to i32
    %47 = arith.index_cast %15 : index to i32
    %48 = arith.muli %46, %47 : i32
    %49 = arith.sitofp %48 : i32 to f32
    %50 = arith.divf %36, %49 : f32
    %51 = arith.mulf %45, %50 : f32
    %52 = arith.minnumf %51, %36 : f32
    %53 = arith.maxnumf %52, %38 : f32
    img.yield %53 : f32
  }
  %Cr = img.stage "Cr" (%x_6, %y_4) -> f32 {
    %54 = img.read %image[%x_6, %y_4, 0] : !img.func<3xui8>
    %55 = arith.uitofp %54 : i8 to f32
    %56 = img.read %Y[%x_6, %y_4] : !img.func<2xf32>
    %57 = arith.subf %55, %56 : f32
    %58 = arith.constant 7.130000e-01 : f32
    %59 = arith.mulf %57, %58 : f32
    %60 = arith.constant 1.280000e+02 : f32
    %61 = arith.addf %59, %60 : f32
    img.yield %61 : f32
  }
  %Cb = img.stage "Cb" (%x_7, %y_5) -> f32 {
    %62 = img.read %image[%x_7, %y_5, 2] : !img.func<3xui8>
    %63 = arith.uitofp %62 : i8 to f32
    %64 = img.read %Y[%x_7, %y_5] : !img.func<2xf32>
    %65 = arith.subf %63, %64 : f32
    %66 = arith.constant 5.640000e-01 : f32
    %67 = arith.mulf %65, %66 : f32
    %68 = arith.constant 1.280000e+02 : f32
    %69 = arith.addf %67, %68 : f32
    img.yield %69 : f32
  }
  %hist = img.stage "hist" (%x_8, %y_6, %c) -> ui8 bounds #img.box<[*, *, 0:3]> {
    %70 = arith.index_cast %c : index to i32
    %71 = arith.constant 0 : i32
    %72 = arith.cmpi eq, %70, %71 : i32
    %73 = img.read %equalized[%x_8, %y_6] : !img.func<2xf32>
    %74 = img.read %Cr[%x_8, %y_6] : !img.func<2xf32>
    %75 = arith.constant 1.280000e+02 : f32
    %76 = arith.subf %74, %75 : f32
    %77 = arith.constant 1.400000e+00 : f32
    %78 = arith.mulf %76, %77 : f32
    %79 = arith.addf %73, %78 : f32
    %80 = arith.constant 2.550000e+02 : f32
    %81 = arith.minnumf %79, %80 : f32
    %82 = arith.constant 0.000000e+00 : f32
    %83 = arith.maxnumf %81, %82 : f32
    %84 = arith.fptoui %83 : f32 to i32
    %85 = arith.trunci %84 : i32 to i8
    %86 = arith.constant 1 : i32
    %87 = arith.cmpi eq, %70, %86 : i32
    %88 = arith.constant 3.430000e-01 : f32
    %89 = img.read %Cb[%x_8, %y_6] : !img.func<2xf32>
    %90 = arith.subf %89, %75 : f32
    %91 = arith.mulf %88, %90 : f32
    %92 = arith.subf %73, %91 : f32
    %93 = arith.constant 7.110000e-01 : f32
    %94 = arith.mulf %93, %76 : f32
    %95 = arith.subf %92, %94 : f32
    %96 = arith.minnumf %95, %80 : f32
    %97 = arith.maxnumf %96, %82 : f32
    %98 = arith.fptoui %97 : f32 to i32
    %99 = arith.trunci %98 : i32 to i8
    %100 = arith.constant 1.765000e+00 : f32
    %101 = arith.mulf %100, %90 : f32
    %102 = arith.addf %73, %101 : f32
    %103 = arith.minnumf %102, %80 : f32
    %104 = arith.maxnumf %103, %82 : f32
    %105 = arith.fptoui %104 : f32 to i32
    %106 = arith.trunci %105 : i32 to i8
    %107 = arith.select %87, %99, %106 : i8
    %108 = arith.select %72, %85, %107 : i8
    img.yield %108 : i8
  }
  img.return "hist" = %hist : !img.func<3xui8>
}
