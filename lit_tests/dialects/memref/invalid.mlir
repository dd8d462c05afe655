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
  // expected-error @below {{memref.prefetch: of data, not of instructions}}
  "memref.prefetch"(%in, %i) <{localityHint = 2 : i32, isWrite = true, isDataCache = false}> : (memref<?xf32>, index) -> ()
  func.return
}

// -----

func.func @f(%h: memref<?xi32>, %v: i64, %i: index) {
  // expected-error @below {{memref.atomic_rmw: a value of i64 does not change an element of memref<?xi32>}}
  %0 = memref.atomic_rmw addi %v, %h[%i] : (i64, memref<?xi32>) -> i64
  func.return
}

// -----

func.func @f(%h: memref<?xi8>, %v: i8, %i: index) {
  // expected-error @below {{memref.atomic_rmw: integers of 32 or 64 bits, not i8}}
  %0 = memref.atomic_rmw addi %v, %h[%i] : (i8, memref<?xi8>) -> i8
  func.return
}

// -----

func.func @f(%h: memref<?x?xi32>, %v: i32, %i: index) {
  // expected-error @below {{memref.atomic_rmw: 2 indices, one per dimension}}
  %0 = memref.atomic_rmw addi %v, %h[%i] : (i32, memref<?x?xi32>) -> i32
  func.return
}

// -----

func.func @f(%h: memref<?xi32>, %v: i32, %i: index) {
  // expected-error @below {{memref.atomic_rmw: its kind is one of addi, andi, assign, maxs, maxu, mins, minu, ori, xori}}
  %0 = memref.atomic_rmw addf %v, %h[%i] : (i32, memref<?xi32>) -> i32
  func.return
}
