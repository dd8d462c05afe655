// A loop until a condition does not hold: a thread that waits for what another block leaves.

// RUN: pipeline-opt %s -t cuda | filecheck %s

// CHECK:      while (true) {
// CHECK-NEXT:   const unsigned long long word_ = atomicOr(&words_[0], 0);
// CHECK-NEXT:   found_[0] = word_;
// CHECK-NEXT:   if (!(found_[0] == 0)) break;
// CHECK-NEXT: }
func.func @wait(%words: memref<?xi64>) attributes {kernel.threads = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0 : i64
  %found = memref.alloca() : memref<1xi64, 5 : i64>
  scf.while () : () -> () {
    %word = memref.atomic_rmw ori %none, %words[%c0] : (i64, memref<?xi64>) -> i64
    memref.store %word, %found[%c0] : memref<1xi64, 5 : i64>
    %now = memref.load %found[%c0] : memref<1xi64, 5 : i64>
    %waits = arith.cmpi eq, %now, %none : i64
    scf.condition(%waits)
  } do {
    scf.yield
  }
  func.return
}
