// RUN: pipeline-opt %s --split-input-file -p lower-groups,chain-kernels | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p lower-groups,chain-kernels,chain-kernels | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p lower-groups,chain-kernels -t cuda | filecheck %s --check-prefix=CUDA
// RUN: pipeline-opt %s --split-input-file -p lower-groups,chain-kernels -t c | filecheck %s --check-prefix=C

// All kernels may start early. They wait before they touch memory: in each branch, so that what comes before is done
// while they wait. What they inline is left alone. C runs one after the other as it is.

// C-NOT: griddepcontrol

// CHECK:      func.func @two_a_tile3(
// CHECK-SAME:   attributes {kernel.inline} {
// CHECK:      func.func @two_a_kernel3(
// CHECK-NEXT:   nvvm.griddepcontrol launch_dependents
// CHECK-NOT:    nvvm.griddepcontrol
// CHECK:        scf.if
// CHECK-NEXT:     nvvm.griddepcontrol wait
// CHECK-NEXT:     func.call @two_a_tile3(
// CHECK-NEXT:   } else {
// CHECK-NEXT:     nvvm.griddepcontrol wait
// CHECK-NEXT:     func.call @two_a_tile3(
// CHECK-NOT:    nvvm.griddepcontrol
// CHECK:      func.func @two_b_kernel3(
// CHECK-NEXT:   nvvm.griddepcontrol launch_dependents
// CHECK:          nvvm.griddepcontrol wait

// CUDA:      void griddepcontrol_launch_dependents() {
// CUDA-NEXT:   #if __CUDA_ARCH__ >= 900
// CUDA-NEXT:   asm volatile("griddepcontrol.launch_dependents;");
// CUDA-NEXT:   #endif
// CUDA:      void griddepcontrol_wait() {
// CUDA:        asm volatile("griddepcontrol.wait;" ::: "memory");
// CUDA:      void written_meanwhile(const void* p) {
// CUDA:        asm volatile("" :: "l"(p) : "memory");
// CUDA:      __global__ void __launch_bounds__(256) two_a_kernel3(
// CUDA:      {{\) \{$}}
// CUDA-NEXT:   griddepcontrol_launch_dependents();
// CUDA:        if (test_) {
// CUDA-NEXT:     griddepcontrol_wait();
// CUDA-NEXT:     written_meanwhile(photo_);
// CUDA-NEXT:     two_a_tile3(
// CUDA-NEXT:   } else {
// CUDA-NEXT:     griddepcontrol_wait();
// CUDA:      __global__ void __launch_bounds__(256) two_b_kernel3(
// CUDA:        griddepcontrol_wait();
// CUDA-NEXT:   written_meanwhile(a_);

