// RUN: TILEFUSE_INVALID

func.func @f(%in: memref<?x?xf32>, %i: index) {
  // expected-error @below {{memref.prefetch: 2 indices, one per dimension}}
  memref.prefetch %in[%i], read, locality<2>, data : memref<?x?xf32>
  func.return
}

// -----

func.func @f(%in: memref<?x?xf32>, %i: index) {
  // expected-error @below {{memref.prefetch: a locality is 0 to 3}}
  memref.prefetch %in[%i, %i], read, locality<4>, data : memref<?x?xf32>
  func.return
}

// -----

func.func @f(%in: memref<?xf32>, %i: index) {
  // expected-error @below {{memref.prefetch: of data that is read only}}
  "memref.prefetch"(%in, %i) <{localityHint = 2 : i32, isWrite = true, isDataCache = true}> : (memref<?xf32>, index) -> ()
  func.return
}
