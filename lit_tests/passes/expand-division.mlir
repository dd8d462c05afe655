// RUN: pipeline-opt %s --split-input-file -p expand-division | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p expand-division,expand-division | filecheck %s

// A power of two is a shift, on an index too; other positive constants cost five ops.

// CHECK-LABEL: @index
func.func @index(%a: index) -> (index, index, index) {
  // CHECK-NEXT: %c8 = arith.constant 8 : index
  // CHECK-NEXT: %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c3 = arith.constant 3 : index
  // CHECK-NEXT: [[SHIFTED:%.*]] = arith.shrsi %a, %c3 : index
  %q = arith.floordivsi %a, %c8 : index
  // CHECK-NEXT: [[REST:%.*]] = arith.remsi %a, %c3 : index
  // CHECK-NEXT: [[ZERO:%.*]] = arith.constant 0 : index
  // CHECK-NEXT: [[BELOW:%.*]] = arith.cmpi slt, [[REST]], [[ZERO]] : index
  // CHECK-NEXT: [[UP:%.*]] = arith.divsi %a, %c3 : index
  // CHECK-NEXT: [[MINUS:%.*]] = arith.constant -1 : index
  // CHECK-NEXT: [[DOWN:%.*]] = arith.addi [[UP]], [[MINUS]] : index
  // CHECK-NEXT: [[FLOOR:%.*]] = arith.select [[BELOW]], [[DOWN]], [[UP]] : index
  %r = arith.floordivsi %a, %c3 : index
  // CHECK:      arith.cmpi sgt
  // CHECK:      [[CEIL:%.*]] = arith.select
  %s = arith.ceildivsi %a, %c3 : index
  // CHECK-NEXT: func.return [[SHIFTED]], [[FLOOR]], [[CEIL]]
  func.return %q, %r, %s : index, index, index
}

// -----

// CHECK-LABEL: @signed_constants
func.func @signed_constants(%a: i32) -> (i32, i32, i32, i32) {
  // CHECK-NEXT: %c8 = arith.constant 8 : i32
  // CHECK-NEXT: %c6 = arith.constant 6 : i32
  %c8 = arith.constant 8 : i32
  %c6 = arith.constant 6 : i32
  // CHECK-NEXT: %c3 = arith.constant 3 : i32
  // CHECK-NEXT: %q = arith.shrsi %a, %c3 : i32
  %q = img.div signed %a, %c8 : i32
  // CHECK-NEXT: %c7 = arith.constant 7 : i32
  // CHECK-NEXT: %m = arith.andi %a, %c7 : i32
  %m = img.mod signed %a, %c8 : i32
  // CHECK-NEXT: [[REST:%.*]] = arith.remsi %a, %c6 : i32
  // CHECK-NEXT: %c0 = arith.constant 0 : i32
  // CHECK-NEXT: [[BELOW:%.*]] = arith.cmpi slt, [[REST]], %c0 : i32
  // CHECK-NEXT: [[UP:%.*]] = arith.addi [[REST]], %c6 : i32
  // CHECK-NEXT: %n = arith.select [[BELOW]], [[UP]], [[REST]] : i32
  %n = img.mod signed %a, %c6 : i32
  // Division by zero gives zero.
  // CHECK-NEXT: %none = arith.constant 0 : i32
  // CHECK-NEXT: func.return %q, %m, %n, %c0 : i32, i32, i32, i32
  %none = arith.constant 0 : i32
  %zero = img.div signed %a, %none : i32
  func.return %q, %m, %n, %zero : i32, i32, i32, i32
}

// -----