img.pipeline @two {
  %photo = img.input "photo" : !img.func<2xf32>
  %a = img.group "a" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> {
    %a_stage = img.stage "a" (%x, %y) -> f32 {
      %v = img.read %photo[%x, %y] : !img.func<2xf32>
      %r = arith.addf %v, %v : f32
      img.yield %r : f32
    }
    img.yield %a_stage : !img.func<2xf32>
  } : !img.func<2xf32>
  %b = img.group "b" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> {
    %b_stage = img.stage "b" (%x, %y) -> f32 {
      %v = img.read %a[%x + 1, %y] : !img.func<2xf32>
      %r = arith.mulf %v, %v : f32
      img.yield %r : f32
    }
    img.yield %b_stage : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "b" = %b : !img.func<2xf32>
}

// -----

// One kernel waits for what was launched before the call.

// CHECK:      func.func @one_a_kernel3(
// CHECK-NEXT:   nvvm.griddepcontrol launch_dependents
// CHECK:          nvvm.griddepcontrol wait
// CUDA:       __global__ void __launch_bounds__(256) one_a_kernel3(
// CUDA:       griddepcontrol_launch_dependents();
// CUDA:       griddepcontrol_wait();

img.pipeline @one {
  %photo = img.input "photo" : !img.func<2xf32>
  %a = img.group "a" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> {
    %a_stage = img.stage "a" (%x, %y) -> f32 {
      %v = img.read %photo[%x, %y] : !img.func<2xf32>
      %r = arith.addf %v, %v : f32
      img.yield %r : f32
    }
    img.yield %a_stage : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "a" = %a : !img.func<2xf32>
}

// -----

// Where not all that touches memory is in branches, all of it waits: what is loaded before them, and what comes after
// or without an else.

// CHECK:      func.func @before(
// CHECK-NEXT:   nvvm.griddepcontrol launch_dependents
// CHECK:        arith.cmpi
// CHECK-NEXT:   nvvm.griddepcontrol wait
// CHECK-NEXT:   scf.for
// CHECK-NOT:    nvvm.griddepcontrol
// CHECK:      func.func @without_else(
// CHECK:        arith.cmpi
// CHECK-NEXT:   nvvm.griddepcontrol wait
// CHECK-NEXT:   scf.if

// A kernel that touches nothing waits too: the one after it counts on all before it.

// CHECK:      func.func @nothing(
// CHECK-NEXT:   nvvm.griddepcontrol launch_dependents
// CHECK-NEXT:   nvvm.griddepcontrol wait
// CHECK-NEXT:   func.return

// What is there already stays, and what lacks is added.

// CHECK:      func.func @lets_start(
// CHECK-NEXT:   nvvm.griddepcontrol launch_dependents
// CHECK-NEXT:   nvvm.griddepcontrol wait
// CHECK-NEXT:   func.return

// Only the second-level cache sees what the kernel before still writes.

// CHECK:      func.func @asks(
// CHECK:        memref.prefetch
// CHECK-SAME:     locality<2>
// CHECK-NEXT:   nvvm.griddepcontrol wait
// CHECK-NEXT:   memref.prefetch
// CHECK-SAME:     locality<3>

func.func @before(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) attributes {kernel.threads = array<i64: 32, 1, 1>} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lanes = arith.constant 32 : index
  %some = arith.cmpi sgt, %n, %zero : index
  scf.for %x = %zero to %lanes step %one {
    %v = memref.load %in[%x] : memref<?xf32>
    memref.store %v, %out[%x] : memref<?xf32>
  } {kernel.level = "thread_x"}
  scf.if %some {
    scf.for %x = %zero to %lanes step %one {
      %v = memref.load %in[%x] : memref<?xf32>
      memref.store %v, %out[%x] : memref<?xf32>
    } {kernel.level = "thread_x"}
  } else {
    scf.for %x = %zero to %lanes step %one {
      %v = memref.load %out[%x] : memref<?xf32>
      memref.store %v, %out[%x] : memref<?xf32>
    } {kernel.level = "thread_x"}
  }
  func.return
}
func.func @without_else(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) attributes {kernel.threads = array<i64: 32, 1, 1>} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lanes = arith.constant 32 : index
  %some = arith.cmpi sgt, %n, %zero : index
  scf.if %some {
    scf.for %x = %zero to %lanes step %one {
      %v = memref.load %in[%x] : memref<?xf32>
      memref.store %v, %out[%x] : memref<?xf32>
    } {kernel.level = "thread_x"}
  }
  func.return
}
func.func @nothing() attributes {kernel.threads = array<i64: 32, 1, 1>} {
  func.return
}
func.func @lets_start() attributes {kernel.threads = array<i64: 32, 1, 1>} {
  nvvm.griddepcontrol launch_dependents
  func.return
}
func.func @asks(%in: memref<?xf32>) attributes {kernel.threads = array<i64: 32, 1, 1>} {
  %zero = arith.constant 0 : index
  memref.prefetch %in[%zero], read, locality<2>, data : memref<?xf32>
  memref.prefetch %in[%zero], read, locality<3>, data : memref<?xf32>
  func.return
}
