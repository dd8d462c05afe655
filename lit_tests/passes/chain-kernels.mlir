// RUN: pipeline-opt %s --split-input-file -p lower-groups,chain-kernels | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p lower-groups,chain-kernels -t cuda | filecheck %s --check-prefix=CUDA
// RUN: pipeline-opt %s --split-input-file -p lower-groups,chain-kernels -t c | filecheck %s --check-prefix=C

// All kernels may start early, and wait. What they inline is left alone. C runs one after the other as it is.

// C-NOT: griddepcontrol

// CHECK:      func.func @two_a_tile(
// CHECK-SAME:   attributes {kernel.inline} {
// CHECK:      func.func @two_a(
// CHECK-NEXT:   nvvm.griddepcontrol launch_dependents
// CHECK-NEXT:   nvvm.griddepcontrol wait
// CHECK:      func.func @two_b(
// CHECK-NEXT:   nvvm.griddepcontrol launch_dependents
// CHECK-NEXT:   nvvm.griddepcontrol wait

// CUDA:      __global__ void __launch_bounds__(256) two_a(
// CUDA:      {{\) \{$}}
// CUDA-NEXT: #if __CUDA_ARCH__ >= 900
// CUDA-NEXT:   asm volatile("griddepcontrol.launch_dependents;");
// CUDA-NEXT:   asm volatile("griddepcontrol.wait;" ::: "memory");
// CUDA-NEXT: #endif
// CUDA:      __global__ void __launch_bounds__(256) two_b(
// CUDA:      griddepcontrol.wait

img.pipeline @two {
  %photo = img.input "photo" : !img.func<2xf32>
  %a = img.group "a" schedule #img.schedule<block_tile, tile = [32, 8], threads = [32, 8]> {
    %a_stage = img.stage "a" (%x, %y) -> f32 {
      %v = img.read %photo[%x, %y] : !img.func<2xf32>
      %r = arith.addf %v, %v : f32
      img.yield %r : f32
    }
    img.yield %a_stage : !img.func<2xf32>
  } : !img.func<2xf32>
  %b = img.group "b" schedule #img.schedule<block_tile, tile = [32, 8], threads = [32, 8]> {
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

// CHECK:      func.func @one_a(
// CHECK-NEXT:   nvvm.griddepcontrol launch_dependents
// CHECK-NEXT:   nvvm.griddepcontrol wait
// CUDA:       __global__ void __launch_bounds__(256) one_a(
// CUDA:       griddepcontrol.launch_dependents
// CUDA:       griddepcontrol.wait

img.pipeline @one {
  %photo = img.input "photo" : !img.func<2xf32>
  %a = img.group "a" schedule #img.schedule<block_tile, tile = [32, 8], threads = [32, 8]> {
    %a_stage = img.stage "a" (%x, %y) -> f32 {
      %v = img.read %photo[%x, %y] : !img.func<2xf32>
      %r = arith.addf %v, %v : f32
      img.yield %r : f32
    }
    img.yield %a_stage : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "a" = %a : !img.func<2xf32>
}
