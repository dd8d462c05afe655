img.pipeline @bilateral_grid {
  %image = img.input "image" : !img.func<2xf32>
  %image_1 = img.boundary repeat_edge %image dims [0, 1] : !img.func<2xf32>
  %histogram = img.stage "histogram" (%x, %y, %z, %c) -> f32 {
    %0 = arith.constant 0.000000e+00 : f32
    img.yield %0 : f32
  }
  %1 = arith.constant 0 : index
  %2 = arith.constant 8 : index
  %3 = arith.constant 0 : index
  %4 = arith.constant 8 : index
  %histogram_update = img.update "histogram_update" (%x_1, %y_1, %c_1) over (%r.x in [%1, %2], %r.y in [%3, %4]) of (%histogram_1 = %histogram : !img.func<4xf32>) combine [add] {
    %5 = arith.index_cast %c_1 : index to i32
    %6 = arith.constant 0 : i32
    %7 = arith.cmpi eq, %5, %6 : i32
    %8 = img.read %image_1[%x_1 * 8 + %r.x - 4, %y_1 * 8 + %r.y - 4] : !img.func<2xf32>
    %9 = arith.constant 1.000000e+00 : f32
    %10 = arith.minnumf %8, %9 : f32
    %11 = arith.constant 0.000000e+00 : f32
    %12 = arith.maxnumf %10, %11 : f32
    %13 = arith.select %7, %12, %9 : f32
    %14 = arith.constant 1.000000e-01 : f32
    %15 = arith.divf %9, %14 : f32
    %16 = arith.mulf %12, %15 : f32
    %17 = arith.constant 5.000000e-01 : f32
    %18 = arith.addf %16, %17 : f32
    %19 = arith.fptosi %18 : f32 to i32
    %20 = arith.index_cast %19 : i32 to index
    img.write %13 at [%x_1, %y_1, %20, %c_1] : f32
  }
  %blurz = img.stage "blurz" (%x_2, %y_2, %z_1, %c_2) -> f32 {
    %21 = img.read %histogram_update[%x_2, %y_2, %z_1 - 2, %c_2] : !img.func<4xf32>
    %22 = img.read %histogram_update[%x_2, %y_2, %z_1 - 1, %c_2] : !img.func<4xf32>
    %23 = arith.constant 4.000000e+00 : f32
    %24 = arith.mulf %22, %23 : f32
    %25 = arith.addf %21, %24 : f32
    %26 = img.read %histogram_update[%x_2, %y_2, %z_1, %c_2] : !img.func<4xf32>
    %27 = arith.constant 6.000000e+00 : f32
    %28 = arith.mulf %26, %27 : f32
    %29 = arith.addf %25, %28 : f32
    %30 = img.read %histogram_update[%x_2, %y_2, %z_1 + 1, %c_2] : !img.func<4xf32>
    %31 = arith.mulf %30, %23 : f32
    %32 = arith.addf %29, %31 : f32
    %33 = img.read %histogram_update[%x_2, %y_2, %z_1 + 2, %c_2] : !img.func<4xf32>
    %34 = arith.addf %32, %33 : f32
    img.yield %34 : f32
  }
  %blurx = img.stage "blurx" (%x_3, %y_3, %z_2, %c_3) -> f32 {
    %35 = img.read %blurz[%x_3 - 2, %y_3, %z_2, %c_3] : !img.func<4xf32>
    %36 = img.read %blurz[%x_3 - 1, %y_3, %z_2, %c_3] : !img.func<4xf32>
    %37 = arith.constant 4.000000e+00 : f32
    %38 = arith.mulf %36, %37 : f32
    %39 = arith.addf %35, %38 : f32
    %40 = img.read %blurz[%x_3, %y_3, %z_2, %c_3] : !img.func<4xf32>
    %41 = arith.constant 6.000000e+00 : f32
    %42 = arith.mulf %40, %41 : f32
    %43 = arith.addf %39, %42 : f32
    %44 = img.read %blurz[%x_3 + 1, %y_3, %z_2, %c_3] : !img.func<4xf32>
    %45 = arith.mulf %44, %37 : f32
    %46 = arith.addf %43, %45 : f32
    %47 = img.read %blurz[%x_3 + 2, %y_3, %z_2, %c_3] : !img.func<4xf32>
    %48 = arith.addf %46, %47 : f32
    img.yield %48 : f32
  }
  %blury = img.stage "blury" (%x_4, %y_4, %z_3, %c_4) -> f32 {
    %49 = img.read %blurx[%x_4, %y_4 - 2, %z_3, %c_4] : !img.func<4xf32>
    %50 = img.read %blurx[%x_4, %y_4 - 1, %z_3, %c_4] : !img.func<4xf32>
    %51 = arith.constant 4.000000e+00 : f32
    %52 = arith.mulf %50, %51 : f32
    %53 = arith.addf %49, %52 : f32
    %54 = img.read %blurx[%x_4, %y_4, %z_3, %c_4] : !img.func<4xf32>
    %55 = arith.constant 6.000000e+00 : f32
    %56 = arith.mulf %54, %55 : f32
    %57 = arith.addf %53, %56 : f32
    %58 = img.read %blurx[%x_4, %y_4 + 1, %z_3, %c_4] : !img.func<4xf32>
    %59 = arith.mulf %58, %51 : f32
    %60 = arith.addf %57, %59 : f32
    %61 = img.read %blurx[%x_4, %y_4 + 2, %z_3, %c_4] : !img.func<4xf32>
    %62 = arith.addf %60, %61 : f32
    img.yield %62 : f32
  }
  %interpolated = img.stage "interpolated" (%x_5, %y_5, %c_5) -> f32 {
    %63 = img.read %image[%x_5, %y_5] : !img.func<2xf32>
    %64 = arith.constant 1.000000e+00 : f32
    %65 = arith.minnumf %63, %64 : f32
    %66 = arith.constant 0.000000e+00 : f32
    %67 = arith.maxnumf %65, %66 : f32
    %68 = arith.constant 1.000000e-01 : f32
    %69 = arith.divf %64, %68 : f32
    %70 = arith.mulf %67, %69 : f32
    %71 = arith.fptosi %70 : f32 to i32
    %72 = arith.index_cast %71 : i32 to index
    %73 = img.read %blury[%x_5 floordiv 8, %y_5 floordiv 8, %72, %c_5] : !img.func<4xf32>
    %74 = arith.index_cast %x_5 : index to i32
    %75 = arith.constant 8 : i32
    %76 = img.mod signed %74, %75 : i32
    %77 = arith.sitofp %76 : i32 to f32
    %78 = arith.constant 8.000000e+00 : f32
    %79 = arith.divf %77, %78 : f32
    %80 = arith.subf %64, %79 : f32
    %81 = arith.mulf %73, %80 : f32
    %82 = img.read %blury[%x_5 floordiv 8 + 1, %y_5 floordiv 8, %72, %c_5] : !img.func<4xf32>
    %83 = arith.mulf %82, %79 : f32
    %84 = arith.addf %81, %83 : f32
    %85 = arith.index_cast %y_5 : index to i32
    %86 = img.mod signed %85, %75 : i32
    %87 = arith.sitofp %86 : i32 to f32
    %88 = arith.divf %87, %78 : f32
    %89 = arith.subf %64, %88 : f32
    %90 = arith.mulf %84, %89 : f32
    %91 = img.read %blury[%x_5 floordiv 8, %y_5 floordiv 8 + 1, %72, %c_5] : !img.func<4xf32>
    %92 = arith.subf %64, %79 : f32
    %93 = arith.mulf %91, %92 : f32
    %94 = img.read %blury[%x_5 floordiv 8 + 1, %y_5 floordiv 8 + 1, %72, %c_5] : !img.func<4xf32>
    %95 = arith.mulf %94, %79 : f32
    %96 = arith.addf %93, %95 : f32
    %97 = arith.mulf %96, %88 : f32
    %98 = arith.addf %90, %97 : f32
    %99 = arith.sitofp %71 : i32 to f32
    %100 = arith.subf %70, %99 : f32
    %101 = arith.subf %64, %100 : f32
    %102 = arith.mulf %98, %101 : f32
    %103 = img.read %blury[%x_5 floordiv 8, %y_5 floordiv 8, %72 + 1, %c_5] : !img.func<4xf32>
    %104 = arith.subf %64, %79 : f32
    %105 = arith.mulf %103, %104 : f32
    %106 = img.read %blury[%x_5 floordiv 8 + 1, %y_5 floordiv 8, %72 + 1, %c_5] : !img.func<4xf32>
    %107 = arith.mulf %106, %79 : f32
    %108 = arith.addf %105, %107 : f32
    %109 = arith.subf %64, %88 : f32
    %110 = arith.mulf %108, %109 : f32
    %111 = img.read %blury[%x_5 floordiv 8, %y_5 floordiv 8 + 1, %72 + 1, %c_5] : !img.func<4xf32>
    %112 = arith.subf %64, %79 : f32
    %113 = arith.mulf %111, %112 : f32
    %114 = img.read %blury[%x_5 floordiv 8 + 1, %y_5 floordiv 8 + 1, %72 + 1, %c_5] : !img.func<4xf32>
    %115 = arith.mulf %114, %79 : f32
    %116 = arith.addf %113, %115 : f32
    %117 = arith.mulf %116, %88 : f32
    %118 = arith.addf %110, %117 : f32
    %119 = arith.mulf %118, %100 : f32
    %120 = arith.addf %102, %119 : f32
    img.yield %120 : f32
  }
  %bilateral_grid = img.stage "bilateral_grid" (%x_6, %y_6) -> f32 {
    %121 = img.read %interpolated[%x_6, %y_6, 0] : !img.func<3xf32>
    %122 = img.read %interpolated[%x_6, %y_6, 1] : !img.func<3xf32>
    %123 = arith.divf %121, %122 : f32
    img.yield %123 : f32
  }
  img.return "bilateral_grid" = %bilateral_grid : !img.func<2xf32>
}
