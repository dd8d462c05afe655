img.pipeline @conv_layer {
  %image = img.input "image" : !img.func<4xf32>
  %filters = img.input "filters" : !img.func<4xf32>
  %bias = img.input "bias" : !img.func<1xf32>
  %conv = img.stage "conv" (%c, %x, %y, %n) -> f32 {
    %0 = img.read %bias[%c] : !img.func<1xf32>
    img.yield %0 : f32
  }
  %1 = arith.constant 0 : index
  %2 = arith.constant 128 : index
  %3 = arith.constant 0 : index
  %4 = arith.constant 3 : index
  %5 = arith.constant 0 : index
  %6 = arith.constant 3 : index
  %conv_update = img.update "conv_update" (%c_1, %x_1, %y_1, %n_1) over (%r.x in [%1, %2], %r.y in [%3, %4], %r.z in [%5, %6]) of (%conv_1 = %conv : !img.func<4xf32>) combine [add] {
    %7 = img.read %filters[%c_1, %r.y, %r.z, %r.x] : !img.func<4xf32>
    %8 = img.read %image[%r.x, %x_1 + %r.y, %y_1 + %r.z, %n_1] : !img.func<4xf32>
    %9 = arith.mulf %7, %8 : f32
    img.write %9 at [%c_1, %x_1, %y_1, %n_1] : f32
  }
  %conv_layer = img.stage "conv_layer" (%c_2, %x_2, %y_2, %n_2) -> f32 bounds #img.box<[0:128, 0:100, 0:80, 0:5]> {
    %10 = arith.constant 0.000000e+00 : f32
    %11 = img.read %conv_update[%c_2, %x_2, %y_2, %n_2] : !img.func<4xf32>
    %12 = arith.maxnumf %10, %11 : f32
    img.yield %12 : f32
  }
  img.return "conv_layer" = %conv_layer : !img.func<4xf32>
}
