// RUN: pipeline-opt %s -p 'inline-stages{target=zen3}' --split-input-file | filecheck %s
// RUN: pipeline-opt %s -p 'inline-stages{target=h200}' --split-input-file | filecheck %s --check-prefix=GPU

// Nine places of a column: a CPU keeps rows of a sharpened picture, which would be 36 operations and loads, and computes
// products where they are added. A thread of a GPU has the values of a column in registers.

// CHECK-LABEL: img.pipeline @sharpened
// CHECK:       img.stage "sharpened"
// CHECK:       img.stage "out"
// GPU-NOT:     img.stage "sharpened"
img.pipeline @sharpened {
  %in = img.input "in" : !img.func<2xf32>
  %other = img.input "other" : !img.func<2xf32>
  %s = img.stage "sharpened" (%x, %y) -> f32 {
    %a = img.read %in[%x, %y] : !img.func<2xf32>
    %b = img.read %other[%x, %y] : !img.func<2xf32>
    %c = arith.subf %a, %b : f32
    %d = arith.mulf %c, %c : f32
    %e = arith.addf %a, %d : f32
    img.yield %e : f32
  }
  %out = img.stage "out" (%x, %y) -> f32 {
    %v0 = img.read %s[%x, %y + 0] : !img.func<2xf32>
    %v1 = img.read %s[%x, %y + 1] : !img.func<2xf32>
    %v2 = img.read %s[%x, %y + 2] : !img.func<2xf32>
    %v3 = img.read %s[%x, %y + 3] : !img.func<2xf32>
    %v4 = img.read %s[%x, %y + 4] : !img.func<2xf32>
    %v5 = img.read %s[%x, %y + 5] : !img.func<2xf32>
    %v6 = img.read %s[%x, %y + 6] : !img.func<2xf32>
    %v7 = img.read %s[%x, %y + 7] : !img.func<2xf32>
    %v8 = img.read %s[%x, %y + 8] : !img.func<2xf32>
    %s1 = arith.addf %v0, %v1 : f32
    %s2 = arith.addf %s1, %v2 : f32
    %s3 = arith.addf %s2, %v3 : f32
    %s4 = arith.addf %s3, %v4 : f32
    %s5 = arith.addf %s4, %v5 : f32
    %s6 = arith.addf %s5, %v6 : f32
    %s7 = arith.addf %s6, %v7 : f32
    %s8 = arith.addf %s7, %v8 : f32
    img.yield %s8 : f32
  }
  img.return "out" = %out : !img.func<2xf32>
}

// -----

// CHECK-LABEL: img.pipeline @product
// CHECK-NOT:   img.stage "product"
img.pipeline @product {
  %in = img.input "in" : !img.func<2xf32>
  %other = img.input "other" : !img.func<2xf32>
  %s = img.stage "product" (%x, %y) -> f32 {
    %a = img.read %in[%x, %y] : !img.func<2xf32>
    %b = img.read %other[%x, %y] : !img.func<2xf32>
    %c = arith.mulf %a, %b : f32
    img.yield %c : f32
  }
  %out = img.stage "out" (%x, %y) -> f32 {
    %v0 = img.read %s[%x, %y + 0] : !img.func<2xf32>
    %v1 = img.read %s[%x, %y + 1] : !img.func<2xf32>
    %v2 = img.read %s[%x, %y + 2] : !img.func<2xf32>
    %v3 = img.read %s[%x, %y + 3] : !img.func<2xf32>
    %v4 = img.read %s[%x, %y + 4] : !img.func<2xf32>
    %v5 = img.read %s[%x, %y + 5] : !img.func<2xf32>
    %v6 = img.read %s[%x, %y + 6] : !img.func<2xf32>
    %v7 = img.read %s[%x, %y + 7] : !img.func<2xf32>
    %v8 = img.read %s[%x, %y + 8] : !img.func<2xf32>
    %s1 = arith.addf %v0, %v1 : f32
    %s2 = arith.addf %s1, %v2 : f32
    %s3 = arith.addf %s2, %v3 : f32
    %s4 = arith.addf %s3, %v4 : f32
    %s5 = arith.addf %s4, %v5 : f32
    %s6 = arith.addf %s5, %v6 : f32
    %s7 = arith.addf %s6, %v7 : f32
    %s8 = arith.addf %s7, %v8 : f32
    img.yield %s8 : f32
  }
  img.return "out" = %out : !img.func<2xf32>
}
