// RUN: TILEFUSE_ROUNDTRIP
// RUN: TILEFUSE_GENERIC_ROUNDTRIP

// CHECK: a = #nvvm<grid_dep_action wait>, b = #nvvm<grid_dep_action launch_dependents>
"test.op"() {a = #nvvm<grid_dep_action wait>, b = #nvvm<grid_dep_action launch_dependents>} : () -> ()
