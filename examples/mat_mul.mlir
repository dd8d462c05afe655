img.pipeline @mat_mul {
  %a = img.input "a" : !img.func<2xf32>
  %b = img.input "b" : !img.func<2xf32>
  %product = img.stage "product" (%x, %y) -> f32 {
    %0 = arith.constant 0.000000e+00 : f32
    img.yield %0 : f32
  }
  %1 = arith.constant 0 : index
  %2 = arith.constant 1024 : index
  %product_update = img.update "product_update" (%x_1, %y_1) over (%r.x in [%1, %2]) of (%product_1 = %product : !img.func<2xf32>) combine [add] {
    %3 = img.read %a[%x_1, %r.x] : !img.func<2xf32>
    %4 = img.read %b[%r.x, %y_1] : !img.func<2xf32>
    %5 = arith.mulf %3, %4 : f32
    img.write %5 at [%x_1, %y_1] : f32
  }
  %mat_mul = img.stage "mat_mul" (%x_2, %y_2) -> f32 bounds #img.box<[0:1024, 0:1024]> {
    %6 = img.read %product_update[%x_2, %y_2] : !img.func<2xf32>
    img.yield %6 : f32
  }
  img.return "mat_mul" = %mat_mul : !img.func<2xf32>
}
