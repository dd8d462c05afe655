// RUN: TILEFUSE_INVALID

func.func @f() {
  // expected-error @below {{Expected `wait`, or `launch_dependents`.}}
  nvvm.griddepcontrol sleep
  func.return
}

// -----

// expected-error @below {{Expected `wait`, or `launch_dependents`.}}
"test.op"() {a = #nvvm<grid_dep_action sleep>} : () -> ()

// -----

// expected-error @below {{Expected}}
"test.op"() {a = #nvvm.mem_scope<warp>} : () -> ()

// -----

// expected-error @below {{Expected}}
nvvm.memory.barrier <warp>
