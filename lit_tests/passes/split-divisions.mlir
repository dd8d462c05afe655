// RUN: pipeline-opt %s --split-input-file -p split-divisions | filecheck %s

// Of x0 + 4 * lane + v - 5 what is known to be even leaves the division: x0 is even in every call.

// CHECK-LABEL: @tile
// CHECK:      [[LEFT:%.*]] = arith.floordivsi %x0, %{{.*}} : index
// CHECK:      [[ONE:%.*]] = arith.constant 1 : index
// CHECK-NEXT: [[ODD:%.*]] = arith.addi %v, [[ONE]] : index
// CHECK:      [[REST:%.*]] = arith.floordivsi [[ODD]], %{{.*}} : index
// CHECK-NEXT: [[TWO:%.*]] = arith.constant 2 : index
// CHECK-NEXT: [[LANES:%.*]] = arith.muli %lane, [[TWO]] : index
// CHECK-NEXT: [[SUM:%.*]] = arith.addi [[LEFT]], [[LANES]] : index
// CHECK-NEXT: [[ALL:%.*]] = arith.addi [[SUM]], [[REST]] : index
// CHECK-NEXT: [[LESS:%.*]] = arith.constant -3 : index
// CHECK-NEXT: %half = arith.addi [[ALL]], [[LESS]] : index
func.func @tile(%out: memref<?xi8>, %x0: index, %lane: index, %v: index) {
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %byte = arith.constant 7 : i8
  %l = arith.muli %lane, %c4 : index
  %a = arith.addi %x0, %l : index
  %b = arith.addi %a, %v : index
  %c = arith.subi %b, %c5 : index
  %half = arith.floordivsi %c, %c2 : index
  memref.store %byte, %out[%half] : memref<?xi8>
  func.return
}

func.func @kernel(%out: memref<?xi8>, %bx: index, %lane: index, %v: index) {
  %c120 = arith.constant 120 : index
  %x0 = arith.muli %bx, %c120 : index
  func.call @tile(%out, %x0, %lane, %v) : (memref<?xi8>, index, index, index) -> ()
  func.return
}

// -----

// One call of two gives an odd origin: the origin stays inside, the lanes leave.

// CHECK-LABEL: @tile
// CHECK:      [[INSIDE:%.*]] = arith.floordivsi %x0, %{{.*}} : index
// CHECK-NEXT: %half = arith.addi %lane, [[INSIDE]] : index
func.func @tile(%out: memref<?xi8>, %x0: index, %lane: index) {
  %c2 = arith.constant 2 : index
  %byte = arith.constant 7 : i8
  %l = arith.muli %lane, %c2 : index
  %a = arith.addi %x0, %l : index
  %half = arith.floordivsi %a, %c2 : index
  memref.store %byte, %out[%half] : memref<?xi8>
  func.return
}

func.func @kernel(%out: memref<?xi8>, %bx: index, %lane: index) {
  %c1 = arith.constant 1 : index
  %c120 = arith.constant 120 : index
  %x0 = arith.muli %bx, %c120 : index
  %x1 = arith.addi %x0, %c1 : index
  func.call @tile(%out, %x0, %lane) : (memref<?xi8>, index, index) -> ()
  func.call @tile(%out, %x1, %lane) : (memref<?xi8>, index, index) -> ()
  func.return
}

// -----

// Negative terms, a loop over multiples, and a divisor that is no power of two: of the 7 only a 1 stays inside.

// CHECK-LABEL: @thirds
// CHECK:      scf.for %k
// CHECK:      [[K:%.*]] = arith.floordivsi %k, %{{.*}} : index
// CHECK-NEXT: [[ONE:%.*]] = arith.constant 1 : index
// CHECK-NEXT: [[REST:%.*]] = arith.addi %n, [[ONE]] : index
// CHECK:      [[INSIDE:%.*]] = arith.floordivsi [[REST]], %{{.*}} : index
// CHECK-NEXT: [[MINUS:%.*]] = arith.constant -2 : index
// CHECK-NEXT: [[TWICE:%.*]] = arith.muli [[K]], [[MINUS]] : index
// CHECK-NEXT: [[BOTH:%.*]] = arith.addi [[TWICE]], [[INSIDE]] : index
// CHECK-NEXT: [[TWO:%.*]] = arith.constant 2 : index
// CHECK-NEXT: %t = arith.addi [[BOTH]], [[TWO]] : index
func.func @thirds(%out: memref<?xi8>, %n: index) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %byte = arith.constant 7 : i8
  scf.for %k = %c3 to %n step %c6 {
    %m = arith.muli %k, %c2 : index
    %a = arith.subi %n, %m : index
    %b = arith.addi %a, %c7 : index
    %t = arith.floordivsi %b, %c3 : index
    memref.store %byte, %out[%t] : memref<?xi8>
  }
  func.return
}

// -----

// A remainder stays as it is.

// CHECK-LABEL: @remainder
// CHECK:      %q = arith.floordivsi %a, %c2 : index
// CHECK-NEXT: %m = arith.muli %q, %c2 : index
// CHECK-NEXT: %r = arith.subi %a, %m : index
func.func @remainder(%out: memref<?xi8>, %lane: index, %v: index) {
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %byte = arith.constant 7 : i8
  %l = arith.muli %lane, %c4 : index
  %a = arith.addi %l, %v : index
  %q = arith.floordivsi %a, %c2 : index
  %m = arith.muli %q, %c2 : index
  %r = arith.subi %a, %m : index
  memref.store %byte, %out[%r] : memref<?xi8>
  func.return
}
