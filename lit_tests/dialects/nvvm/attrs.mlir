// RUN: TILEFUSE_ROUNDTRIP
// RUN: TILEFUSE_GENERIC_ROUNDTRIP

// CHECK: a = #nvvm<grid_dep_action wait>, b = #nvvm<grid_dep_action launch_dependents>
"test.op"() {a = #nvvm<grid_dep_action wait>, b = #nvvm<grid_dep_action launch_dependents>} : () -> ()

// CHECK: scopes = [#nvvm.mem_scope<gpu>]
"test.op"() {scopes = [#nvvm.mem_scope<gpu>]} : () -> ()

// CHECK: nvvm.memory.barrier {{ ?}}<gpu>
nvvm.memory.barrier <gpu>
