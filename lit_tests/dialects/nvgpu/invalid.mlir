// RUN: TILEFUSE_INVALID

func.func @f(%in: memref<?xf32>, %to: memref<?xf32>, %i: index) {
  // expected-error @below {{a device_async_copy goes to shared memory, which is space 3}}
  %t = nvgpu.device_async_copy %in[%i], %to[%i], 4 : memref<?xf32> to memref<?xf32>
  func.return
}

// -----

func.func @f(%in: memref<?xf32>, %to: memref<64xi32, 3>, %i: index) {
  // expected-error @below {{a device_async_copy does not convert elements}}
  %t = nvgpu.device_async_copy %in[%i], %to[%i], 4 : memref<?xf32> to memref<64xi32, 3>
  func.return
}

// -----

func.func @f(%in: memref<?x?xf32>, %to: memref<64xf32, 3>, %i: index) {
  // expected-error @below {{a device_async_copy takes an index per dimension}}
  %t = nvgpu.device_async_copy %in[%i], %to[%i], 4 : memref<?x?xf32> to memref<64xf32, 3>
  func.return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{at position 0 does not verify}}
  %g = "nvgpu.device_async_create_group"(%n) : (index) -> !nvgpu.device.async.token
  func.return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{at position 0 does not verify}}
  "nvgpu.device_async_wait"(%n) : (index) -> ()
  func.return
}
