// RUN: pipeline-opt %s -p lower-groups | filecheck %s
// RUN: pipeline-opt %s -p lower-groups,expand-division --print-op-generic | mlir-opt --allow-unregistered-dialect -o /dev/null
// RUN: pipeline-opt %s -p lower-groups,expand-division -t c | filecheck %s --check-prefix=C

// Sums of floats: each thread has a copy of the table, and no atomic touches a float. The last block joins all tables.

// CHECK:       func.func @sums_all_kernel4({{.*}}, %tables0: memref<?x4x256xf32>, %tickets: memref<?xi32>)
// CHECK:         %table{{.*}} = memref.view %tables[{{.*}}] : memref<131072xi8, 3 : i64> to memref<32768xf32, 3 : i64>
// CHECK:         "gpu.barrier"() : () -> ()
// CHECK:         %[[OLD:.*]] = memref.load %table[
// CHECK-NEXT:    %[[NEW:.*]] = arith.addf %[[OLD]], {{.*}} : f32
// CHECK-NEXT:    memref.store %[[NEW]], %table[
// CHECK:         "gpu.barrier"() : () -> ()
// CHECK:         memref.store {{.*}}, %tables0[
// CHECK:         nvvm.memory.barrier{{.*}}gpu>
// CHECK:         "gpu.barrier"() : () -> ()
// CHECK:         memref.atomic_rmw addi {{.*}}, %tickets[
// CHECK:         "gpu.barrier"() : () -> ()
// CHECK:         scf.if
// CHECK:           nvvm.memory.barrier{{.*}}gpu>
// CHECK:           memref.load %tables0[
// CHECK:           memref.store {{.*}}, %zero[
// CHECK-NOT:     atomic_rmw

// C:           static _Thread_local unsigned char tables_bytes_[131072]
// C:           __atomic_thread_fence(__ATOMIC_SEQ_CST);
// C:           atomic_addi_32(&tickets_[
img.pipeline @sums {
  %in = img.input "in" : !img.func<2xui8>
  %c0 = arith.constant 0 : index
  %w = img.extent 0 of %in : !img.func<2xui8>
  %h = img.extent 1 of %in : !img.func<2xui8>
  %s0 = img.group "zero" schedule #schedule.block_tile<tile = [256], threads = [256]> {
    %s = img.stage "zero" (%x) -> f32 {
      %z = arith.constant 0.0 : f32
      img.yield %z : f32
    }
    img.yield %s : !img.func<1xf32>
  } : !img.func<1xf32>
  %s1 = img.group "all" schedule #schedule.scatter<threads = [128], split = 4, ordered = 1> {
    %u = img.update "all" () over (%x in [%c0, %w], %y in [%c0, %h]) of (%old = %s0 : !img.func<1xf32>) combine [add] {
      %v = img.read %in[%x, %y] : !img.func<2xui8>
      %n = arith.extui %v : i8 to i32
      %i = arith.index_cast %n : i32 to index
      %f = arith.uitofp %v : i8 to f32
      img.write %f at [%i] : f32
    }
    img.yield %u : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "sums" = %s1 : !img.func<1xf32>
}
