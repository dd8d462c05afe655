// What is printed of nvgpu's copies parses back, and means the same to the real mlir-opt.

// RUN: TILEFUSE_ROUNDTRIP
// RUN: TILEFUSE_GENERIC_ROUNDTRIP
// RUN: pipeline-opt %s | mlir-opt | filecheck %s
// RUN: pipeline-opt %s --print-op-generic | mlir-opt | filecheck %s

// CHECK-LABEL: func.func @copies(
// CHECK:         nvgpu.device_async_copy {{%.*}}[{{%.*}}, {{%.*}}], {{%.*}}[{{%.*}}], 4 {bypassL1} : memref<?x?xf32, strided<[?, 1]>> to memref<64xf32, 3{{.*}}>
// CHECK:         nvgpu.device_async_copy {{%.*}}[{{%.*}}, {{%.*}}], {{%.*}}[{{%.*}}], 1 : memref<?x?xf32, strided<[?, 1]>> to memref<64xf32, 3{{.*}}>
// CHECK:         [[G:%.*]] = nvgpu.device_async_create_group
// CHECK:         nvgpu.device_async_wait [[G]] {numGroups = 1 : i32}
func.func @copies(%in: memref<?x?xf32, strided<[?, 1]>>, %i: index) {
  %s = memref.alloca() : memref<64xf32, 3>
  %a = nvgpu.device_async_copy %in[%i, %i], %s[%i], 4 {bypassL1} : memref<?x?xf32, strided<[?, 1]>> to memref<64xf32, 3>
  %b = nvgpu.device_async_copy %in[%i, %i], %s[%i], 1 : memref<?x?xf32, strided<[?, 1]>> to memref<64xf32, 3>
  %g = nvgpu.device_async_create_group
  nvgpu.device_async_wait %g {numGroups = 1 : i32}
  func.return
}

// CHECK-LABEL: func.func @then_a_value(
// CHECK:         nvgpu.device_async_create_group
// CHECK-NEXT:    arith.addi
// CHECK:         nvgpu.device_async_create_group {{%.*}}
// CHECK-NEXT:    arith.addi
func.func @then_a_value(%t: !nvgpu.device.async.token, %i: index) -> index {
  %g = nvgpu.device_async_create_group {}
  %x = arith.addi %i, %i : index
  %h = nvgpu.device_async_create_group %t, %t
  %y = arith.addi %x, %i : index
  func.return %y : index
}

// CHECK-LABEL: func.func @pass_on(
// CHECK-SAME:    !nvgpu.device.async.token
func.func @pass_on(%t: !nvgpu.device.async.token) {
  func.return
}
