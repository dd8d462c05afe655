// A model that stores one stage of its group, as models do that say nothing else, gets no group that stores several.
// RUN: python %S/Inputs/installed.py %S/../../examples/custom_execution_model %t
// RUN: not env PYTHONPATH=%t:%S/../.. pipeline-opt %s -p 'tile{shape=point_per_thread}' 2>&1 | filecheck %s
// RUN: env PYTHONPATH=%t:%S/../.. pipeline-opt %s -p tile | filecheck %s --check-prefix=AUTO

// CHECK: error: group 'g': point_per_thread stores only the last stage of a group, but 'f' must be stored too; choose another model, or split the group

img.pipeline @two {
  %image = img.input "image" : !img.func<2xf32>
  // AUTO-NOT: point_per_thread
  // AUTO: img.stage "f"
  %g:2 = img.group "g" {
    %f = img.stage "f" (%x, %y) -> f32 {
      %v = img.read %image[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %h = img.stage "h" (%x, %y) -> f32 {
      %v = img.read %f[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f, %h : !img.func<2xf32>, !img.func<2xf32>
  } : !img.func<2xf32>, !img.func<2xf32>
  img.return "f" = %g#0 : !img.func<2xf32>, "h" = %g#1 : !img.func<2xf32>
}
