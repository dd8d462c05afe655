img.pipeline @interpolate {
  %image = img.input "image" bounds #img.box<[*, *, 0:4]> : !img.func<3xf32>
  %image_1 = img.boundary repeat_edge %image dims [0, 1, 2] : !img.func<3xf32>
  %downsampled = img.stage "downsampled_0" (%x, %y, %c) -> f32 {
    %0 = arith.index_cast %c : index to i32
    %1 = arith.constant 3 : i32
    %2 = arith.cmpi slt, %0, %1 : i32
    %3 = img.read %image_1[%x, %y, %c] : !img.func<3xf32>
    %4 = img.read %image_1[%x, %y, 3] : !img.func<3xf32>
    %5 = arith.mulf %3, %4 : f32
    %6 = img.read %image_1[%x, %y, 3] : !img.func<3xf32>
    %7 = arith.select %2, %5, %6 : f32
    img.yield %7 : f32
  }
  %downx = img.stage "downx_1" (%x_1, %y_1, %c_1) -> f32 {
    %8 = img.read %downsampled[%x_1 * 2 - 1, %y_1, %c_1] : !img.func<3xf32>
    %9 = arith.constant 2.000000e+00 : f32
    %10 = img.read %downsampled[%x_1 * 2, %y_1, %c_1] : !img.func<3xf32>
    %11 = arith.mulf %9, %10 : f32
    %12 = arith.addf %8, %11 : f32
    %13 = img.read %downsampled[%x_1 * 2 + 1, %y_1, %c_1] : !img.func<3xf32>
    %14 = arith.addf %12, %13 : f32
    %15 = arith.constant 2.500000e-01 : f32
    %16 = arith.mulf %14, %15 : f32
    img.yield %16 : f32
  }
  %downsampled_1 = img.stage "downsampled_1" (%x_2, %y_2, %c_2) -> f32 {
    %17 = img.read %downx[%x_2, %y_2 * 2 - 1, %c_2] : !img.func<3xf32>
    %18 = arith.constant 2.000000e+00 : f32
    %19 = img.read %downx[%x_2, %y_2 * 2, %c_2] : !img.func<3xf32>
    %20 = arith.mulf %18, %19 : f32
    %21 = arith.addf %17, %20 : f32
    %22 = img.read %downx[%x_2, %y_2 * 2 + 1, %c_2] : !img.func<3xf32>
    %23 = arith.addf %21, %22 : f32
    %24 = arith.constant 2.500000e-01 : f32
    %25 = arith.mulf %23, %24 : f32
    img.yield %25 : f32
  }
  %downx_1 = img.stage "downx_2" (%x_3, %y_3, %c_3) -> f32 {
    %26 = img.read %downsampled_1[%x_3 * 2 - 1, %y_3, %c_3] : !img.func<3xf32>
    %27 = arith.constant 2.000000e+00 : f32
    %28 = img.read %downsampled_1[%x_3 * 2, %y_3, %c_3] : !img.func<3xf32>
    %29 = arith.mulf %27, %28 : f32
    %30 = arith.addf %26, %29 : f32
    %31 = img.read %downsampled_1[%x_3 * 2 + 1, %y_3, %c_3] : !img.func<3xf32>
    %32 = arith.addf %30, %31 : f32
    %33 = arith.constant 2.500000e-01 : f32
    %34 = arith.mulf %32, %33 : f32
    img.yield %34 : f32
  }
  %downsampled_2 = img.stage "downsampled_2" (%x_4, %y_4, %c_4) -> f32 {
    %35 = img.read %downx_1[%x_4, %y_4 * 2 - 1, %c_4] : !img.func<3xf32>
    %36 = arith.constant 2.000000e+00 : f32
    %37 = img.read %downx_1[%x_4, %y_4 * 2, %c_4] : !img.func<3xf32>
    %38 = arith.mulf %36, %37 : f32
    %39 = arith.addf %35, %38 : f32
    %40 = img.read %downx_1[%x_4, %y_4 * 2 + 1, %c_4] : !img.func<3xf32>
    %41 = arith.addf %39, %40 : f32
    %42 = arith.constant 2.500000e-01 : f32
    %43 = arith.mulf %41, %42 : f32
    img.yield %43 : f32
  }
  %downx_2 = img.stage "downx_3" (%x_5, %y_5, %c_5) -> f32 {
    %44 = img.read %downsampled_2[%x_5 * 2 - 1, %y_5, %c_5] : !img.func<3xf32>
    %45 = arith.constant 2.000000e+00 : f32
    %46 = img.read %downsampled_2[%x_5 * 2, %y_5, %c_5] : !img.func<3xf32>
    %47 = arith.mulf %45, %46 : f32
    %48 = arith.addf %44, %47 : f32
    %49 = img.read %downsampled_2[%x_5 * 2 + 1, %y_5, %c_5] : !img.func<3xf32>
    %50 = arith.addf %48, %49 : f32
    %51 = arith.constant 2.500000e-01 : f32
    %52 = arith.mulf %50, %51 : f32
    img.yield %52 : f32
  }
  %downsampled_3 = img.stage "downsampled_3" (%x_6, %y_6, %c_6) -> f32 {
    %53 = img.read %downx_2[%x_6, %y_6 * 2 - 1, %c_6] : !img.func<3xf32>
    %54 = arith.constant 2.000000e+00 : f32
    %55 = img.read %downx_2[%x_6, %y_6 * 2, %c_6] : !img.func<3xf32>
    %56 = arith.mulf %54, %55 : f32
    %57 = arith.addf %53, %56 : f32
    %58 = img.read %downx_2[%x_6, %y_6 * 2 + 1, %c_6] : !img.func<3xf32>
    %59 = arith.addf %57, %58 : f32
    %60 = arith.constant 2.500000e-01 : f32
    %61 = arith.mulf %59, %60 : f32
    img.yield %61 : f32
  }
  %62 = img.extent 0 of %image : !img.func<3xf32>
  %63 = img.extent 1 of %image : !img.func<3xf32>
  %bounded = img.stage "bounded" (%x_7, %y_7, %c_7) -> f32 {
    %64 = arith.index_cast %x_7 : index to i32
    %65 = arith.index_cast %62 : index to i32
    %66 = arith.constant 8 : i32
    %67 = img.div signed %65, %66 : i32
    %68 = arith.minsi %64, %67 : i32
    %69 = arith.constant 0 : i32
    %70 = arith.maxsi %68, %69 : i32
    %71 = arith.index_cast %y_7 : index to i32
    %72 = arith.index_cast %63 : index to i32
    %73 = img.div signed %72, %66 : i32
    %74 = arith.minsi %71, %73 : i32
    %75 = arith.maxsi %74, %69 : i32
    %76 = arith.index_cast %70 : i32 to index
    %77 = arith.index_cast %75 : i32 to index
    %78 = img.read %downsampled_3[%76, %77, %c_7] : !img.func<3xf32>
    img.yield %78 : f32
  }
  %downx_3 = img.stage "downx_4" (%x_8, %y_8, %c_8) -> f32 {
    %79 = img.read %bounded[%x_8 * 2 - 1, %y_8, %c_8] : !img.func<3xf32>
    %80 = arith.constant 2.000000e+00 : f32
    %81 = img.read %bounded[%x_8 * 2, %y_8, %c_8] : !img.func<3xf32>
    %82 = arith.mulf %80, %81 : f32
    %83 = arith.addf %79, %82 : f32
    %84 = img.read %bounded[%x_8 * 2 + 1, %y_8, %c_8] : !img.func<3xf32>
    %85 = arith.addf %83, %84 : f32
    %86 = arith.constant 2.500000e-01 : f32
    %87 = arith.mulf %85, %86 : f32
    img.yield %87 : f32
  }
  %downsampled_4 = img.stage "downsampled_4" (%x_9, %y_9, %c_9) -> f32 {
    %88 = img.read %downx_3[%x_9, %y_9 * 2 - 1, %c_9] : !img.func<3xf32>
    %89 = arith.constant 2.000000e+00 : f32
    %90 = img.read %downx_3[%x_9, %y_9 * 2, %c_9] : !img.func<3xf32>
    %91 = arith.mulf %89, %90 : f32
    %92 = arith.addf %88, %91 : f32
    %93 = img.read %downx_3[%x_9, %y_9 * 2 + 1, %c_9] : !img.func<3xf32>
    %94 = arith.addf %92, %93 : f32
    %95 = arith.constant 2.500000e-01 : f32
    %96 = arith.mulf %94, %95 : f32
    img.yield %96 : f32
  }
  %downx_4 = img.stage "downx_5" (%x_10, %y_10, %c_10) -> f32 {
    %97 = img.read %downsampled_4[%x_10 * 2 - 1, %y_10, %c_10] : !img.func<3xf32>
    %98 = arith.constant 2.000000e+00 : f32
    %99 = img.read %downsampled_4[%x_10 * 2, %y_10, %c_10] : !img.func<3xf32>
    %100 = arith.mulf %98, %99 : f32
    %101 = arith.addf %97, %100 : f32
    %102 = img.read %downsampled_4[%x_10 * 2 + 1, %y_10, %c_10] : !img.func<3xf32>
    %103 = arith.addf %101, %102 : f32
    %104 = arith.constant 2.500000e-01 : f32
    %105 = arith.mulf %103, %104 : f32
    img.yield %105 : f32
  }
  %downsampled_5 = img.stage "downsampled_5" (%x_11, %y_11, %c_11) -> f32 {
    %106 = img.read %downx_4[%x_11, %y_11 * 2 - 1, %c_11] : !img.func<3xf32>
    %107 = arith.constant 2.000000e+00 : f32
    %108 = img.read %downx_4[%x_11, %y_11 * 2, %c_11] : !img.func<3xf32>
    %109 = arith.mulf %107, %108 : f32
    %110 = arith.addf %106, %109 : f32
    %111 = img.read %downx_4[%x_11, %y_11 * 2 + 1, %c_11] : !img.func<3xf32>
    %112 = arith.addf %110, %111 : f32
    %113 = arith.constant 2.500000e-01 : f32
    %114 = arith.mulf %112, %113 : f32
    img.yield %114 : f32
  }
  %downx_5 = img.stage "downx_6" (%x_12, %y_12, %c_12) -> f32 {
    %115 = img.read %downsampled_5[%x_12 * 2 - 1, %y_12, %c_12] : !img.func<3xf32>
    %116 = arith.constant 2.000000e+00 : f32
    %117 = img.read %downsampled_5[%x_12 * 2, %y_12, %c_12] : !img.func<3xf32>
    %118 = arith.mulf %116, %117 : f32
    %119 = arith.addf %115, %118 : f32
    %120 = img.read %downsampled_5[%x_12 * 2 + 1, %y_12, %c_12] : !img.func<3xf32>
    %121 = arith.addf %119, %120 : f32
    %122 = arith.constant 2.500000e-01 : f32
    %123 = arith.mulf %121, %122 : f32
    img.yield %123 : f32
  }
  %downsampled_6 = img.stage "downsampled_6" (%x_13, %y_13, %c_13) -> f32 {
    %124 = img.read %downx_5[%x_13, %y_13 * 2 - 1, %c_13] : !img.func<3xf32>
    %125 = arith.constant 2.000000e+00 : f32
    %126 = img.read %downx_5[%x_13, %y_13 * 2, %c_13] : !img.func<3xf32>
    %127 = arith.mulf %125, %126 : f32
    %128 = arith.addf %124, %127 : f32
    %129 = img.read %downx_5[%x_13, %y_13 * 2 + 1, %c_13] : !img.func<3xf32>
    %130 = arith.addf %128, %129 : f32
    %131 = arith.constant 2.500000e-01 : f32
    %132 = arith.mulf %130, %131 : f32
    img.yield %132 : f32
  }
  %downx_6 = img.stage "downx_7" (%x_14, %y_14, %c_14) -> f32 {
    %133 = img.read %downsampled_6[%x_14 * 2 - 1, %y_14, %c_14] : !img.func<3xf32>
    %134 = arith.constant 2.000000e+00 : f32
    %135 = img.read %downsampled_6[%x_14 * 2, %y_14, %c_14] : !img.func<3xf32>
    %136 = arith.mulf %134, %135 : f32
    %137 = arith.addf %133, %136 : f32
    %138 = img.read %downsampled_6[%x_14 * 2 + 1, %y_14, %c_14] : !img.func<3xf32>
    %139 = arith.addf %137, %138 : f32
    %140 = arith.constant 2.500000e-01 : f32
    %141 = arith.mulf %139, %140 : f32
    img.yield %141 : f32
  }
  %downsampled_7 = img.stage "downsampled_7" (%x_15, %y_15, %c_15) -> f32 {
    %142 = img.read %downx_6[%x_15, %y_15 * 2 - 1, %c_15] : !img.func<3xf32>
    %143 = arith.constant 2.000000e+00 : f32
    %144 = img.read %downx_6[%x_15, %y_15 * 2, %c_15] : !img.func<3xf32>
    %145 = arith.mulf %143, %144 : f32
    %146 = arith.addf %142, %145 : f32
    %147 = img.read %downx_6[%x_15, %y_15 * 2 + 1, %c_15] : !img.func<3xf32>
    %148 = arith.addf %146, %147 : f32
    %149 = arith.constant 2.500000e-01 : f32
    %150 = arith.mulf %148, %149 : f32
    img.yield %150 : f32
  }
  %downx_7 = img.stage "downx_8" (%x_16, %y_16, %c_16) -> f32 {
    %151 = img.read %downsampled_7[%x_16 * 2 - 1, %y_16, %c_16] : !img.func<3xf32>
    %152 = arith.constant 2.000000e+00 : f32
    %153 = img.read %downsampled_7[%x_16 * 2, %y_16, %c_16] : !img.func<3xf32>
    %154 = arith.mulf %152, %153 : f32
    %155 = arith.addf %151, %154 : f32
    %156 = img.read %downsampled_7[%x_16 * 2 + 1, %y_16, %c_16] : !img.func<3xf32>
    %157 = arith.addf %155, %156 : f32
    %158 = arith.constant 2.500000e-01 : f32
    %159 = arith.mulf %157, %158 : f32
    img.yield %159 : f32
  }
  %downsampled_8 = img.stage "downsampled_8" (%x_17, %y_17, %c_17) -> f32 {
    %160 = img.read %downx_7[%x_17, %y_17 * 2 - 1, %c_17] : !img.func<3xf32>
    %161 = arith.constant 2.000000e+00 : f32
    %162 = img.read %downx_7[%x_17, %y_17 * 2, %c_17] : !img.func<3xf32>
    %163 = arith.mulf %161, %162 : f32
    %164 = arith.addf %160, %163 : f32
    %165 = img.read %downx_7[%x_17, %y_17 * 2 + 1, %c_17] : !img.func<3xf32>
    %166 = arith.addf %164, %165 : f32
    %167 = arith.constant 2.500000e-01 : f32
    %168 = arith.mulf %166, %167 : f32
    img.yield %168 : f32
  }
  %downx_8 = img.stage "downx_9" (%x_18, %y_18, %c_18) -> f32 {
    %169 = img.read %downsampled_8[%x_18 * 2 - 1, %y_18, %c_18] : !img.func<3xf32>
    %170 = arith.constant 2.000000e+00 : f32
    %171 = img.read %downsampled_8[%x_18 * 2, %y_18, %c_18] : !img.func<3xf32>
    %172 = arith.mulf %170, %171 : f32
    %173 = arith.addf %169, %172 : f32
    %174 = img.read %downsampled_8[%x_18 * 2 + 1, %y_18, %c_18] : !img.func<3xf32>
    %175 = arith.addf %173, %174 : f32
    %176 = arith.constant 2.500000e-01 : f32
    %177 = arith.mulf %175, %176 : f32
    img.yield %177 : f32
  }
  %downsampled_9 = img.stage "downsampled_9" (%x_19, %y_19, %c_19) -> f32 {
    %178 = img.read %downx_8[%x_19, %y_19 * 2 - 1, %c_19] : !img.func<3xf32>
    %179 = arith.constant 2.000000e+00 : f32
    %180 = img.read %downx_8[%x_19, %y_19 * 2, %c_19] : !img.func<3xf32>
    %181 = arith.mulf %179, %180 : f32
    %182 = arith.addf %178, %181 : f32
    %183 = img.read %downx_8[%x_19, %y_19 * 2 + 1, %c_19] : !img.func<3xf32>
    %184 = arith.addf %182, %183 : f32
    %185 = arith.constant 2.500000e-01 : f32
    %186 = arith.mulf %184, %185 : f32
    img.yield %186 : f32
  }
  %interpolated = img.stage "interpolated_9" (%x_20, %y_20, %c_20) -> f32 {
    %187 = img.read %downsampled_9[%x_20, %y_20, %c_20] : !img.func<3xf32>
    img.yield %187 : f32
  }
  %upsampledx = img.stage "upsampledx_8" (%x_21, %y_21, %c_21) -> f32 {
    %188 = img.read %interpolated[%x_21 floordiv 2, %y_21, %c_21] : !img.func<3xf32>
    %189 = img.read %interpolated[(%x_21 + 1) floordiv 2, %y_21, %c_21] : !img.func<3xf32>
    %190 = arith.addf %188, %189 : f32
    %191 = arith.constant 2.000000e+00 : f32
    %192 = arith.divf %190, %191 : f32
    img.yield %192 : f32
  }
  %upsampled = img.stage "upsampled_8" (%x_22, %y_22, %c_22) -> f32 {
    %193 = img.read %upsampledx[%x_22, %y_22 floordiv 2, %c_22] : !img.func<3xf32>
    %194 = img.read %upsampledx[%x_22, (%y_22 + 1) floordiv 2, %c_22] : !img.func<3xf32>
    %195 = arith.addf %193, %194 : f32
    %196 = arith.constant 2.000000e+00 : f32
    %197 = arith.divf %195, %196 : f32
    img.yield %197 : f32
  }
  %interpolated_1 = img.stage "interpolated_8" (%x_23, %y_23, %c_23) -> f32 {
    %198 = img.read %downsampled_8[%x_23, %y_23, %c_23] : !img.func<3xf32>
    %199 = arith.constant 1.000000e+00 : f32
    %200 = img.read %downsampled_8[%x_23, %y_23, 3] : !img.func<3xf32>
    %201 = arith.subf %199, %200 : f32
    %202 = img.read %upsampled[%x_23, %y_23, %c_23] : !img.func<3xf32>
    %203 = arith.mulf %201, %202 : f32
    %204 = arith.addf %198, %203 : f32
    img.yield %204 : f32
  }
  %upsampledx_1 = img.stage "upsampledx_7" (%x_24, %y_24, %c_24) -> f32 {
    %205 = img.read %interpolated_1[%x_24 floordiv 2, %y_24, %c_24] : !img.func<3xf32>
    %206 = img.read %interpolated_1[(%x_24 + 1) floordiv 2, %y_24, %c_24] : !img.func<3xf32>
    %207 = arith.addf %205, %206 : f32
    %208 = arith.constant 2.000000e+00 : f32
    %209 = arith.divf %207, %208 : f32
    img.yield %209 : f32
  }
  %upsampled_1 = img.stage "upsampled_7" (%x_25, %y_25, %c_25) -> f32 {
    %210 = img.read %upsampledx_1[%x_25, %y_25 floordiv 2, %c_25] : !img.func<3xf32>
    %211 = img.read %upsampledx_1[%x_25, (%y_25 + 1) floordiv 2, %c_25] : !img.func<3xf32>
    %212 = arith.addf %210, %211 : f32
    %213 = arith.constant 2.000000e+00 : f32
    %214 = arith.divf %212, %213 : f32
    img.yield %214 : f32
  }
  %interpolated_2 = img.stage "interpolated_7" (%x_26, %y_26, %c_26) -> f32 {
    %215 = img.read %downsampled_7[%x_26, %y_26, %c_26] : !img.func<3xf32>
    %216 = arith.constant 1.000000e+00 : f32
    %217 = img.read %downsampled_7[%x_26, %y_26, 3] : !img.func<3xf32>
    %218 = arith.subf %216, %217 : f32
    %219 = img.read %upsampled_1[%x_26, %y_26, %c_26] : !img.func<3xf32>
    %220 = arith.mulf %218, %219 : f32
    %221 = arith.addf %215, %220 : f32
    img.yield %221 : f32
  }
  %upsampledx_2 = img.stage "upsampledx_6" (%x_27, %y_27, %c_27) -> f32 {
    %222 = img.read %interpolated_2[%x_27 floordiv 2, %y_27, %c_27] : !img.func<3xf32>
    %223 = img.read %interpolated_2[(%x_27 + 1) floordiv 2, %y_27, %c_27] : !img.func<3xf32>
    %224 = arith.addf %222, %223 : f32
    %225 = arith.constant 2.000000e+00 : f32
    %226 = arith.divf %224, %225 : f32
    img.yield %226 : f32
  }
  %upsampled_2 = img.stage "upsampled_6" (%x_28, %y_28, %c_28) -> f32 {
    %227 = img.read %upsampledx_2[%x_28, %y_28 floordiv 2, %c_28] : !img.func<3xf32>
    %228 = img.read %upsampledx_2[%x_28, (%y_28 + 1) floordiv 2, %c_28] : !img.func<3xf32>
    %229 = arith.addf %227, %228 : f32
    %230 = arith.constant 2.000000e+00 : f32
    %231 = arith.divf %229, %230 : f32
    img.yield %231 : f32
  }
  %interpolated_3 = img.stage "interpolated_6" (%x_29, %y_29, %c_29) -> f32 {
    %232 = img.read %downsampled_6[%x_29, %y_29, %c_29] : !img.func<3xf32>
    %233 = arith.constant 1.000000e+00 : f32
    %234 = img.read %downsampled_6[%x_29, %y_29, 3] : !img.func<3xf32>
    %235 = arith.subf %233, %234 : f32
    %236 = img.read %upsampled_2[%x_29, %y_29, %c_29] : !img.func<3xf32>
    %237 = arith.mulf %235, %236 : f32
    %238 = arith.addf %232, %237 : f32
    img.yield %238 : f32
  }
  %upsampledx_3 = img.stage "upsampledx_5" (%x_30, %y_30, %c_30) -> f32 {
    %239 = img.read %interpolated_3[%x_30 floordiv 2, %y_30, %c_30] : !img.func<3xf32>
    %240 = img.read %interpolated_3[(%x_30 + 1) floordiv 2, %y_30, %c_30] : !img.func<3xf32>
    %241 = arith.addf %239, %240 : f32
    %242 = arith.constant 2.000000e+00 : f32
    %243 = arith.divf %241, %242 : f32
    img.yield %243 : f32
  }
  %upsampled_3 = img.stage "upsampled_5" (%x_31, %y_31, %c_31) -> f32 {
    %244 = img.read %upsampledx_3[%x_31, %y_31 floordiv 2, %c_31] : !img.func<3xf32>
    %245 = img.read %upsampledx_3[%x_31, (%y_31 + 1) floordiv 2, %c_31] : !img.func<3xf32>
    %246 = arith.addf %244, %245 : f32
    %247 = arith.constant 2.000000e+00 : f32
    %248 = arith.divf %246, %247 : f32
    img.yield %248 : f32
  }
  %interpolated_4 = img.stage "interpolated_5" (%x_32, %y_32, %c_32) -> f32 {
    %249 = img.read %downsampled_5[%x_32, %y_32, %c_32] : !img.func<3xf32>
    %250 = arith.constant 1.000000e+00 : f32
    %251 = img.read %downsampled_5[%x_32, %y_32, 3] : !img.func<3xf32>
    %252 = arith.subf %250, %251 : f32
    %253 = img.read %upsampled_3[%x_32, %y_32, %c_32] : !img.func<3xf32>
    %254 = arith.mulf %252, %253 : f32
    %255 = arith.addf %249, %254 : f32
    img.yield %255 : f32
  }
  %upsampledx_4 = img.stage "upsampledx_4" (%x_33, %y_33, %c_33) -> f32 {
    %256 = img.read %interpolated_4[%x_33 floordiv 2, %y_33, %c_33] : !img.func<3xf32>
    %257 = img.read %interpolated_4[(%x_33 + 1) floordiv 2, %y_33, %c_33] : !img.func<3xf32>
    %258 = arith.addf %256, %257 : f32
    %259 = arith.constant 2.000000e+00 : f32
    %260 = arith.divf %258, %259 : f32
    img.yield %260 : f32
  }
  %upsampled_4 = img.stage "upsampled_4" (%x_34, %y_34, %c_34) -> f32 {
    %261 = img.read %upsampledx_4[%x_34, %y_34 floordiv 2, %c_34] : !img.func<3xf32>
    %262 = img.read %upsampledx_4[%x_34, (%y_34 + 1) floordiv 2, %c_34] : !img.func<3xf32>
    %263 = arith.addf %261, %262 : f32
    %264 = arith.constant 2.000000e+00 : f32
    %265 = arith.divf %263, %264 : f32
    img.yield %265 : f32
  }
  %interpolated_5 = img.stage "interpolated_4" (%x_35, %y_35, %c_35) -> f32 {
    %266 = img.read %downsampled_4[%x_35, %y_35, %c_35] : !img.func<3xf32>
    %267 = arith.constant 1.000000e+00 : f32
    %268 = img.read %downsampled_4[%x_35, %y_35, 3] : !img.func<3xf32>
    %269 = arith.subf %267, %268 : f32
    %270 = img.read %upsampled_4[%x_35, %y_35, %c_35] : !img.func<3xf32>
    %271 = arith.mulf %269, %270 : f32
    %272 = arith.addf %266, %271 : f32
    img.yield %272 : f32
  }
  %upsampledx_5 = img.stage "upsampledx_3" (%x_36, %y_36, %c_36) -> f32 {
    %273 = img.read %interpolated_5[%x_36 floordiv 2, %y_36, %c_36] : !img.func<3xf32>
    %274 = img.read %interpolated_5[(%x_36 + 1) floordiv 2, %y_36, %c_36] : !img.func<3xf32>
    %275 = arith.addf %273, %274 : f32
    %276 = arith.constant 2.000000e+00 : f32
    %277 = arith.divf %275, %276 : f32
    img.yield %277 : f32
  }
  %upsampled_5 = img.stage "upsampled_3" (%x_37, %y_37, %c_37) -> f32 {
    %278 = img.read %upsampledx_5[%x_37, %y_37 floordiv 2, %c_37] : !img.func<3xf32>
    %279 = img.read %upsampledx_5[%x_37, (%y_37 + 1) floordiv 2, %c_37] : !img.func<3xf32>
    %280 = arith.addf %278, %279 : f32
    %281 = arith.constant 2.000000e+00 : f32
    %282 = arith.divf %280, %281 : f32
    img.yield %282 : f32
  }
  %interpolated_6 = img.stage "interpolated_3" (%x_38, %y_38, %c_38) -> f32 {
    %283 = img.read %downsampled_3[%x_38, %y_38, %c_38] : !img.func<3xf32>
    %284 = arith.constant 1.000000e+00 : f32
    %285 = img.read %downsampled_3[%x_38, %y_38, 3] : !img.func<3xf32>
    %286 = arith.subf %284, %285 : f32
    %287 = img.read %upsampled_5[%x_38, %y_38, %c_38] : !img.func<3xf32>
    %288 = arith.mulf %286, %287 : f32
    %289 = arith.addf %283, %288 : f32
    img.yield %289 : f32
  }
  %upsampledx_6 = img.stage "upsampledx_2" (%x_39, %y_39, %c_39) -> f32 {
    %290 = img.read %interpolated_6[%x_39 floordiv 2, %y_39, %c_39] : !img.func<3xf32>
    %291 = img.read %interpolated_6[(%x_39 + 1) floordiv 2, %y_39, %c_39] : !img.func<3xf32>
    %292 = arith.addf %290, %291 : f32
    %293 = arith.constant 2.000000e+00 : f32
    %294 = arith.divf %292, %293 : f32
    img.yield %294 : f32
  }
  %upsampled_6 = img.stage "upsampled_2" (%x_40, %y_40, %c_40) -> f32 {
    %295 = img.read %upsampledx_6[%x_40, %y_40 floordiv 2, %c_40] : !img.func<3xf32>
    %296 = img.read %upsampledx_6[%x_40, (%y_40 + 1) floordiv 2, %c_40] : !img.func<3xf32>
    %297 = arith.addf %295, %296 : f32
    %298 = arith.constant 2.000000e+00 : f32
    %299 = arith.divf %297, %298 : f32
    img.yield %299 : f32
  }
  %interpolated_7 = img.stage "interpolated_2" (%x_41, %y_41, %c_41) -> f32 {
    %300 = img.read %downsampled_2[%x_41, %y_41, %c_41] : !img.func<3xf32>
    %301 = arith.constant 1.000000e+00 : f32
    %302 = img.read %downsampled_2[%x_41, %y_41, 3] : !img.func<3xf32>
    %303 = arith.subf %301, %302 : f32
    %304 = img.read %upsampled_6[%x_41, %y_41, %c_41] : !img.func<3xf32>
    %305 = arith.mulf %303, %304 : f32
    %306 = arith.addf %300, %305 : f32
    img.yield %306 : f32
  }
  %upsampledx_7 = img.stage "upsampledx_1" (%x_42, %y_42, %c_42) -> f32 {
    %307 = img.read %interpolated_7[%x_42 floordiv 2, %y_42, %c_42] : !img.func<3xf32>
    %308 = img.read %interpolated_7[(%x_42 + 1) floordiv 2, %y_42, %c_42] : !img.func<3xf32>
    %309 = arith.addf %307, %308 : f32
    %310 = arith.constant 2.000000e+00 : f32
    %311 = arith.divf %309, %310 : f32
    img.yield %311 : f32
  }
  %upsampled_7 = img.stage "upsampled_1" (%x_43, %y_43, %c_43) -> f32 {
    %312 = img.read %upsampledx_7[%x_43, %y_43 floordiv 2, %c_43] : !img.func<3xf32>
    %313 = img.read %upsampledx_7[%x_43, (%y_43 + 1) floordiv 2, %c_43] : !img.func<3xf32>
    %314 = arith.addf %312, %313 : f32
    %315 = arith.constant 2.000000e+00 : f32
    %316 = arith.divf %314, %315 : f32
    img.yield %316 : f32
  }
  %interpolated_8 = img.stage "interpolated_1" (%x_44, %y_44, %c_44) -> f32 {
    %317 = img.read %downsampled_1[%x_44, %y_44, %c_44] : !img.func<3xf32>
    %318 = arith.constant 1.000000e+00 : f32
    %319 = img.read %downsampled_1[%x_44, %y_44, 3] : !img.func<3xf32>
    %320 = arith.subf %318, %319 : f32
    %321 = img.read %upsampled_7[%x_44, %y_44, %c_44] : !img.func<3xf32>
    %322 = arith.mulf %320, %321 : f32
    %323 = arith.addf %317, %322 : f32
    img.yield %323 : f32
  }
  %upsampledx_8 = img.stage "upsampledx_0" (%x_45, %y_45, %c_45) -> f32 {
    %324 = img.read %interpolated_8[%x_45 floordiv 2, %y_45, %c_45] : !img.func<3xf32>
    %325 = img.read %interpolated_8[(%x_45 + 1) floordiv 2, %y_45, %c_45] : !img.func<3xf32>
    %326 = arith.addf %324, %325 : f32
    %327 = arith.constant 2.000000e+00 : f32
    %328 = arith.divf %326, %327 : f32
    img.yield %328 : f32
  }
  %upsampled_8 = img.stage "upsampled_0" (%x_46, %y_46, %c_46) -> f32 {
    %329 = img.read %upsampledx_8[%x_46, %y_46 floordiv 2, %c_46] : !img.func<3xf32>
    %330 = img.read %upsampledx_8[%x_46, (%y_46 + 1) floordiv 2, %c_46] : !img.func<3xf32>
    %331 = arith.addf %329, %330 : f32
    %332 = arith.constant 2.000000e+00 : f32
    %333 = arith.divf %331, %332 : f32
    img.yield %333 : f32
  }
  %interpolated_9 = img.stage "interpolated_0" (%x_47, %y_47, %c_47) -> f32 {
    %334 = img.read %downsampled[%x_47, %y_47, %c_47] : !img.func<3xf32>
    %335 = arith.constant 1.000000e+00 : f32
    %336 = img.read %downsampled[%x_47, %y_47, 3] : !img.func<3xf32>
    %337 = arith.subf %335, %336 : f32
    %338 = img.read %upsampled_8[%x_47, %y_47, %c_47] : !img.func<3xf32>
    %339 = arith.mulf %337, %338 : f32
    %340 = arith.addf %334, %339 : f32
    img.yield %340 : f32
  }
  %interpolate = img.stage "interpolate" (%x_48, %y_48, %c_48) -> f32 bounds #img.box<[*, *, 0:3]> {
    %341 = img.read %interpolated_9[%x_48, %y_48, %c_48] : !img.func<3xf32>
    %342 = img.read %interpolated_9[%x_48, %y_48, 3] : !img.func<3xf32>
    %343 = arith.divf %341, %342 : f32
    img.yield %343 : f32
  }
  img.return "interpolate" = %interpolate : !img.func<3xf32>
}
