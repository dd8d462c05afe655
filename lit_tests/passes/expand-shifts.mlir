// RUN: pipeline-opt %s --split-input-file -p expand-shifts | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p expand-shifts,expand-shifts | filecheck %s

// By the width or more nothing is left but the sign.

// CHECK-LABEL: @any_count
func.func @any_count(%a: i32, %b: i32) -> (i32, i32) {
  // CHECK-NEXT: %c31 = arith.constant 31 : i32
  // CHECK-NEXT: [[HELD:%.*]] = arith.minui %b, %c31 : i32
  // CHECK-NEXT: [[SHIFTED:%.*]] = arith.shli %a, [[HELD]] : i32
  // CHECK-NEXT: %c32 = arith.constant 32 : i32
  // CHECK-NEXT: [[FITS:%.*]] = arith.cmpi ult, %b, %c32 : i32
  // CHECK-NEXT: %c0 = arith.constant 0 : i32
  // CHECK-NEXT: %l = arith.select [[FITS]], [[SHIFTED]], %c0 : i32
  %l = arith.shli %a, %b : i32
  // CHECK-NEXT: [[HELD:%.*]] = arith.minui %b, %c31 : i32
  // CHECK-NEXT: %r = arith.shrsi %a, [[HELD]] : i32
  %r = arith.shrsi %a, %b : i32
  // CHECK-NEXT: func.return %l, %r
  func.return %l, %r : i32, i32
}

// -----

// What cannot reach the width stays.

// CHECK-LABEL: @small_counts
func.func @small_counts(%a: i8, %b: i8) -> (i8, i8) {
  // CHECK-NEXT: %c7 = arith.constant 7 : i8
  // CHECK-NEXT: %m = arith.andi %b, %c7 : i8
  // CHECK-NEXT: %l = arith.shli %a, %m : i8
  // CHECK-NEXT: %r = arith.shrui %a, %c7 : i8
  // CHECK-NEXT: func.return
  %c7 = arith.constant 7 : i8
  %m = arith.andi %b, %c7 : i8
  %l = arith.shli %a, %m : i8
  %r = arith.shrui %a, %c7 : i8
  func.return %l, %r : i8, i8
}

// -----

// -1 is the largest count there is.

// CHECK-LABEL: @large_constants
func.func @large_constants(%a: i8) -> (i8, i8) {
  // CHECK:      %c0 = arith.constant 0 : i8
  // CHECK-NEXT: %c7 = arith.constant 7 : i8
  // CHECK-NEXT: %r = arith.shrsi %a, %c7 : i8
  // CHECK-NEXT: func.return %c0, %r
  %cm1 = arith.constant -1 : i8
  %l = arith.shli %a, %cm1 : i8
  %r = arith.shrsi %a, %cm1 : i8
  func.return %l, %r : i8, i8
}

// -----

// CHECK-LABEL: @bools
func.func @bools(%a: i1, %b: i1) -> (i1, i1) {
  // CHECK:      [[STAYS:%.*]] = arith.xori %b, {{.*}} : i1
  // CHECK-NEXT: %l = arith.andi %a, [[STAYS]] : i1
  // CHECK-NEXT: func.return %l, %a
  %l = arith.shli %a, %b : i1
  %r = arith.shrsi %a, %b : i1
  func.return %l, %r : i1, i1
}

// -----

// Whether an index has 32 bits is not known here.

// CHECK-LABEL: @index
func.func @index(%a: index, %b: index) -> index {
  // CHECK-NEXT: [[A:%.*]] = arith.index_cast %a : index to i64
  // CHECK-NEXT: [[B:%.*]] = arith.index_cast %b : index to i64
  // CHECK-NEXT: %c63 = arith.constant 63 : i64
  // CHECK-NEXT: [[HELD:%.*]] = arith.minui [[B]], %c63 : i64
  // CHECK-NEXT: [[SHIFTED:%.*]] = arith.shrsi [[A]], [[HELD]] : i64
  // CHECK-NEXT: %r = arith.index_cast [[SHIFTED]] : i64 to index
  %r = arith.shrsi %a, %b : index
  func.return %r : index
}
