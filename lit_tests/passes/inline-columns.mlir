// RUN: pipeline-opt %s -p 'inline-columns{target=emerald_rapids extent=8192,8192}' | filecheck %s
// RUN: pipeline-opt %s -p 'inline-columns{target=emerald_rapids extent=512,512}' | filecheck %s --check-prefix=NEAR

// Three rows of a mean are read in one column: it is computed where they are read, if pictures come from main memory.
// What is read in two columns, or by two stages, stays, as does what is read in so many rows that most would be computed
// again.

// CHECK-LABEL: @blur
// NEAR-LABEL: @blur
img.pipeline @blur {
  // CHECK:      img.group "blur_y"
  // CHECK-NEXT:   img.stage "blur_y" (%x, %y) -> f32 attributes {shares_rows} {
  // CHECK:          img.read %in[%x + 1, %y]
  // CHECK:          img.read %in[%x + 1, %y + 1]
  // CHECK:          img.read %in[%x + 1, %y + 2]
  // NEAR:         img.stage "blur_x"
  // NEAR:         img.stage "blur_y" (%x_1, %y_1) -> f32 {
  %in = img.input "in" : !img.func<2xf32>
  %out = img.group "blur_y" {
    %blur_x = img.stage "blur_x" (%x, %y) -> f32 {
      %a = img.read %in[%x, %y] : !img.func<2xf32>
      %b = img.read %in[%x + 1, %y] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    %blur_y = img.stage "blur_y" (%x, %y) -> f32 {
      %a = img.read %blur_x[%x, %y] : !img.func<2xf32>
      %b = img.read %blur_x[%x, %y + 1] : !img.func<2xf32>
      %c = img.read %blur_x[%x, %y + 2] : !img.func<2xf32>
      %ab = arith.addf %a, %b : f32
      %s = arith.addf %ab, %c : f32
      img.yield %s : f32
    }
    img.yield %blur_y : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %out : !img.func<2xf32>
}

// CHECK-LABEL: @columns
img.pipeline @columns {
  // CHECK: img.stage "two_columns"
  // CHECK: img.stage "sum"
  %in = img.input "in" : !img.func<2xf32>
  %out = img.group "sum" {
    %p = img.stage "two_columns" (%x, %y) -> f32 {
      %a = img.read %in[%x, %y] : !img.func<2xf32>
      %b = img.read %in[%x + 1, %y] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    %sum = img.stage "sum" (%x, %y) -> f32 {
      %a = img.read %p[%x, %y] : !img.func<2xf32>
      %b = img.read %p[%x + 1, %y + 1] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    img.yield %sum : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %out : !img.func<2xf32>
}

// CHECK-LABEL: @readers
img.pipeline @readers {
  // CHECK: img.stage "two_readers"
  // CHECK: img.stage "down"
  // CHECK: img.stage "sum"
  %in = img.input "in" : !img.func<2xf32>
  %out = img.group "sum" {
    %p = img.stage "two_readers" (%x, %y) -> f32 {
      %a = img.read %in[%x, %y] : !img.func<2xf32>
      %b = img.read %in[%x + 1, %y] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    %down = img.stage "down" (%x, %y) -> f32 {
      %a = img.read %p[%x, %y] : !img.func<2xf32>
      %b = img.read %p[%x, %y + 1] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    %sum = img.stage "sum" (%x, %y) -> f32 {
      %a = img.read %down[%x + 1, %y] : !img.func<2xf32>
      %b = img.read %down[%x, %y] : !img.func<2xf32>
      %c = img.read %p[%x, %y] : !img.func<2xf32>
      %ab = arith.addf %a, %b : f32
      %s = arith.addf %ab, %c : f32
      img.yield %s : f32
    }
    img.yield %sum : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %out : !img.func<2xf32>
}

// CHECK-LABEL: @tall
img.pipeline @tall {
  // CHECK: img.stage "many_rows"
  // CHECK: img.stage "sum"
  %in = img.input "in" : !img.func<2xf32>
  %out = img.group "sum" {
    %p = img.stage "many_rows" (%x, %y) -> f32 {
      %a = img.read %in[%x, %y] : !img.func<2xf32>
      %b = img.read %in[%x + 1, %y] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    %sum = img.stage "sum" (%x, %y) -> f32 {
      %a = img.read %p[%x, %y - 6] : !img.func<2xf32>
      %b = img.read %p[%x, %y + 6] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    img.yield %sum : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %out : !img.func<2xf32>
}
