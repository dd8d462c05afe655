// What is printed of gpu.shuffle parses back, and means the same to the real mlir-opt.

// RUN: pipeline-opt %s | pipeline-opt | filecheck %s
// RUN: pipeline-opt %s --print-op-generic | pipeline-opt | filecheck %s
// RUN: pipeline-opt %s | mlir-opt | filecheck %s
// RUN: pipeline-opt %s --print-op-generic | mlir-opt | filecheck %s

// CHECK-LABEL: func.func @lanes(
// CHECK:         gpu.shuffle up {{%.*}}, {{%.*}}, {{%.*}} : f32
// CHECK:         gpu.shuffle down {{%.*}}, {{%.*}}, {{%.*}} : i32
// CHECK:         gpu.shuffle xor {{%.*}}, {{%.*}}, {{%.*}} : f32
// CHECK:         gpu.shuffle idx {{%.*}}, {{%.*}}, {{%.*}} : f32
func.func @lanes(%a: f32, %n: i32, %offset: i32) -> (f32, i32, i1) {
  %width = arith.constant 32 : i32
  %0, %v0 = gpu.shuffle up %a, %offset, %width : f32
  %1, %v1 = gpu.shuffle down %n, %offset, %width : i32
  %2, %v2 = gpu.shuffle xor %0, %offset, %width : f32
  %3, %v3 = gpu.shuffle idx %2, %offset, %width : f32
  func.return %3, %1, %v3 : f32, i32, i1
}
