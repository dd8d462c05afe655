img.pipeline @demosaic {
  %raw = img.input "raw" : !img.func<2xf32>
  %first = img.input "first" : !img.func<4xf32>
  %layers = img.input "layers" : !img.func<5xf32>
  %last = img.input "last" : !img.func<4xf32>
  %final = img.input "final" : !img.func<4xf32>
  %output_weights = img.input "output_weights" : !img.func<2xf32>
  %raw_1 = img.boundary mirror_interior %raw dims [0, 1] : !img.func<2xf32>
  %packed = img.stage "packed" (%x, %y, %c) -> f32 {
    %0 = img.read %raw_1[%x * 2 + %c mod 2, %y * 2 + %c floordiv 2] : !img.func<2xf32>
    img.yield %0 : f32
  }
  %layer_1_sum = img.stage "layer_1_sum" (%x_1, %y_1, %c_1) -> f32 {
    %1 = img.read %first[%c_1, 1, 1, 4] : !img.func<4xf32>
    img.yield %1 : f32
  }
  %2 = arith.constant 0 : index
  %3 = arith.constant 3 : index
  %4 = arith.constant 0 : index
  %5 = arith.constant 3 : index
  %6 = arith.constant 0 : index
  %7 = arith.constant 4 : index
  %layer_1_sum_update = img.update "layer_1_sum_update" (%x_2, %y_2, %c_2) over (%r.x in [%2, %3], %r.y in [%4, %5], %r.z in [%6, %7]) of (%layer_1_sum_1 = %layer_1_sum : !img.func<3xf32>) combine [add] {
    %8 = img.read %first[%c_2, %r.x, %r.y, %r.z] : !img.func<4xf32>
    %9 = img.read %packed[%x_2 + %r.x - 1, %y_2 + %r.y - 1, %r.z] : !img.func<3xf32>
    %10 = arith.mulf %8, %9 : f32
    img.write %10 at [%x_2, %y_2, %c_2] : f32
  }
  %layer = img.stage "layer_1" (%x_3, %y_3, %c_3) -> f32 {
    %11 = img.read %layer_1_sum_update[%x_3, %y_3, %c_3] : !img.func<3xf32>
    %12 = arith.constant 0.000000e+00 : f32
    %13 = arith.maxnumf %11, %12 : f32
    img.yield %13 : f32
  }
  %layer_2_sum = img.stage "layer_2_sum" (%x_4, %y_4, %c_4) -> f32 {
    %14 = img.read %layers[%c_4, 1, 1, 64, 0] : !img.func<5xf32>
    img.yield %14 : f32
  }
  %15 = arith.constant 0 : index
  %16 = arith.constant 3 : index
  %17 = arith.constant 0 : index
  %18 = arith.constant 3 : index
  %19 = arith.constant 0 : index
  %20 = arith.constant 64 : index
  %layer_2_sum_update = img.update "layer_2_sum_update" (%x_5, %y_5, %c_5) over (%r.x_1 in [%15, %16], %r.y_1 in [%17, %18], %r.z_1 in [%19, %20]) of (%layer_2_sum_1 = %layer_2_sum : !img.func<3xf32>) combine [add] {
    %21 = img.read %layers[%c_5, %r.x_1, %r.y_1, %r.z_1, 0] : !img.func<5xf32>
    %22 = img.read %layer[%x_5 + %r.x_1 - 1, %y_5 + %r.y_1 - 1, %r.z_1] : !img.func<3xf32>
    %23 = arith.mulf %21, %22 : f32
    img.write %23 at [%x_5, %y_5, %c_5] : f32
  }
  %layer_1 = img.stage "layer_2" (%x_6, %y_6, %c_6) -> f32 {
    %24 = img.read %layer_2_sum_update[%x_6, %y_6, %c_6] : !img.func<3xf32>
    %25 = arith.constant 0.000000e+00 : f32
    %26 = arith.maxnumf %24, %25 : f32
    img.yield %26 : f32
  }
  %layer_3_sum = img.stage "layer_3_sum" (%x_7, %y_7, %c_7) -> f32 {
    %27 = img.read %layers[%c_7, 1, 1, 64, 1] : !img.func<5xf32>
    img.yield %27 : f32
  }
  %28 = arith.constant 0 : index
  %29 = arith.constant 3 : index
  %30 = arith.constant 0 : index
  %31 = arith.constant 3 : index
  %32 = arith.constant 0 : index
  %33 = arith.constant 64 : index
  %layer_3_sum_update = img.update "layer_3_sum_update" (%x_8, %y_8, %c_8) over (%r.x_2 in [%28, %29], %r.y_2 in [%30, %31], %r.z_2 in [%32, %33]) of (%layer_3_sum_1 = %layer_3_sum : !img.func<3xf32>) combine [add] {
    %34 = img.read %layers[%c_8, %r.x_2, %r.y_2, %r.z_2, 1] : !img.func<5xf32>
    %35 = img.read %layer_1[%x_8 + %r.x_2 - 1, %y_8 + %r.y_2 - 1, %r.z_2] : !img.func<3xf32>
    %36 = arith.mulf %34, %35 : f32
    img.write %36 at [%x_8, %y_8, %c_8] : f32
  }
  %layer_2 = img.stage "layer_3" (%x_9, %y_9, %c_9) -> f32 {
    %37 = img.read %layer_3_sum_update[%x_9, %y_9, %c_9] : !img.func<3xf32>
    %38 = arith.constant 0.000000e+00 : f32
    %39 = arith.maxnumf %37, %38 : f32
    img.yield %39 : f32
  }
  %layer_4_sum = img.stage "layer_4_sum" (%x_10, %y_10, %c_10) -> f32 {
    %40 = img.read %layers[%c_10, 1, 1, 64, 2] : !img.func<5xf32>
    img.yield %40 : f32
  }
  %41 = arith.constant 0 : index
  %42 = arith.constant 3 : index
  %43 = arith.constant 0 : index
  %44 = arith.constant 3 : index
  %45 = arith.constant 0 : index
  %46 = arith.constant 64 : index
  %layer_4_sum_update = img.update "layer_4_sum_update" (%x_11, %y_11, %c_11) over (%r.x_3 in [%41, %42], %r.y_3 in [%43, %44], %r.z_3 in [%45, %46]) of (%layer_4_sum_1 = %layer_4_sum : !img.func<3xf32>) combine [add] {
    %47 = img.read %layers[%c_11, %r.x_3, %r.y_3, %r.z_3, 2] : !img.func<5xf32>
    %48 = img.read %layer_2[%x_11 + %r.x_3 - 1, %y_11 + %r.y_3 - 1, %r.z_3] : !img.func<3xf32>
    %49 = arith.mulf %47, %48 : f32
    img.write %49 at [%x_11, %y_11, %c_11] : f32
  }
  %layer_3 = img.stage "layer_4" (%x_12, %y_12, %c_12) -> f32 {
    %50 = img.read %layer_4_sum_update[%x_12, %y_12, %c_12] : !img.func<3xf32>
    %51 = arith.constant 0.000000e+00 : f32
    %52 = arith.maxnumf %50, %51 : f32
    img.yield %52 : f32
  }
  %layer_5_sum = img.stage "layer_5_sum" (%x_13, %y_13, %c_13) -> f32 {
    %53 = img.read %layers[%c_13, 1, 1, 64, 3] : !img.func<5xf32>
    img.yield %53 : f32
  }
  %54 = arith.constant 0 : index
  %55 = arith.constant 3 : index
  %56 = arith.constant 0 : index
  %57 = arith.constant 3 : index
  %58 = arith.constant 0 : index
  %59 = arith.constant 64 : index
  %layer_5_sum_update = img.update "layer_5_sum_update" (%x_14, %y_14, %c_14) over (%r.x_4 in [%54, %55], %r.y_4 in [%56, %57], %r.z_4 in [%58, %59]) of (%layer_5_sum_1 = %layer_5_sum : !img.func<3xf32>) combine [add] {
    %60 = img.read %layers[%c_14, %r.x_4, %r.y_4, %r.z_4, 3] : !img.func<5xf32>
    %61 = img.read %layer_3[%x_14 + %r.x_4 - 1, %y_14 + %r.y_4 - 1, %r.z_4] : !img.func<3xf32>
    %62 = arith.mulf %60, %61 : f32
    img.write %62 at [%x_14, %y_14, %c_14] : f32
  }
  %layer_4 = img.stage "layer_5" (%x_15, %y_15, %c_15) -> f32 {
    %63 = img.read %layer_5_sum_update[%x_15, %y_15, %c_15] : !img.func<3xf32>
    %64 = arith.constant 0.000000e+00 : f32
    %65 = arith.maxnumf %63, %64 : f32
    img.yield %65 : f32
  }
  %layer_6_sum = img.stage "layer_6_sum" (%x_16, %y_16, %c_16) -> f32 {
    %66 = img.read %layers[%c_16, 1, 1, 64, 4] : !img.func<5xf32>
    img.yield %66 : f32
  }
  %67 = arith.constant 0 : index
  %68 = arith.constant 3 : index
  %69 = arith.constant 0 : index
  %70 = arith.constant 3 : index
  %71 = arith.constant 0 : index
  %72 = arith.constant 64 : index
  %layer_6_sum_update = img.update "layer_6_sum_update" (%x_17, %y_17, %c_17) over (%r.x_5 in [%67, %68], %r.y_5 in [%69, %70], %r.z_5 in [%71, %72]) of (%layer_6_sum_1 = %layer_6_sum : !img.func<3xf32>) combine [add] {
    %73 = img.read %layers[%c_17, %r.x_5, %r.y_5, %r.z_5, 4] : !img.func<5xf32>
    %74 = img.read %layer_4[%x_17 + %r.x_5 - 1, %y_17 + %r.y_5 - 1, %r.z_5] : !img.func<3xf32>
    %75 = arith.mulf %73, %74 : f32
    img.write %75 at [%x_17, %y_17, %c_17] : f32
  }
  %layer_5 = img.stage "layer_6" (%x_18, %y_18, %c_18) -> f32 {
    %76 = img.read %layer_6_sum_update[%x_18, %y_18, %c_18] : !img.func<3xf32>
    %77 = arith.constant 0.000000e+00 : f32
    %78 = arith.maxnumf %76, %77 : f32
    img.yield %78 : f32
  }
  %layer_7_sum = img.stage "layer_7_sum" (%x_19, %y_19, %c_19) -> f32 {
    %79 = img.read %layers[%c_19, 1, 1, 64, 5] : !img.func<5xf32>
    img.yield %79 : f32
  }
  %80 = arith.constant 0 : index
  %81 = arith.constant 3 : index
  %82 = arith.constant 0 : index
  %83 = arith.constant 3 : index
  %84 = arith.constant 0 : index
  %85 = arith.constant 64 : index
  %layer_7_sum_update = img.update "layer_7_sum_update" (%x_20, %y_20, %c_20) over (%r.x_6 in [%80, %81], %r.y_6 in [%82, %83], %r.z_6 in [%84, %85]) of (%layer_7_sum_1 = %layer_7_sum : !img.func<3xf32>) combine [add] {
    %86 = img.read %layers[%c_20, %r.x_6, %r.y_6, %r.z_6, 5] : !img.func<5xf32>
    %87 = img.read %layer_5[%x_20 + %r.x_6 - 1, %y_20 + %r.y_6 - 1, %r.z_6] : !img.func<3xf32>
    %88 = arith.mulf %86, %87 : f32
    img.write %88 at [%x_20, %y_20, %c_20] : f32
  }
  %layer_6 = img.stage "layer_7" (%x_21, %y_21, %c_21) -> f32 {
    %89 = img.read %layer_7_sum_update[%x_21, %y_21, %c_21] : !img.func<3xf32>
    %90 = arith.constant 0.000000e+00 : f32
    %91 = arith.maxnumf %89, %90 : f32
    img.yield %91 : f32
  }
  %layer_8_sum = img.stage "layer_8_sum" (%x_22, %y_22, %c_22) -> f32 {
    %92 = img.read %layers[%c_22, 1, 1, 64, 6] : !img.func<5xf32>
    img.yield %92 : f32
  }
  %93 = arith.constant 0 : index
  %94 = arith.constant 3 : index
  %95 = arith.constant 0 : index
  %96 = arith.constant 3 : index
  %97 = arith.constant 0 : index
  %98 = arith.constant 64 : index
  %layer_8_sum_update = img.update "layer_8_sum_update" (%x_23, %y_23, %c_23) over (%r.x_7 in [%93, %94], %r.y_7 in [%95, %96], %r.z_7 in [%97, %98]) of (%layer_8_sum_1 = %layer_8_sum : !img.func<3xf32>) combine [add] {
    %99 = img.read %layers[%c_23, %r.x_7, %r.y_7, %r.z_7, 6] : !img.func<5xf32>
    %100 = img.read %layer_6[%x_23 + %r.x_7 - 1, %y_23 + %r.y_7 - 1, %r.z_7] : !img.func<3xf32>
    %101 = arith.mulf %99, %100 : f32
    img.write %101 at [%x_23, %y_23, %c_23] : f32
  }
  %layer_7 = img.stage "layer_8" (%x_24, %y_24, %c_24) -> f32 {
    %102 = img.read %layer_8_sum_update[%x_24, %y_24, %c_24] : !img.func<3xf32>
    %103 = arith.constant 0.000000e+00 : f32
    %104 = arith.maxnumf %102, %103 : f32
    img.yield %104 : f32
  }
  %layer_9_sum = img.stage "layer_9_sum" (%x_25, %y_25, %c_25) -> f32 {
    %105 = img.read %layers[%c_25, 1, 1, 64, 7] : !img.func<5xf32>
    img.yield %105 : f32
  }
  %106 = arith.constant 0 : index
  %107 = arith.constant 3 : index
  %108 = arith.constant 0 : index
  %109 = arith.constant 3 : index
  %110 = arith.constant 0 : index
  %111 = arith.constant 64 : index
  %layer_9_sum_update = img.update "layer_9_sum_update" (%x_26, %y_26, %c_26) over (%r.x_8 in [%106, %107], %r.y_8 in [%108, %109], %r.z_8 in [%110, %111]) of (%layer_9_sum_1 = %layer_9_sum : !img.func<3xf32>) combine [add] {
    %112 = img.read %layers[%c_26, %r.x_8, %r.y_8, %r.z_8, 7] : !img.func<5xf32>
    %113 = img.read %layer_7[%x_26 + %r.x_8 - 1, %y_26 + %r.y_8 - 1, %r.z_8] : !img.func<3xf32>
    %114 = arith.mulf %112, %113 : f32
    img.write %114 at [%x_26, %y_26, %c_26] : f32
  }
  %layer_8 = img.stage "layer_9" (%x_27, %y_27, %c_27) -> f32 {
    %115 = img.read %layer_9_sum_update[%x_27, %y_27, %c_27] : !img.func<3xf32>
    %116 = arith.constant 0.000000e+00 : f32
    %117 = arith.maxnumf %115, %116 : f32
    img.yield %117 : f32
  }
  %layer_10_sum = img.stage "layer_10_sum" (%x_28, %y_28, %c_28) -> f32 {
    %118 = img.read %layers[%c_28, 1, 1, 64, 8] : !img.func<5xf32>
    img.yield %118 : f32
  }
  %119 = arith.constant 0 : index
  %120 = arith.constant 3 : index
  %121 = arith.constant 0 : index
  %122 = arith.constant 3 : index
  %123 = arith.constant 0 : index
  %124 = arith.constant 64 : index
  %layer_10_sum_update = img.update "layer_10_sum_update" (%x_29, %y_29, %c_29) over (%r.x_9 in [%119, %120], %r.y_9 in [%121, %122], %r.z_9 in [%123, %124]) of (%layer_10_sum_1 = %layer_10_sum : !img.func<3xf32>) combine [add] {
    %125 = img.read %layers[%c_29, %r.x_9, %r.y_9, %r.z_9, 8] : !img.func<5xf32>
    %126 = img.read %layer_8[%x_29 + %r.x_9 - 1, %y_29 + %r.y_9 - 1, %r.z_9] : !img.func<3xf32>
    %127 = arith.mulf %125, %126 : f32
    img.write %127 at [%x_29, %y_29, %c_29] : f32
  }
  %layer_9 = img.stage "layer_10" (%x_30, %y_30, %c_30) -> f32 {
    %128 = img.read %layer_10_sum_update[%x_30, %y_30, %c_30] : !img.func<3xf32>
    %129 = arith.constant 0.000000e+00 : f32
    %130 = arith.maxnumf %128, %129 : f32
    img.yield %130 : f32
  }
  %layer_11_sum = img.stage "layer_11_sum" (%x_31, %y_31, %c_31) -> f32 {
    %131 = img.read %layers[%c_31, 1, 1, 64, 9] : !img.func<5xf32>
    img.yield %131 : f32
  }
  %132 = arith.constant 0 : index
  %133 = arith.constant 3 : index
  %134 = arith.constant 0 : index
  %135 = arith.constant 3 : index
  %136 = arith.constant 0 : index
  %137 = arith.constant 64 : index
  %layer_11_sum_update = img.update "layer_11_sum_update" (%x_32, %y_32, %c_32) over (%r.x_10 in [%132, %133], %r.y_10 in [%134, %135], %r.z_10 in [%136, %137]) of (%layer_11_sum_1 = %layer_11_sum : !img.func<3xf32>) combine [add] {
    %138 = img.read %layers[%c_32, %r.x_10, %r.y_10, %r.z_10, 9] : !img.func<5xf32>
    %139 = img.read %layer_9[%x_32 + %r.x_10 - 1, %y_32 + %r.y_10 - 1, %r.z_10] : !img.func<3xf32>
    %140 = arith.mulf %138, %139 : f32
    img.write %140 at [%x_32, %y_32, %c_32] : f32
  }
  %layer_10 = img.stage "layer_11" (%x_33, %y_33, %c_33) -> f32 {
    %141 = img.read %layer_11_sum_update[%x_33, %y_33, %c_33] : !img.func<3xf32>
    %142 = arith.constant 0.000000e+00 : f32
    %143 = arith.maxnumf %141, %142 : f32
    img.yield %143 : f32
  }
  %layer_12_sum = img.stage "layer_12_sum" (%x_34, %y_34, %c_34) -> f32 {
    %144 = img.read %layers[%c_34, 1, 1, 64, 10] : !img.func<5xf32>
    img.yield %144 : f32
  }
  %145 = arith.constant 0 : index
  %146 = arith.constant 3 : index
  %147 = arith.constant 0 : index
  %148 = arith.constant 3 : index
  %149 = arith.constant 0 : index
  %150 = arith.constant 64 : index
  %layer_12_sum_update = img.update "layer_12_sum_update" (%x_35, %y_35, %c_35) over (%r.x_11 in [%145, %146], %r.y_11 in [%147, %148], %r.z_11 in [%149, %150]) of (%layer_12_sum_1 = %layer_12_sum : !img.func<3xf32>) combine [add] {
    %151 = img.read %layers[%c_35, %r.x_11, %r.y_11, %r.z_11, 10] : !img.func<5xf32>
    %152 = img.read %layer_10[%x_35 + %r.x_11 - 1, %y_35 + %r.y_11 - 1, %r.z_11] : !img.func<3xf32>
    %153 = arith.mulf %151, %152 : f32
    img.write %153 at [%x_35, %y_35, %c_35] : f32
  }
  %layer_11 = img.stage "layer_12" (%x_36, %y_36, %c_36) -> f32 {
    %154 = img.read %layer_12_sum_update[%x_36, %y_36, %c_36] : !img.func<3xf32>
    %155 = arith.constant 0.000000e+00 : f32
    %156 = arith.maxnumf %154, %155 : f32
    img.yield %156 : f32
  }
  %layer_13_sum = img.stage "layer_13_sum" (%x_37, %y_37, %c_37) -> f32 {
    %157 = img.read %layers[%c_37, 1, 1, 64, 11] : !img.func<5xf32>
    img.yield %157 : f32
  }
  %158 = arith.constant 0 : index
  %159 = arith.constant 3 : index
  %160 = arith.constant 0 : index
  %161 = arith.constant 3 : index
  %162 = arith.constant 0 : index
  %163 = arith.constant 64 : index
  %layer_13_sum_update = img.update "layer_13_sum_update" (%x_38, %y_38, %c_38) over (%r.x_12 in [%158, %159], %r.y_12 in [%160, %161], %r.z_12 in [%162, %163]) of (%layer_13_sum_1 = %layer_13_sum : !img.func<3xf32>) combine [add] {
    %164 = img.read %layers[%c_38, %r.x_12, %r.y_12, %r.z_12, 11] : !img.func<5xf32>
    %165 = img.read %layer_11[%x_38 + %r.x_12 - 1, %y_38 + %r.y_12 - 1, %r.z_12] : !img.func<3xf32>
    %166 = arith.mulf %164, %165 : f32
    img.write %166 at [%x_38, %y_38, %c_38] : f32
  }
  %layer_12 = img.stage "layer_13" (%x_39, %y_39, %c_39) -> f32 {
    %167 = img.read %layer_13_sum_update[%x_39, %y_39, %c_39] : !img.func<3xf32>
    %168 = arith.constant 0.000000e+00 : f32
    %169 = arith.maxnumf %167, %168 : f32
    img.yield %169 : f32
  }
  %layer_14_sum = img.stage "layer_14_sum" (%x_40, %y_40, %c_40) -> f32 {
    %170 = img.read %layers[%c_40, 1, 1, 64, 12] : !img.func<5xf32>
    img.yield %170 : f32
  }
  %171 = arith.constant 0 : index
  %172 = arith.constant 3 : index
  %173 = arith.constant 0 : index
  %174 = arith.constant 3 : index
  %175 = arith.constant 0 : index
  %176 = arith.constant 64 : index
  %layer_14_sum_update = img.update "layer_14_sum_update" (%x_41, %y_41, %c_41) over (%r.x_13 in [%171, %172], %r.y_13 in [%173, %174], %r.z_13 in [%175, %176]) of (%layer_14_sum_1 = %layer_14_sum : !img.func<3xf32>) combine [add] {
    %177 = img.read %layers[%c_41, %r.x_13, %r.y_13, %r.z_13, 12] : !img.func<5xf32>
    %178 = img.read %layer_12[%x_41 + %r.x_13 - 1, %y_41 + %r.y_13 - 1, %r.z_13] : !img.func<3xf32>
    %179 = arith.mulf %177, %178 : f32
    img.write %179 at [%x_41, %y_41, %c_41] : f32
  }
  %layer_13 = img.stage "layer_14" (%x_42, %y_42, %c_42) -> f32 {
    %180 = img.read %layer_14_sum_update[%x_42, %y_42, %c_42] : !img.func<3xf32>
    %181 = arith.constant 0.000000e+00 : f32
    %182 = arith.maxnumf %180, %181 : f32
    img.yield %182 : f32
  }
  %layer_15_sum = img.stage "layer_15_sum" (%x_43, %y_43, %c_43) -> f32 {
    %183 = img.read %last[%c_43, 1, 1, 64] : !img.func<4xf32>
    img.yield %183 : f32
  }
  %184 = arith.constant 0 : index
  %185 = arith.constant 3 : index
  %186 = arith.constant 0 : index
  %187 = arith.constant 3 : index
  %188 = arith.constant 0 : index
  %189 = arith.constant 64 : index
  %layer_15_sum_update = img.update "layer_15_sum_update" (%x_44, %y_44, %c_44) over (%r.x_14 in [%184, %185], %r.y_14 in [%186, %187], %r.z_14 in [%188, %189]) of (%layer_15_sum_1 = %layer_15_sum : !img.func<3xf32>) combine [add] {
    %190 = img.read %last[%c_44, %r.x_14, %r.y_14, %r.z_14] : !img.func<4xf32>
    %191 = img.read %layer_13[%x_44 + %r.x_14 - 1, %y_44 + %r.y_14 - 1, %r.z_14] : !img.func<3xf32>
    %192 = arith.mulf %190, %191 : f32
    img.write %192 at [%x_44, %y_44, %c_44] : f32
  }
  %layer_14 = img.stage "layer_15" (%x_45, %y_45, %c_45) -> f32 {
    %193 = img.read %layer_15_sum_update[%x_45, %y_45, %c_45] : !img.func<3xf32>
    %194 = arith.constant 0.000000e+00 : f32
    %195 = arith.maxnumf %193, %194 : f32
    img.yield %195 : f32
  }
  %features = img.stage "features" (%x_46, %y_46, %c_46) -> f32 {
    %196 = arith.index_cast %c_46 : index to i32
    %197 = arith.constant 3 : i32
    %198 = arith.cmpi slt, %196, %197 : i32
    %199 = arith.constant 4 : i32
    %200 = arith.muli %199, %196 : i32
    %201 = arith.index_cast %x_46 : index to i32
    %202 = arith.constant 2 : i32
    %203 = img.mod signed %201, %202 : i32
    %204 = arith.addi %200, %203 : i32
    %205 = arith.index_cast %y_46 : index to i32
    %206 = img.mod signed %205, %202 : i32
    %207 = arith.muli %202, %206 : i32
    %208 = arith.addi %204, %207 : i32
    %209 = arith.constant 11 : i32
    %210 = arith.minsi %208, %209 : i32
    %211 = arith.constant 0 : i32
    %212 = arith.maxsi %210, %211 : i32
    %213 = arith.index_cast %212 : i32 to index
    %214 = img.read %layer_14[%x_46 floordiv 2, %y_46 floordiv 2, %213] : !img.func<3xf32>
    %215 = arith.cmpi eq, %196, %197 : i32
    %216 = img.mod signed %201, %202 : i32
    %217 = arith.constant 1 : i32
    %218 = arith.cmpi eq, %216, %217 : i32
    %219 = img.mod signed %205, %202 : i32
    %220 = arith.cmpi eq, %219, %211 : i32
    %221 = arith.andi %218, %220 : i1
    %222 = arith.cmpi eq, %196, %199 : i32
    %223 = arith.addi %201, %205 : i32
    %224 = img.mod signed %223, %202 : i32
    %225 = arith.cmpi eq, %224, %211 : i32
    %226 = img.mod signed %201, %202 : i32
    %227 = arith.cmpi eq, %226, %211 : i32
    %228 = img.mod signed %205, %202 : i32
    %229 = arith.cmpi eq, %228, %217 : i32
    %230 = arith.andi %227, %229 : i1
    %231 = arith.select %222, %225, %230 : i1
    %232 = arith.select %215, %221, %231 : i1
    %233 = img.read %raw_1[%x_46, %y_46] : !img.func<2xf32>
    %234 = arith.constant 0.000000e+00 : f32
    %235 = arith.select %232, %233, %234 : f32
    %236 = arith.select %198, %214, %235 : f32
    img.yield %236 : f32
  }
  %full_sum = img.stage "full_sum" (%x_47, %y_47, %c_47) -> f32 {
    %237 = img.read %final[%c_47, 1, 1, 6] : !img.func<4xf32>
    img.yield %237 : f32
  }
  %238 = arith.constant 0 : index
  %239 = arith.constant 3 : index
  %240 = arith.constant 0 : index
  %241 = arith.constant 3 : index
  %242 = arith.constant 0 : index
  %243 = arith.constant 6 : index
  %full_sum_update = img.update "full_sum_update" (%x_48, %y_48, %c_48) over (%r.x_15 in [%238, %239], %r.y_15 in [%240, %241], %r.z_15 in [%242, %243]) of (%full_sum_1 = %full_sum : !img.func<3xf32>) combine [add] {
    %244 = img.read %final[%c_48, %r.x_15, %r.y_15, %r.z_15] : !img.func<4xf32>
    %245 = img.read %features[%x_48 + %r.x_15 - 1, %y_48 + %r.y_15 - 1, %r.z_15] : !img.func<3xf32>
    %246 = arith.mulf %244, %245 : f32
    img.write %246 at [%x_48, %y_48, %c_48] : f32
  }
  %full = img.stage "full" (%x_49, %y_49, %c_49) -> f32 {
    %247 = img.read %full_sum_update[%x_49, %y_49, %c_49] : !img.func<3xf32>
    %248 = arith.constant 0.000000e+00 : f32
    %249 = arith.maxnumf %247, %248 : f32
    img.yield %249 : f32
  }
  %demosaic = img.stage "demosaic" (%x_50, %y_50, %c_50) -> f32 {
    %250 = img.read %output_weights[%c_50, 64] : !img.func<2xf32>
    img.yield %250 : f32
  }
  %251 = arith.constant 0 : index
  %252 = arith.constant 64 : index
  %demosaic_update = img.update "demosaic_update" (%x_51, %y_51, %c_51) over (%r.x_16 in [%251, %252]) of (%demosaic_1 = %demosaic : !img.func<3xf32>) combine [add] bounds #img.box<[*, *, 0:3]> {
    %253 = img.read %output_weights[%c_51, %r.x_16] : !img.func<2xf32>
    %254 = img.read %full[%x_51, %y_51, %r.x_16] : !img.func<3xf32>
    %255 = arith.mulf %253, %254 : f32
    img.write %255 at [%x_51, %y_51, %c_51] : f32
  }
  img.return "demosaic" = %demosaic_update : !img.func<3xf32>
}