// CHECK-LABEL: @unsigned
func.func @unsigned(%a: i8, %b: i8) -> (i8, i8) {
  // CHECK-NEXT: %c0 = arith.constant 0 : i8
  // CHECK-NEXT: [[NONE:%.*]] = arith.cmpi eq, %b, %c0 : i8
  // CHECK-NEXT: %c1 = arith.constant 1 : i8
  // CHECK-NEXT: [[SAFE:%.*]] = arith.select [[NONE]], %c1, %b : i8
  // CHECK-NEXT: [[Q:%.*]] = arith.divui %a, [[SAFE]] : i8
  // CHECK-NEXT: %q = arith.select [[NONE]], %c0, [[Q]] : i8
  %q = img.div %a, %b : i8
  // -128 : i8 is 128, a power of two.
  // CHECK-NEXT: arith.constant -128 : i8
  // CHECK-NEXT: %c7 = arith.constant 7 : i8
  // CHECK-NEXT: %r = arith.shrui %a, %c7 : i8
  %c128 = arith.constant -128 : i8
  %r = img.div %a, %c128 : i8
  func.return %q, %r : i8, i8
}

// -----

// The divisor of divsi is neither 0 nor -1, whatever %b is.

// CHECK-LABEL: @any_divisor
func.func @any_divisor(%a: i32, %b: i32) -> i32 {
  // CHECK:      [[NONE:%.*]] = arith.cmpi eq, %b, %c0 : i32
  // CHECK:      [[MINUS:%.*]] = arith.cmpi eq, %b, %cm1 : i32
  // CHECK-NEXT: [[BAD:%.*]] = arith.ori [[NONE]], [[MINUS]] : i1
  // CHECK:      [[SAFE:%.*]] = arith.select [[BAD]], %c1, %b : i32
  // CHECK-NEXT: arith.divsi %a, [[SAFE]] : i32
  // CHECK-NEXT: arith.remsi %a, [[SAFE]] : i32
  // CHECK-NOT:  img.div
  %q = img.div signed %a, %b : i32
  func.return %q : i32
}

// -----

// Constants are used again where they can be seen: not from one branch in the other, nor from outside of a stage.

// CHECK-LABEL: @scopes
func.func @scopes(%a: i32, %c: i1) -> i32 {
  // CHECK:      scf.if
  // CHECK:        arith.constant 2 : i32
  // CHECK-NEXT:   arith.shrsi
  // CHECK:      } else {
  // CHECK:        arith.constant 2 : i32
  // CHECK-NEXT:   arith.shrsi
  %c4 = arith.constant 4 : i32
  %r = scf.if %c -> (i32) {
    %q = img.div signed %a, %c4 : i32
    scf.yield %q : i32
  } else {
    %q = arith.floordivsi %a, %c4 : i32
    scf.yield %q : i32
  }
  func.return %r : i32
}

// What stands between stages the host computes.

// CHECK-LABEL: img.pipeline @stage
img.pipeline @stage {
  %k = img.param "k" of si32 : i32
  %c2 = arith.constant 2 : i32
  %c4 = arith.constant 4 : i32
  // CHECK: img.div signed %k, %c4 : i32
  %h = img.div signed %k, %c4 : i32
  // CHECK:      img.stage
  // CHECK-NEXT:   arith.constant 4 : i32
  // CHECK-NEXT:   [[TWO:%.*]] = arith.constant 2 : i32
  // CHECK-NEXT:   arith.shrsi %h, [[TWO]] : i32
  %f = img.stage "f" (%x) -> si32 {
    %four = arith.constant 4 : i32
    %v = img.div signed %h, %four : i32
    img.yield %v : i32
  }
  img.return "f" = %f : !img.func<1xsi32>
}

// -----

// What is no rounding division stays, and so do vectors.

// CHECK-LABEL: @others
// CHECK-NEXT: arith.divsi %a, %b : i32
// CHECK-NEXT: arith.ceildivui
// CHECK-NEXT: arith.floordivsi %v, %v : vector<4xi32>
func.func @others(%a: i32, %b: i32, %v: vector<4xi32>) -> (i32, i32, vector<4xi32>) {
  %q = arith.divsi %a, %b : i32
  %r = arith.ceildivui %a, %b : i32
  %w = arith.floordivsi %v, %v : vector<4xi32>
  func.return %q, %r, %w : i32, i32, vector<4xi32>
}
