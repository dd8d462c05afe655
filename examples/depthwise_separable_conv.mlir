img.pipeline @depthwise_separable_conv {
  %image = img.input "image" : !img.func<4xf32>
  %depthwise = img.input "depthwise" : !img.func<4xf32>
  %pointwise = img.input "pointwise" : !img.func<2xf32>
  %bias = img.input "bias" : !img.func<1xf32>
  %0 = img.extent 1 of %image : !img.func<4xf32>
  %1 = img.extent 2 of %image : !img.func<4xf32>
  %bounded = img.stage "bounded" (%d, %x, %y, %b) -> f32 {
    %2 = arith.index_cast %x : index to i32
    %3 = arith.constant 0 : i32
    %4 = arith.cmpi sge, %2, %3 : i32
    %5 = arith.index_cast %0 : index to i32
    %6 = arith.cmpi slt, %2, %5 : i32
    %7 = arith.andi %4, %6 : i1
    %8 = arith.index_cast %y : index to i32
    %9 = arith.cmpi sge, %8, %3 : i32
    %10 = arith.andi %7, %9 : i1
    %11 = arith.index_cast %1 : index to i32
    %12 = arith.cmpi slt, %8, %11 : i32
    %13 = arith.andi %10, %12 : i1
    %14 = arith.constant 1 : i32
    %15 = arith.subi %5, %14 : i32
    %16 = arith.minsi %2, %15 : i32
    %17 = arith.maxsi %16, %3 : i32
    %18 = arith.subi %11, %14 : i32
    %19 = arith.minsi %8, %18 : i32
    %20 = arith.maxsi %19, %3 : i32
    %21 = arith.index_cast %17 : i32 to index
    %22 = arith.index_cast %20 : i32 to index
    %23 = img.read %image[%d, %21, %22, %b] : !img.func<4xf32>
    %24 = arith.constant 0.000000e+00 : f32
    %25 = arith.select %13, %23, %24 : f32
    img.yield %25 : f32
  }
  %by_channel = img.stage "by_channel" (%d_1, %x_1, %y_1, %b_1) -> f32 {
    %26 = arith.constant 0.000000e+00 : f32
    img.yield %26 : f32
  }
  %27 = arith.constant 0 : index
  %28 = arith.constant 1 : index
  %29 = arith.constant 0 : index
  %30 = arith.constant 3 : index
  %31 = arith.constant 0 : index
  %32 = arith.constant 3 : index
  %by_channel_update = img.update "by_channel_update" (%d_2, %x_2, %y_2, %b_2) over (%r.x in [%27, %28], %r.y in [%29, %30], %r.z in [%31, %32]) of (%by_channel_1 = %by_channel : !img.func<4xf32>) combine [add] {
    %33 = img.read %depthwise[%r.x, %d_2, %r.y, %r.z] : !img.func<4xf32>
    %34 = img.read %bounded[%d_2, %x_2 + %r.y - 1, %y_2 + %r.z - 1, %b_2] : !img.func<4xf32>
    %35 = arith.mulf %33, %34 : f32
    img.write %35 at [%d_2, %x_2, %y_2, %b_2] : f32
  }
  %mixed = img.stage "mixed" (%d_3, %x_3, %y_3, %b_3) -> f32 {
    %36 = img.read %bias[%d_3] : !img.func<1xf32>
    img.yield %36 : f32
  }
  %37 = arith.constant 0 : index
  %38 = arith.constant 32 : index
  %mixed_update = img.update "mixed_update" (%d_4, %x_4, %y_4, %b_4) over (%r.x_1 in [%37, %38]) of (%mixed_1 = %mixed : !img.func<4xf32>) combine [add] {
    %39 = img.read %pointwise[%d_4, %r.x_1] : !img.func<2xf32>
    %40 = img.read %by_channel_update[%r.x_1, %x_4, %y_4, %b_4] : !img.func<4xf32>
    %41 = arith.mulf %39, %40 : f32
    img.write %41 at [%d_4, %x_4, %y_4, %b_4] : f32
  }
  %depthwise_separable_conv = img.stage "depthwise_separable_conv" (%d_5, %x_5, %y_5, %b_5) -> f32 {
    %42 = img.read %mixed_update[%d_5, %x_5, %y_5, %b_5] : !img.func<4xf32>
    %43 = arith.constant 0.000000e+00 : f32
    %44 = arith.maxnumf %42, %43 : f32
    img.yield %44 : f32
  }
  img.return "depthwise_separable_conv" = %depthwise_separable_conv : !img.func<4xf32>
}
