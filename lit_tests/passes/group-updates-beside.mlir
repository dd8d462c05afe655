// RUN: pipeline-opt %s -p 'group-stages,group-updates' | filecheck %s
// RUN: pipeline-opt %s -p 'group-stages,group-updates,tile{target=h200}' | filecheck %s --check-prefix=MODELS
// RUN: pipeline-opt %s -p 'group-stages{target=cpu},group-updates{target=cpu}' | filecheck %s --check-prefix=CPU
// RUN: pipeline-opt %s -p 'group-stages,group-updates{max_instructions=0.0}' | filecheck %s --check-prefix=ALONE
// RUN: pipeline-opt %s -p 'group-stages,group-updates{max_steps=8}' | filecheck %s --check-prefix=LONG

// What a sum starts from, and what alone reads it, are computed in its kernel. What alone reads a recurrence is stored in
// its place, transposed.

// CHECK:      %relu = img.group "sum_update" {
// CHECK-NEXT:   %sum = img.stage "sum" (%x, %y) -> f32 {
// CHECK:        %sum1 = img.update "sum_update" (%x_1, %y_1) over (%r in [%0, %nine]) of (%c = %sum : !img.func<2xf32>)
// CHECK:        %relu_1 = img.stage "relu" (%x_2, %y_2) -> f32 {
// CHECK-NEXT:     %v_1 = img.read %sum1[%x_2, %y_2] : !img.func<2xf32>
// CHECK:        img.yield %relu_1 : !img.func<2xf32>
// CHECK-NEXT: } : !img.func<2xf32>
// CHECK:      %start = img.group "start" {
// CHECK:      %turned = img.group "running" {
// CHECK-NEXT:   %running = img.update "running" (%x_4) over (%q in [%one, %n]) of (%c_1 = %start : !img.func<2xf32>) combine [add]
// CHECK:        img.stage "turned" (%x_5, %y_4) -> f32 {
// CHECK-NEXT:     %v_4 = img.read %running[%y_4, %x_5] : !img.func<2xf32>

// MODELS: img.group "sum_update" schedule #schedule.gemm<
// MODELS: img.group "running" schedule #schedule.scan<

// CPU: %relu = img.group "sum_update" {
// CPU: %turned = img.group "running" {
// CPU-NOT: img.group "turned"

// LONG: img.group "sum" {
// LONG: img.group "relu" {
// LONG-NOT: img.group "turned" {

// ALONE: img.group "sum" {
// ALONE: img.group "sum_update" {
// ALONE: img.group "relu" {
// ALONE: img.group "start" {
// ALONE: img.group "running" {
// ALONE: img.group "turned" {
img.pipeline @beside {
  %in = img.input "in" : !img.func<2xf32>
  %n = img.extent 1 of %in : !img.func<2xf32>
  %0 = arith.constant 0 : index
  %one = arith.constant 1 : index
  %nine = arith.constant 9 : index
  %sum = img.stage "sum" (%x, %y) -> f32 {
    %v = img.read %in[%x, 0] : !img.func<2xf32>
    img.yield %v : f32
  }
  %sum1 = img.update "sum_update" (%x, %y) over (%r in [%0, %nine]) of (%c = %sum : !img.func<2xf32>) combine [add] {
    %a = img.read %in[%x, %r] : !img.func<2xf32>
    %b = img.read %in[%r, %y] : !img.func<2xf32>
    %ab = arith.mulf %a, %b : f32
    img.write %ab at [%x, %y] : f32
  }
  %relu = img.stage "relu" (%x, %y) -> f32 {
    %v = img.read %sum1[%x, %y] : !img.func<2xf32>
    %zero = arith.constant 0.0 : f32
    %m = arith.maximumf %v, %zero : f32
    img.yield %m : f32
  }
  %start = img.stage "start" (%x, %y) -> f32 {
    %v = img.read %in[%x, %y] : !img.func<2xf32>
    img.yield %v : f32
  }
  %running = img.update "running" (%x) over (%q in [%one, %n]) of (%c = %start : !img.func<2xf32>) combine [add] {
    %v = img.read %c[%x, %q - 1] : !img.func<2xf32>
    img.write %v at [%x, %q] : f32
  }
  %turned = img.stage "turned" (%x, %y) -> f32 {
    %v = img.read %running[%y, %x] : !img.func<2xf32>
    img.yield %v : f32
  }
  img.return "relu" = %relu : !img.func<2xf32>, "turned" = %turned : !img.func<2xf32>
}
