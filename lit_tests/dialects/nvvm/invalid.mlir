// RUN: TILEFUSE_INVALID

func.func @f() {
  // expected-error @below {{Expected `wait`, or `launch_dependents`.}}
  nvvm.griddepcontrol sleep
  func.return
}

// -----

// expected-error @below {{Expected `wait`, or `launch_dependents`.}}
"test.op"() {a = #nvvm<grid_dep_action sleep>} : () -> ()
