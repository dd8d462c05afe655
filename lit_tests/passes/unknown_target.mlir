// A target that is in no table is an error, also where there is nothing to group, tile or check.

// RUN: not pipeline-opt %s -p 'group-stages{target=h20}' 2>&1 | filecheck %s --check-prefix=GROUP
// RUN: not pipeline-opt %s -p 'group-stages{target=h20 algorithm=none}' 2>&1 | filecheck %s --check-prefix=GROUP
// RUN: not pipeline-opt %s -p 'tile{target=h20}' 2>&1 | filecheck %s --check-prefix=TILE
// RUN: not pipeline-opt %s -p 'validate-occupancy{target=h20}' 2>&1 | filecheck %s --check-prefix=VALIDATE
// RUN: pipeline-opt %s -p 'group-stages{target=cpu},tile{target=sm_90},validate-occupancy{target=a100}' | filecheck %s

// GROUP:    error: group-stages: unknown GPU 'h20'; did you mean h200?; known are v100, {{.*}}sm_121; or cpu
// TILE:     error: tile: unknown GPU 'h20'; did you mean h200?; known are v100, {{.*}}sm_121; or cpu
// VALIDATE: error: validate-occupancy: unknown GPU 'h20'; did you mean h200?; known are v100, {{.*}}sm_121; or cpu

// CHECK: builtin.module {
// CHECK-NEXT: }
